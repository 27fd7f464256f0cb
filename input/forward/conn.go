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
	// firstBuffer is the initial size of a connection's read buffer. Longer messages enlarge it, within the
	// budget of all connections.
	firstBuffer = 16 << 10
	// batchBuffer is its size while many short messages come.
	batchBuffer = 64 << 10
	// maxAcks is how many bytes of acknowledgements are batched.
	maxAcks = 64 << 10
	// maxPing is the maximum length of the response to a HELO in bytes. It is short because the sender is
	// not authenticated yet.
	maxPing = 4 << 10
	// handshakeTimeout is how long a sender may take to begin its response to a HELO.
	handshakeTimeout = 10 * time.Second
	// writeTimeout is how long a sender may take to read a response.
	writeTimeout = 10 * time.Second
)

var (
	// errNoMemory reports that all connections together hold too much memory.
	errNoMemory = errors.New("memory limit of all connections reached")
	// errSlow reports that a message did not end in time.
	errSlow = errors.New("message timed out")
)

// conn is one connection.
type conn struct {
	server   *Server
	net      net.Conn
	deadline *listen.ReadDeadline
	scan     scanner
	// buf[start:end] holds the bytes that were read but not processed.
	buf        []byte
	start, end int
	// last is the size of the last read.
	last int
	// idle is how long the sender may be silent.
	idle   time.Duration
	events collector
	// acks are acknowledgements, sent when everything up to lsn is durable.
	acks []byte
	lsn  buffer.LSN
	// readReserved is buf's share of its budget, parseReserved that of the current events.
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

// close releases the connection's memory.
func (c *conn) close() {
	c.deadline.Stop()
	c.server.readBudget.Give(c.readReserved)
	c.server.parseBudget.Give(c.parseReserved)
}

// reserve reserves n bytes of a budget, waiting for other connections, and adds them to held.
func reserve(ctx context.Context, budget *listen.Budget, n int, held *int64) error {
	if err := budget.Wait(ctx, int64(n)); err != nil {
		return fmt.Errorf("%w: %w", errNoMemory, err)
	}
	*held += int64(n)
	return nil
}

// serve reads until the sender, a timeout or ctx ends the connection, and returns why it ended.
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
			// All input is processed: make everything that arrived together durable together.
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

// handshake performs the handshake if a shared key is configured.
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

// next returns the next value, valid until read is called; nil if it is still incomplete.
func (c *conn) next(limit int) ([]byte, error) {
	size, err := c.scan.next(c.buf[c.start:c.end], limit)
	if err != nil || size == 0 {
		return nil, err
	}
	c.deadline.Begun = time.Time{}
	c.start += size
	return c.buf[c.start-size : c.start : c.start], nil
}

// read reads more. io.EOF means that the sender is done.
func (c *conn) read(ctx context.Context) error {
	if err := c.makeSpace(ctx); err != nil {
		return err
	}
	c.deadline.SetMessage(c.end > c.start, c.server.opts.MessageTimeout, c.idle)
	n, err := c.deadline.Read(func() (int, error) { return c.net.Read(c.buf[c.end:]) })
	c.end += n
	c.last = n
	if n == 0 && err != nil {
		return c.cause(err)
	}
	return nil
}

// cause adds detail to a read error within a message.
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

// makeSpace makes space for further reading.
func (c *conn) makeSpace(ctx context.Context) error {
	full := c.end == len(c.buf)
	c.end = copy(c.buf, c.buf[c.start:c.end])
	c.start = 0
	size := len(c.buf)
	switch {
	case c.end == size:
		grown := min(2*size, maxMessage+firstBuffer)
		// Both buffers exist during the copy.
		if err := reserve(ctx, c.server.readBudget, grown, &c.readReserved); err != nil {
			return err
		}
		c.resize(grown)
		c.shrinkBuffer(grown)
	case full && size < batchBuffer && c.server.readBudget.Take(int64(size)):
		c.readReserved += int64(size) // high rate: read more at once
		c.resize(2 * size)
	case c.end == 0 && (size > batchBuffer || size > firstBuffer && c.last < firstBuffer/2):
		c.resize(firstBuffer)
		c.shrinkBuffer(0)
	}
	return nil
}

// grow reserves n bytes for parsing a message, or if n is negative returns them.
func (c *conn) grow(ctx context.Context, n int) error {
	if n < 0 {
		c.server.parseBudget.Give(int64(-n))
		c.parseReserved += int64(n)
		return nil
	}
	return reserve(ctx, c.server.parseBudget, n, &c.parseReserved)
}

// shrinkBuffer keeps no more of the read budget than that.
func (c *conn) shrinkBuffer(keep int) {
	c.server.readBudget.Give(c.readReserved - int64(keep))
	c.readReserved = int64(keep)
}

// resize resizes the buffer to size bytes, keeping its content.
func (c *conn) resize(size int) {
	c.buf = append(make([]byte, 0, size), c.buf[:c.end]...)[:size]
}
