package forward

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/listen"
	"logstow/record/recognize"
)

const (
	// firstBuffer is what every connection has to read into; longer messages grow
	// it, within the budget of all connections.
	firstBuffer = 16 << 10
	// batchBuffer is how large it gets while many short ones come.
	batchBuffer = 64 << 10
	// maxAcks is how many bytes of acknowledgements wait for each other.
	maxAcks = 64 << 10
	// maxPing is the longest answer to a HELO in bytes: nobody is trusted yet.
	maxPing = 4 << 10
	// memoryTimeout is how long a connection waits for memory that others hold.
	memoryTimeout = 5 * time.Second
	// handshakeTimeout is how long a sender may take to begin its answer to a HELO.
	handshakeTimeout = 10 * time.Second
	// writeTimeout is how long a sender may take to read an answer.
	writeTimeout = 10 * time.Second
)

var (
	// errNoMemory says that all connections together hold too much.
	errNoMemory = errors.New("memory limit of all connections reached")
	// errSlow says that message timed out.
	errSlow = errors.New("message timed out")
)

// conn is one connection.
type conn struct {
	server   *Server
	net      net.Conn
	deadline *listen.ReadDeadline
	scan     scanner
	// buf[start:end] is what was read and not used.
	buf        []byte
	start, end int
	// last is how much was read last.
	last int
	// begun is when the message at start did.
	begun time.Time
	// idle is how long the sender may say nothing.
	idle   time.Duration
	events collector
	// acks are acknowledgements, as they are sent when all up to mark is durable.
	acks []byte
	mark buffer.Mark
	// readReserved is what buf has of its budget, making what the events at hand have of theirs.
	readReserved, parseReserved int64
}

func (s *Server) newConn(ctx context.Context, c net.Conn) *conn {
	conn := &conn{server: s, net: c, deadline: listen.NewReadDeadline(ctx, c), buf: make([]byte, firstBuffer), idle: handshakeTimeout}
	conn.events = collector{
		opts: &s.opts, guard: recognize.New(s.opts.Recognize), out: writer{limit: s.opts.MaxRecord},
		grow: func(n int) error { return conn.grow(ctx, n) },
	}
	conn.events.release()
	return conn
}

// close gives back what the connection holds.
func (c *conn) close() {
	c.deadline.Stop()
	c.server.readBudget.Give(c.readReserved)
	c.server.parseBudget.Give(c.parseReserved)
}

// reserve takes n bytes from a budget, waiting for other connections, and adds them to held.
func reserve(ctx context.Context, budget *listen.Budget, n int, held *int64) error {
	if !budget.Take(int64(n)) {
		ctx, cancel := context.WithTimeout(ctx, memoryTimeout)
		defer cancel()
		if err := budget.Wait(ctx, int64(n)); err != nil {
			return fmt.Errorf("%w: %w", errNoMemory, err)
		}
	}
	*held += int64(n)
	return nil
}

// serve reads until the sender, time or ctx ends the connection, and says why it ended.
func (c *conn) serve(ctx context.Context) error {
	late, cancel := input.Grace(ctx, grace)
	defer cancel()
	if err := c.handshake(ctx); err != nil {
		return err
	}
	c.idle = c.server.opts.IdleTimeout
	for {
		raw, err := c.next(maxMessage)
		if raw != nil {
			err = c.message(ctx, late, raw)
		}
		if raw == nil || err != nil || len(c.acks) > maxAcks {
			// All that came is used: whatever came together is made durable together.
			err = errors.Join(err, c.acknowledge(late))
		}
		if raw == nil && err == nil {
			err = c.read(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// handshake does the handshake where a shared key is configured.
func (c *conn) handshake(ctx context.Context) error {
	if c.server.opts.SharedKey == "" {
		return nil
	}
	h := c.server.opts.newHandshake()
	helo, err := h.helo()
	if err != nil {
		return err
	}
	if err := c.write(helo); err != nil {
		return err
	}
	raw, err := c.next(maxPing)
	for raw == nil && err == nil {
		if err = c.read(ctx); err == nil {
			raw, err = c.next(maxPing)
		}
	}
	if err != nil {
		return fmt.Errorf("%w: no PING came: %w", errRejected, err)
	}
	pong, err := h.pong(raw)
	if pong != nil {
		err = errors.Join(err, c.write(pong))
	}
	return err
}

func (c *conn) write(b []byte) error {
	_ = c.net.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := c.net.Write(b)
	return err
}

// next returns the next value, valid until read is called; nil where it was not
// read to its end yet.
func (c *conn) next(limit int) ([]byte, error) {
	size, err := c.scan.next(c.buf[c.start:c.end], limit)
	if err != nil || size == 0 {
		return nil, err
	}
	c.begun = time.Time{}
	c.start += size
	return c.buf[c.start-size : c.start : c.start], nil
}

// read reads more. io.EOF says that the sender is done.
func (c *conn) read(ctx context.Context) error {
	if err := c.makeSpace(ctx); err != nil {
		return err
	}
	c.wait()
	n, err := c.net.Read(c.buf[c.end:])
	c.end += n
	c.last = n
	if n == 0 && err != nil {
		return c.cause(err)
	}
	return nil
}

// cause says more of an error of reading where it is one within a message.
func (c *conn) cause(err error) error {
	switch {
	case c.end == c.start:
		return err
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%w: %v are the limit", errSlow, c.server.opts.MessageTimeout)
	}
	return err
}

// makeSpace makes room for reading on.
func (c *conn) makeSpace(ctx context.Context) error {
	full := c.end == len(c.buf)
	c.end = copy(c.buf, c.buf[c.start:c.end])
	c.start = 0
	size := len(c.buf)
	switch {
	case c.end == size:
		grown := min(2*size, maxMessage+firstBuffer)
		// Both buffers are there while one is copied.
		if err := reserve(ctx, c.server.readBudget, grown, &c.readReserved); err != nil {
			return err
		}
		c.resize(grown)
		c.shrinkBuffer(grown)
	case full && size < batchBuffer && c.server.readBudget.Take(int64(size)):
		c.readReserved += int64(size) // much comes: read more at once
		c.resize(2 * size)
	case c.end == 0 && (size > batchBuffer || size > firstBuffer && c.last < firstBuffer/2):
		c.resize(firstBuffer)
		c.shrinkBuffer(0)
	}
	return nil
}

// grow reserves n bytes for what is made of a message, or where n is negative gives them back.
func (c *conn) grow(ctx context.Context, n int) error {
	if n < 0 {
		c.server.parseBudget.Give(int64(-n))
		c.parseReserved += int64(n)
		return nil
	}
	return reserve(ctx, c.server.parseBudget, n, &c.parseReserved)
}

// shrinkBuffer keeps no more of the budget for reading than that.
func (c *conn) shrinkBuffer(keep int) {
	c.server.readBudget.Give(c.readReserved - int64(keep))
	c.readReserved = int64(keep)
}

// resize makes the buffer size bytes long, and keeps what is in it.
func (c *conn) resize(size int) {
	c.buf = append(make([]byte, 0, size), c.buf[:c.end]...)[:size]
}

// wait sets the time at which reading ends.
func (c *conn) wait() {
	if c.end == c.start {
		c.deadline.Set(time.Now().Add(c.idle))
		return
	}
	if c.begun.IsZero() {
		c.begun = time.Now()
	}
	c.deadline.Set(c.begun.Add(c.server.opts.MessageTimeout))
}
