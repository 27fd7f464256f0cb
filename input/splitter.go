package input

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

const (
	// DefaultMaxRecord is the default length in bytes past which a line is truncated.
	DefaultMaxRecord = 1 << 20
	// MinMaxRecord is the minimum of that length.
	MinMaxRecord = 1 << 10

	// cutMark, the number of missing bytes and cutMarkEnd end a truncated line.
	cutMark    = " …[logstow: cut "
	cutMarkEnd = " bytes]"
	// maxCutMark is the maximum length of the mark in bytes.
	maxCutMark = len(cutMark) + len("9223372036854775807") + len(cutMarkEnd)

	// minHole is the minimum number of NUL bytes at the start of a line that are a hole. Fewer are bytes of the line.
	minHole = 16

	// readSize is the usual size in bytes of a read; a read has space for at least half of it. See also LargeRead.
	readSize = 256 << 10
)

// splitter splits a stream of bytes into lines of at most max bytes. A longer line is truncated and
// ends with a mark that gives the number of missing bytes. A hole of NUL bytes at the start of a line is left out. It holds max +
// readSize bytes at most, and a large buffer.
type splitter struct {
	max int
	// buf[start:end] was read and not yet returned; no newline is in buf[start:scan].
	buf              []byte
	start, scan, end int
	// lost counts the discarded bytes of the line at start.
	lost int64
	// nuls counts the NUL bytes at the start of the line at start, which are skipped: a hole, where a program wrote on at
	// its offset after the file was truncated. skipped counts those of returned lines.
	nuls, skipped int64
	// buffers has the buffers for large reads. Until giveBack, borrowed is one of them, and own the splitter's own
	// buffer.
	buffers       *ReadBuffers
	borrowed, own []byte
	// bulk is set after the stream has filled a buffer. maxRead and lastRead are the sizes of the largest and of the
	// last read since restore; 0 if there was none.
	bulk              bool
	maxRead, lastRead int
}

// space returns the part of the buffer to read the next bytes into: at least one byte.
func (s *splitter) space() []byte {
	if held := s.end - s.start; s.start > 0 {
		copy(s.buf, s.buf[s.start:s.end])
		s.scan -= s.start
		s.start, s.end = 0, held
	}
	if s.end > s.max { // they have no newline: the line must be truncated
		s.lost += int64(s.end - s.max)
		s.end, s.scan = s.max, s.max
	}
	small := s.lastRead > 0 && s.lastRead < readSize/2
	switch {
	case s.borrowed == nil && s.bulk && !small && s.end <= readSize:
		s.borrow()
	case s.borrowed != nil && small && s.end <= len(s.own): // a pipe may stay open, and be idle
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

// borrow makes a large buffer the current one, if one is free.
func (s *splitter) borrow() {
	if b := s.buffers.takeLarge(); b != nil {
		copy(b, s.buf[:s.end])
		s.borrowed, s.own, s.buf = b, s.buf, b
	}
}

// giveBack makes the splitter's own buffer the current one.
func (s *splitter) giveBack() {
	if s.borrowed != nil {
		s.buffers.giveLarge(s.borrowed)
		s.borrowed, s.own, s.buf = nil, nil, s.own
	}
}

// unread returns the bytes of which no line was returned, without discarded ones.
func (s *splitter) unread() []byte { return s.buf[s.start:s.end] }

// filled reports that n bytes were read into space.
func (s *splitter) filled(n int) {
	s.end += n
	if n > 0 {
		s.maxRead, s.lastRead = max(s.maxRead, n), n
	}
	s.bulk = s.bulk || s.end == len(s.buf)
}

// line is a line without its newline, valid until the next call of space. It is small enough to be
// kept in registers.
type line struct {
	text []byte
	// whole is the length before the line was truncated; 0 if it was not truncated.
	whole int64
}

// next returns the next complete line, and how many bytes of the stream it covers, its newline
// included.
func (s *splitter) next() (l line, size int64, ok bool) {
	if s.scan == s.start && s.start < s.end && s.buf[s.start] == 0 && !s.skipNULs() {
		return line{}, 0, false
	}
	i := bytes.IndexByte(s.buf[s.scan:s.end], '\n')
	if i < 0 {
		s.scan = s.end
		return line{}, 0, false
	}
	end := s.scan + i
	if s.lost|s.nuls == 0 && end-s.start <= s.max { // the common case
		text := s.buf[s.start:end]
		s.start, s.scan = end+1, end+1
		return line{text: text}, int64(len(text)) + 1, true
	}
	l, size = s.consume(end)
	s.start++
	s.scan = s.start
	return l, size + 1, true
}

// skipNULs skips the NUL bytes at the start of a line, as far as they were read, if they are a hole. It reports whether that is
// known.
func (s *splitter) skipNULs() (known bool) {
	read := s.end - s.start
	n := read - len(bytes.TrimLeft(s.buf[s.start:s.end], "\x00"))
	if s.nuls == 0 && n < minHole {
		return n < read
	}
	s.nuls += int64(n)
	s.start += n
	s.scan = s.start
	return true
}

// rest returns the bytes after the last newline, if any. ok is false if all of them are skipped NUL bytes, which are no line.
func (s *splitter) rest() (l line, size int64, ok bool) {
	ok = s.end > s.start
	l, size = s.consume(s.end)
	return l, size, ok
}

// detach takes the held bytes out of the splitter, for restore to put back.
func (s *splitter) detach() partialLine {
	var p partialLine
	if s.held() > 0 {
		p = partialLine{bytes.Clone(s.buf[s.start:s.end]), s.lost, s.nuls}
	}
	s.bulk = s.bulk && s.maxRead >= readSize/2
	s.start, s.scan, s.end, s.lost, s.nuls = 0, 0, 0, 0, 0
	return p
}

// restore continues with the bytes that detach of this or another splitter returned.
func (s *splitter) restore(p partialLine) {
	s.start, s.scan, s.end, s.lost, s.nuls = 0, 0, 0, p.lost, p.nuls
	if len(p.text) > len(s.buf) && s.borrowed == nil {
		s.buf = make([]byte, min(max(readSize, 2*len(p.text)), s.max+readSize))
	}
	for rest := p.text; len(rest) > 0; {
		n := copy(s.space(), rest)
		s.filled(n)
		rest = rest[n:]
	}
	if s.end > 0 && s.buf[0] != 0 { // NUL bytes may have to be skipped
		s.scan = s.end
	}
	s.maxRead, s.lastRead = 0, 0
}

// partialLine is the beginning of a line whose end has not been read yet.
type partialLine struct {
	text       []byte
	lost, nuls int64
}

func (p partialLine) size() int64 { return int64(len(p.text)) + p.lost + p.nuls }

// held is the number of bytes that are not yet part of a returned line.
func (s *splitter) held() int64 { return int64(s.end-s.start) + s.lost + s.nuls }

// consume removes the line that ends before buf[end].
func (s *splitter) consume(end int) (l line, size int64) {
	l, size = line{text: s.buf[s.start:end]}, int64(end-s.start)+s.lost
	if size > int64(s.max) {
		l.text, l.whole = cut(l.text, s.max, size), size
	}
	size += s.nuls
	s.skipped += s.nuls
	s.start, s.scan, s.lost, s.nuls = end, end, 0, 0
	return l, size
}

// cut truncates text, the beginning of a line of size bytes, to at most limit bytes including the mark,
// at a character boundary. It writes the mark into text.
func cut(text []byte, limit int, size int64) []byte {
	keep := limit - maxCutMark
	for back := 0; back < utf8.UTFMax-1 && !utf8.RuneStart(text[keep]); back++ {
		keep--
	}
	out := append(text[:keep], cutMark...)
	out = strconv.AppendInt(out, size-int64(keep), 10)
	return append(out, cutMarkEnd...)
}
