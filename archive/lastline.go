package archive

import (
	"bytes"
	"errors"
	"io"

	"logstow/record"
)

// lastLine passes on a text. What is behind its last line break is passed on if keep agrees, which is called with it and the error that
// ended the text, nil at its end. It holds as much as a record may have.
type lastLine struct {
	in   io.Reader
	keep func(text []byte, err error) bool
	// made is what was not read yet, in space; held is behind the last line break.
	made, space, held []byte
	buf               []byte
	err               error
}

func newLastLine(in io.Reader, keep func(text []byte, err error) bool) *lastLine {
	return &lastLine{in: in, keep: keep, buf: make([]byte, 32<<10)}
}

// Read implements [io.Reader].
func (l *lastLine) Read(p []byte) (int, error) {
	for len(l.made) == 0 {
		if l.err != nil {
			return 0, l.err
		}
		n, err := l.in.Read(l.buf)
		out, text := l.space[:0], l.buf[:n]
		if end := bytes.LastIndexByte(text, '\n') + 1; end > 0 {
			out = append(append(out, l.held...), text[:end]...)
			l.held, text = l.held[:0], text[end:]
		}
		l.held = append(l.held, text...)
		cause := err
		if errors.Is(err, io.EOF) {
			cause = nil
		}
		if len(l.held) > record.MaxSize || err != nil && len(l.held) > 0 && l.keep(l.held, cause) {
			out, l.held = append(out, l.held...), l.held[:0]
		}
		l.made, l.space, l.err = out, out, err
	}
	n := copy(p, l.made)
	l.made = l.made[n:]
	return n, nil
}
