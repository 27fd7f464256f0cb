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
	// batchBuffer is the size of a connection's read buffer while many short messages come.
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
	server *Server
	net    net.Conn
	in     *listen.Buffer
	scan   scanner
	// idle is how long the sender may be silent.
	idle   time.Duration
	events collector
	// acks are acknowledgements, sent when everything up to lsn is durable.
	acks []byte
	lsn  buffer.LSN
	// parseReserved is the share of the current events in their budget.
	parseReserved int64
}

func (s *Server) newConn(ctx context.Context, c net.Conn) *conn {
	conn := &conn{
		server: s,
		net:    c,
		in:     listen.NewBuffer(ctx, c, s.readBudget, batchBuffer, maxMessage+listen.FirstBuffer),
		idle:   handshakeTimeout,
	}
	conn.events = collector{
		opts: &s.opts, guard: recognize.New(s.opts.Recognize), out: writer{limit: s.opts.MaxRecord},
		grow: func(n int) error { return conn.grow(ctx, n) },
	}
	conn.events.release()
	return conn
}

// close releases the connection's memory.
func (c *conn) close() {
	c.in.Close()
	c.server.parseBudget.Give(c.parseReserved)
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
	unread := c.in.Unread()
	size, err := c.scan.next(unread, limit)
	if err != nil || size == 0 {
		return nil, err
	}
	c.in.Deadline.Begun = time.Time{}
	c.in.Skip(size)
	return unread[:size:size], nil
}

// read reads more. io.EOF means that the sender is done.
func (c *conn) read(ctx context.Context) error {
	if err := c.in.MakeSpace(ctx); err != nil {
		return fmt.Errorf("%w: %w", errNoMemory, err)
	}
	if n, err := c.in.Read(len(c.in.Unread()) > 0, c.server.opts.MessageTimeout, c.idle); n == 0 && err != nil {
		return c.cause(err)
	}
	return nil
}

// cause adds detail to a read error within a message.
func (c *conn) cause(err error) error {
	switch {
	case len(c.in.Unread()) == 0:
		return err
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%w: %v are the limit", errSlow, c.server.opts.MessageTimeout)
	}
	return err
}

// grow reserves n bytes for parsing a message, or if n is negative returns them.
func (c *conn) grow(ctx context.Context, n int) error {
	if n < 0 {
		c.server.parseBudget.Give(int64(-n))
		c.parseReserved += int64(n)
		return nil
	}
	if err := c.server.parseBudget.Wait(ctx, int64(n)); err != nil {
		return fmt.Errorf("%w: %w", errNoMemory, err)
	}
	c.parseReserved += int64(n)
	return nil
}
