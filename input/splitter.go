package input

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

const (
	// DefaultMaxRecord is the default length in bytes past which a line is truncated.
	DefaultMaxRecord = 1 << 20
	// MinMaxRecord is the smallest such length that may be configured.
	MinMaxRecord = 1 << 10

	// cutMark ends a truncated line; the number between its halves is how many bytes are missing.
	cutMark    = " …[logstow: cut "
	cutMarkEnd = " bytes]"
	// maxCutMark is the maximum length of a mark: its halves and any number.
	maxCutMark = len(cutMark) + len("9223372036854775807") + len(cutMarkEnd)

	// readSize is how many bytes are requested per read, at least half of it; but see LargeRead.
	readSize = 256 << 10
)

// splitter splits a stream of bytes into lines of at most max bytes. A longer line is truncated and
// ends with a mark that gives the number of missing bytes. It holds max + readSize bytes at most, and a large buffer.
type splitter struct {
	max int
	// buf[start:end] was read and not yet returned; no newline is in buf[start:scan].
	buf              []byte
	start, scan, end int
	// lost counts the discarded bytes of the line at start.
	lost int64
	// large has buffers for streams that have much at once. Until giveBack, borrowed is one of them, and own the
	// splitter's own buffer.
	large         *LargeBuffers
	borrowed, own []byte
	// much is set if the stream has filled a buffer at once, most is the most that a read got since restore, and last
	// what the last one got; 0 is none.
	much       bool
	most, last int
}

// space returns where the next bytes may be read to, at least one byte.
func (s *splitter) space() []byte {
	if held := s.end - s.start; s.start > 0 {
		copy(s.buf, s.buf[s.start:s.end])
		s.scan -= s.start
		s.start, s.end = 0, held
	}
	if s.end > s.max { // and no newline among them: a line to be cut
		s.lost += int64(s.end - s.max)
		s.end, s.scan = s.max, s.max
	}
	few := s.last > 0 && s.last < readSize/2
	switch {
	case s.borrowed == nil && s.much && !few && s.end <= readSize:
		s.borrow()
	case s.borrowed != nil && few && s.end <= len(s.own): // a pipe may stay open, and be idle
		copy(s.own, s.buf[:s.end])
		s.giveBack()
	}
	if len(s.buf)-s.end < readSize/2 {
		grown := make([]byte, min(max(readSize, 2*len(s.buf)), s.max+readSize))
		copy(grown, s.buf[:s.end])
		s.buf = grown
	}
	return s.buf[s.end:]
}

// borrow makes a large buffer the current one, if there is one.
func (s *splitter) borrow() {
	if b := s.large.take(); b != nil {
		copy(b, s.buf[:s.end])
		s.borrowed, s.own, s.buf = b, s.buf, b
	}
}

// giveBack makes the splitter's own buffer the current one.
func (s *splitter) giveBack() {
	if s.borrowed != nil {
		s.large.give(s.borrowed)
		s.borrowed, s.own, s.buf = nil, nil, s.own
	}
}

// filled reports that n bytes were read into space.
func (s *splitter) filled(n int) {
	s.end += n
	if n > 0 {
		s.most, s.last = max(s.most, n), n
	}
	s.much = s.much || s.end == len(s.buf)
}

// line is a line without its newline, valid until the next call of space. It is small enough to be
// kept in registers.
type line struct {
	text []byte
	// whole is its length before it was truncated; 0 if it was not.
	whole int64
}

// next returns the next complete line, and how many bytes of the stream it covers, its newline
// included.
func (s *splitter) next() (l line, size int64, ok bool) {
	i := bytes.IndexByte(s.buf[s.scan:s.end], '\n')
	if i < 0 {
		s.scan = s.end
		return line{}, 0, false
	}
	end := s.scan + i
	if s.lost == 0 && end-s.start <= s.max { // as almost all are
		text := s.buf[s.start:end]
		s.start, s.scan = end+1, end+1
		return line{text: text}, int64(len(text)) + 1, true
	}
	l, size = s.consume(end)
	s.start++
	s.scan = s.start
	return l, size + 1, true
}

// rest returns the bytes after the last newline, if any.
func (s *splitter) rest() (l line, size int64, ok bool) {
	if s.held() == 0 {
		return line{}, 0, false
	}
	l, size = s.consume(s.end)
	return l, size, true
}

// detach takes the held bytes out of the splitter, for restore to put back.
func (s *splitter) detach() partialLine {
	var p partialLine
	if s.held() > 0 {
		p = partialLine{bytes.Clone(s.buf[s.start:s.end]), s.lost}
	}
	s.much = s.much && s.most >= readSize/2
	s.start, s.scan, s.end, s.lost = 0, 0, 0, 0
	return p
}

// restore continues with the bytes that another splitter, or this one, held.
func (s *splitter) restore(p partialLine) {
	s.start, s.scan, s.end, s.lost = 0, 0, 0, p.lost
	for rest := p.text; len(rest) > 0; {
		n := copy(s.space(), rest)
		s.filled(n)
		rest = rest[n:]
	}
	s.scan = s.end
	s.most, s.last = 0, 0
}

// partialLine is the beginning of a line whose end has not been read yet.
type partialLine struct {
	text []byte
	lost int64
}

func (p partialLine) size() int64 { return int64(len(p.text)) + p.lost }

// held is the number of bytes that are not yet part of a returned line.
func (s *splitter) held() int64 { return int64(s.end-s.start) + s.lost }

// consume removes the line that ends before buf[end].
func (s *splitter) consume(end int) (l line, size int64) {
	l, size = line{text: s.buf[s.start:end]}, int64(end-s.start)+s.lost
	s.start, s.scan, s.lost = end, end, 0
	if size > int64(s.max) {
		l.text, l.whole = cut(l.text, s.max, size), size
	}
	return l, size
}

// cut truncates the beginning of a line of size bytes to at most limit bytes, mark included, at a
// character boundary. It writes the mark into text.
func cut(text []byte, limit int, size int64) []byte {
	keep := limit - maxCutMark
	for back := 0; back < utf8.UTFMax-1 && !utf8.RuneStart(text[keep]); back++ {
		keep--
	}
	out := append(text[:keep], cutMark...)
	out = strconv.AppendInt(out, size-int64(keep), 10)
	return append(out, cutMarkEnd...)
}
