// Package jsonlines makes lines of the elements of a JSON array, and prints values as JSON, one a line.
package jsonlines

import (
	"bytes"
	"io"
)

// Reader returns a reader of r. If the text is an array of objects, each object becomes a line, without line breaks and
// indentation; what follows the array, or is no object, is read as it is. Any other text is read unchanged. It holds at most
// 32 KiB, however long the array is, and does not wait for more bytes than it needs to recognize an array.
func Reader(r io.Reader) io.Reader { return &reader{in: r, state: start} }

// Records is [Reader] for texts in which the array may be the value of the only member of an object: {"records":[…]}.
func Records(r io.Reader) io.Reader { return &reader{in: r, state: start, records: true} }

// bufferSize is the size of a read.
const bufferSize = 32 << 10

// state is where the next byte is.
type state uint8

const (
	start    state = iota // before anything but blanks
	opened                // behind the bracket at the start
	between               // between the elements
	element               // inside of an element
	indent                // behind a line break inside of an element
	text                  // inside of a string
	escaped               // behind a backslash in a string
	verbatim              // in other text
)

// reader converts the bytes of in.
type reader struct {
	in    io.Reader
	state state
	// depth is how many objects and arrays are open in the element.
	depth int
	// ended is set behind an array: another one may follow.
	ended bool
	// records is set if the array may be in an object, wrapped while that is open.
	records, wrapped bool
	// made are converted bytes that were not read; they are in space.
	made, space []byte
	// held are the bytes before the first element, which are part of another text if no element follows.
	held []byte
	buf  []byte
	err  error
}

// maxBlank is how many bytes may stand before the first element.
const maxBlank = 4 << 10

// Read implements [io.Reader].
func (r *reader) Read(p []byte) (int, error) {
	for len(r.made) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		if r.state == verbatim {
			return r.in.Read(p)
		}
		if r.buf == nil {
			r.buf = make([]byte, bufferSize)
		}
		n, err := r.in.Read(r.buf)
		r.made = r.convert(r.space[:0], r.buf[:n])
		if r.err = err; err != nil && r.state <= opened {
			r.made, r.held = append(r.made, r.held...), nil
		}
		r.space = r.made[:0]
	}
	n := copy(p, r.made)
	r.made = r.made[n:]
	return n, nil
}

// convert appends the conversion of b to out.
func (r *reader) convert(out, b []byte) []byte {
	for i, c := range b {
		switch r.state {
		case start, opened:
			out = r.begin(out, c)
		case between:
			out = r.outside(out, c)
		case element, indent:
			out = r.inside(out, c)
		case text:
			out = append(out, c)
			switch c {
			case '"':
				r.state = element
			case '\\':
				r.state = escaped
			}
		case escaped:
			out = append(out, c)
			r.state = text
		case verbatim:
			return append(out, b[i:]...)
		}
	}
	return out
}

// begin takes a byte before the first element.
func (r *reader) begin(out []byte, c byte) []byte {
	const mark = "\xef\xbb\xbf"
	if r.ended && len(r.held) == 0 && isBlank(c) {
		return out
	}
	if r.wrapped && len(r.held) == 0 && c == '}' {
		r.wrapped = false
		return out
	}
	r.held = append(r.held, c)
	switch {
	case r.records && r.state == start && r.opens():
		return out
	case r.wrapped && r.state == opened && c == ']':
		r.state, r.ended, r.held = start, true, nil
		return out
	}
	switch n := len(r.held); {
	case n > maxBlank:
	case isBlank(c), n <= len(mark) && string(r.held) == mark[:n]:
		return out
	case c == '[' && r.state == start:
		r.state = opened
		return out
	case c == '{' && r.state == opened:
		r.state, r.depth, r.held = element, 1, nil
		return append(out, c)
	}
	r.state = verbatim
	out, r.held = append(out, r.held...), nil
	return out
}

// opens reports whether the bytes before the first element may open an object with an array.
func (r *reader) opens() bool {
	const opening = `{"records":[`
	n := 0
	for _, c := range bytes.TrimPrefix(r.held, []byte("\xef\xbb\xbf")) {
		switch {
		case isBlank(c):
		case n < len(opening) && c == opening[n]:
			n++
		default:
			return false
		}
	}
	if n == len(opening) {
		r.state, r.wrapped = opened, true
	}
	return n > 0 && len(r.held) <= maxBlank
}

// outside takes a byte between elements.
func (r *reader) outside(out []byte, c byte) []byte {
	switch {
	case isBlank(c) || c == ',':
		return out
	case c == ']':
		r.state, r.ended = start, true
		return out
	case c == '{':
		r.state, r.depth = element, 1
	default:
		r.state = verbatim
	}
	return append(out, c)
}

// inside takes a byte of an element that is not in a string.
func (r *reader) inside(out []byte, c byte) []byte {
	if c == '\n' || c == '\r' || r.state == indent && isBlank(c) {
		r.state = indent
		return out
	}
	r.state = element
	out = append(out, c)
	switch c {
	case '"':
		r.state = text
	case '{', '[':
		r.depth++
	case '}', ']':
		if r.depth--; r.depth == 0 {
			r.state = between
			out = append(out, '\n')
		}
	}
	return out
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
