package socket

import (
	"bytes"
	"strings"
)

const (
	// maxCount is the maximum octet count, and maxCountDigits its number of digits. A larger number is
	// part of a message.
	maxCount       = 64 << 20
	maxCountDigits = 8
)

// Framing determines how a stream is split into messages.
type Framing struct {
	// Ends consists of one or two bytes, each of which ends a message.
	Ends string
	// Objects also ends a message with a newline that is not inside of a JSON object.
	Objects bool
	// OctetCounts also accepts messages with octet counts of RFC 6587: a number, a space and that many
	// bytes, which start with "<". The form is detected for each message.
	OctetCounts bool
}

// framer splits a stream into messages. A line is a message that is ended by one of Ends.
type framer struct {
	Framing
	// limit is the length in bytes to which a message is truncated.
	limit int

	// scanned is the length of the beginning of the buffer that contains no end of a line.
	scanned int
	// object is what was scanned of the message.
	object object
	// kept is the beginning of a message over the limit while its rest is skipped. left is the number of
	// bytes to skip, or -1 to skip to the end of the line. size is the number of bytes so far.
	kept []byte
	left int64
	size int64
	// repaired counts the messages whose octet count was one too large. That is known only if the next message has arrived too.
	repaired int
}

// frame is a message of a stream.
type frame struct {
	text []byte
	// size is the size of the message before truncation.
	size int64
}

// next consumes the first used bytes of buf, which holds the unprocessed bytes. If they complete a
// message, it returns the message, otherwise its text is nil. If used is 0 too, more bytes are needed.
// end is set if no more bytes will come: the rest is a message then.
func (f *framer) next(buf []byte, end bool) (m frame, used int) {
	if f.kept != nil {
		return f.skip(buf, end)
	}
	if len(buf) == 0 {
		return frame{}, 0
	}
	if strings.IndexByte(f.Ends, buf[0]) >= 0 || f.Objects && (buf[0] == '\n' || buf[0] == '\r') {
		return frame{}, 1
	}
	start, count, maybe := f.octetCount(buf)
	switch {
	case start > 0:
		return f.counted(buf, start, count, end)
	case maybe && !end:
		return frame{}, 0
	}
	return f.line(buf, end)
}

// octetCount parses "123 <". The message starts at start and is count bytes long. If start is 0, buf
// does not start with an octet count; maybe is set if more bytes could complete one.
func (f *framer) octetCount(buf []byte) (start, count int, maybe bool) {
	if !f.OctetCounts {
		return 0, 0, false
	}
	n := digits(buf[:min(len(buf), maxCountDigits+1)])
	if n == 0 || n > maxCountDigits || buf[0] == '0' {
		return 0, 0, false
	}
	for _, c := range buf[:n] {
		count = count*10 + int(c-'0')
	}
	if count > maxCount {
		return 0, 0, false
	}
	if n+1 >= len(buf) {
		return 0, 0, n == len(buf) || buf[n] == ' '
	}
	if buf[n] != ' ' || buf[n+1] != '<' {
		return 0, 0, false
	}
	return n + 1, count, false
}

func (f *framer) counted(buf []byte, start, count int, end bool) (frame, int) {
	have := len(buf) - start
	switch {
	case have >= count && count <= f.limit:
		if f.countsOneMore(buf, start+count) {
			count--
			f.repaired++
		}
		return whole(TrimEnd(buf[start : start+count])), start + count
	case have >= f.limit && count > f.limit:
		return f.keep(buf[start:start+f.limit], int64(count-f.limit)), start + f.limit
	case end:
		return whole(buf[start:]), len(buf)
	}
	return frame{}, 0
}

// countsOneMore reports whether the count of the message that ends at buf[end] is one too large, as of senders that count a newline
// that they do not send: its last byte then belongs to the count of the next message, as far as buf shows.
func (f *framer) countsOneMore(buf []byte, end int) bool {
	if buf[end-1]-'0' > 9 || end == len(buf) {
		return false
	}
	rest := buf[end:]
	if start, count, _ := f.octetCount(rest); start > 0 && f.begins(rest, start+count) {
		return false
	}
	rest = buf[end-1:]
	start, count, _ := f.octetCount(rest)
	return start > 0 && (f.begins(rest, start+count) || f.begins(rest, start+count-1))
}

// begins reports whether a message may begin at buf[at].
func (f *framer) begins(buf []byte, at int) bool {
	buf = buf[min(at, len(buf)):]
	if len(buf) == 0 || strings.IndexByte(f.Ends, buf[0]) >= 0 || buf[0] == '<' {
		return true
	}
	start, _, maybe := f.octetCount(buf)
	return start > 0 || maybe
}

func (f *framer) line(buf []byte, end bool) (frame, int) {
	n := f.lineEnd(buf[f.scanned:])
	if n >= 0 {
		n += f.scanned
	}
	switch {
	case n >= 0 && n <= f.limit:
		f.scanned = 0
		if n == 1 && buf[0] == '\r' {
			return frame{}, n + 1
		}
		return whole(buf[:n]), n + 1
	case n > f.limit || len(buf) > f.limit:
		f.scanned = 0
		f.rescan(buf[:f.limit])
		return f.keep(buf[:f.limit], -1), f.limit
	case end:
		f.scanned, f.object = 0, object{}
		return whole(buf), len(buf)
	}
	f.scanned = len(buf)
	return frame{}, 0
}

// rescan makes what was scanned of the message text, which has no end.
func (f *framer) rescan(text []byte) {
	if f.object = (object{}); f.Objects {
		_ = f.object.end(text, f.Ends)
	}
}

// lineEnd returns the offset of the first byte that ends a line, or -1. s follows what was scanned before.
func (f *framer) lineEnd(s []byte) int {
	if f.Objects {
		return f.object.end(s, f.Ends)
	}
	first := -1
	for i := range len(f.Ends) {
		if n := bytes.IndexByte(s, f.Ends[i]); n >= 0 {
			first, s = n, s[:n]
		}
	}
	return first
}

// overflow truncates the unfinished message in buf because there is no memory for more of it. next then
// skips its rest.
func (f *framer) overflow(buf []byte) {
	start, count, _ := f.octetCount(buf)
	f.scanned = 0
	f.rescan(buf)
	if start > 0 {
		f.keep(buf[start:], int64(count-(len(buf)-start)))
	} else {
		f.keep(buf, -1)
	}
}

// keep begins to skip the rest of a message over the limit.
func (f *framer) keep(text []byte, left int64) frame {
	f.kept, f.left, f.size = bytes.Clone(text), left, int64(len(text))
	return frame{}
}

// skip consumes the bytes of a message over the limit.
func (f *framer) skip(buf []byte, end bool) (frame, int) {
	used, done := len(buf), end
	if f.left >= 0 {
		if int64(len(buf)) >= f.left {
			used, done = int(f.left), true
		}
		f.left -= int64(used)
		f.size += int64(used)
	} else {
		n := f.lineEnd(buf)
		if n >= 0 {
			used, done = n+1, true
			f.size += int64(n)
		} else {
			f.size += int64(used)
		}
	}
	if !done {
		return frame{}, used
	}
	m := frame{text: f.kept, size: f.size}
	f.kept = nil
	return m, used
}

// unfinished reports whether a message has begun. buf holds the unprocessed bytes.
func (f *framer) unfinished(buf []byte) bool { return len(buf) > 0 || f.kept != nil }

func whole(text []byte) frame { return frame{text: text, size: int64(len(text))} }

// TrimEnd removes the one newline or NUL that many senders append to a message.
func TrimEnd(text []byte) []byte {
	if n := len(text); n > 0 && (text[n-1] == '\n' || text[n-1] == 0) {
		return text[:n-1]
	}
	return text
}

// digits returns the number of digits at the start of s.
func digits(s []byte) int {
	for i, c := range s {
		if c < '0' || c > '9' {
			return i
		}
	}
	return len(s)
}
