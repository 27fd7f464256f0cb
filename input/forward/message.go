package forward

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"logstow/input/listen"
)

// maxInflated is the maximum decompressed size of one message's events.
const maxInflated = 128 << 20

// gzipCost is the approximate memory cost of decompression.
const gzipCost = 64 << 10

// request is one of a sender's messages. Its slices point into the read buffer.
type request struct {
	tag []byte
	// one is a time and a record: the only event. Otherwise events are packed one after the other.
	one, packed []byte
	gzip        bool
	// chunk is the id that an acknowledgement repeats; empty requests none.
	chunk []byte
}

// parseRequest parses a complete value. The result is nil for the value nil, which some senders send to keep a
// connection alive.
func parseRequest(b []byte) (*request, error) {
	c := cursor{b}
	if h, ok := readHead(b); ok && h.kind == kindNil {
		return nil, nil //nolint:nilnil // documented above
	}
	all, err := c.list(2)
	if err != nil {
		return nil, err
	}
	m := new(request)
	if m.tag, err = c.text(); err != nil {
		return nil, err
	}
	used := uint64(2)
	switch h, _ := readHead(c.b); h.kind {
	case kindText:
		m.packed, err = c.text()
	case kindArray:
		m.packed, err = c.elements()
	default:
		m.one, used = c.b, 3
		for range 2 {
			if _, err := c.value(); err != nil {
				return nil, err
			}
		}
		m.one = m.one[:len(m.one)-len(c.b)]
	}
	if err != nil {
		return nil, err
	}
	if used > all.n {
		return nil, errMalformed
	}
	if used < all.n {
		return m, m.options(&c)
	}
	return m, nil
}

// elements returns what is in an array.
func (c *cursor) elements() ([]byte, error) {
	v, err := c.value()
	if err != nil {
		return nil, err
	}
	h, _ := readHead(v)
	return v[h.size:], nil
}

// options reads the map at a message's end; nil is an empty one.
func (m *request) options(c *cursor) error {
	h, _, err := c.next()
	if err != nil || h.kind == kindNil {
		return err
	}
	if h.kind != kindMap {
		return errMalformed
	}
	for range h.n {
		name, value, err := c.member() // unknown ones are ignored
		if err != nil {
			return err
		}
		text, _ := (&cursor{value}).text()
		switch string(name) {
		case "chunk":
			m.chunk = text
		case "compressed":
			if err := m.compressed(string(text)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *request) compressed(how string) error {
	switch how {
	case "", "text":
	case "gzip":
		m.gzip = true
	default:
		return fmt.Errorf("%w: compression %.20q is not known, gzip is", errMalformed, how)
	}
	return nil
}

// events reads packed events one by one.
type events struct {
	buf  []byte
	scan scanner
	// start is where the next event begins in buf.
	start int
	// more is the source of data that is not in buf, nil if all is; left is how much may still
	// come.
	more *gzip.Reader
	left int
	// grow reserves n bytes of memory for buf, or returns -n.
	grow func(n int) error
}

// newEvents reads the packed events of a message.
func newEvents(m *request, grow func(int) error) (*events, error) {
	if !m.gzip {
		return &events{buf: m.packed}, nil
	}
	if len(m.packed) == 0 {
		return &events{}, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(m.packed))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errMalformed, err)
	}
	return &events{more: z, left: maxInflated, grow: grow}, nil
}

// next returns the next event, valid until the next call; io.EOF after the last one.
func (e *events) next() ([]byte, error) {
	for {
		rest := e.buf[e.start:]
		size, err := e.scan.next(rest, maxMessage)
		if err != nil {
			return nil, err
		}
		if size > 0 {
			e.start += size
			return rest[:size:size], nil
		}
		if err := e.fill(); err != nil {
			if errors.Is(err, io.EOF) && len(rest) > 0 {
				err = fmt.Errorf("%w: it ends within an event", errMalformed)
			}
			return nil, err
		}
	}
}

// fill reads more; io.EOF means that there is no more.
func (e *events) fill() error {
	if e.more == nil {
		return io.EOF
	}
	e.buf = e.buf[:copy(e.buf, e.buf[e.start:])]
	e.start = 0
	if len(e.buf) == cap(e.buf) {
		old, size := cap(e.buf), min(max(2*cap(e.buf), listen.FirstBuffer), maxMessage+listen.FirstBuffer)
		if err := e.grow(size); err != nil {
			return err
		}
		e.buf = append(make([]byte, 0, size), e.buf...)
		_ = e.grow(-old)
	}
	n, err := e.more.Read(e.buf[len(e.buf):cap(e.buf)])
	e.buf = e.buf[:len(e.buf)+n]
	if e.left -= n; e.left < 0 {
		return fmt.Errorf("%w: its events have more than %d MiB decompressed", errTooLong, maxInflated>>20)
	}
	switch {
	case n > 0 || err == nil:
		return nil
	case errors.Is(err, io.EOF):
		return io.EOF
	}
	return fmt.Errorf("%w: %w", errMalformed, err)
}
