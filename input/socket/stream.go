package socket

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"logstow/input"
	"logstow/input/listen"
)

const (
	// firstBuffer is the initial size of a connection's read buffer. Long messages and high rates enlarge
	// it, within the budget of all connections.
	firstBuffer = 16 << 10
	// batchBuffer is the maximum size of the read buffer because of high rates.
	batchBuffer = 256 << 10
)

// runStream serves connections.
func (s *Server) runStream(ctx context.Context) error {
	return s.Connections.Serve(ctx, s.listener, func(ctx context.Context, c net.Conn) error {
		conn := s.newConn(ctx, c)
		defer conn.close()
		return conn.serve(ctx)
	})
}

// conn is one connection.
type conn struct {
	server *Server
	net    net.Conn
	sender string
	batch  *batch
	framer framer
	// buf[start:end] holds the bytes that were read but not processed.
	buf        []byte
	start, end int
	// kept is the memory reserved from the budget for framer.kept.
	kept     int64
	deadline *listen.ReadDeadline
}

func (s *Server) newConn(ctx context.Context, c net.Conn) *conn {
	local := s.network == "unix"
	conn := &conn{
		server: s, net: c, batch: s.newBatch(local), buf: make([]byte, firstBuffer),
		framer: framer{Framing: s.protocol.Framing(local), limit: s.opts.MaxRecord},
	}
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		conn.sender = host(a.AddrPort().Addr())
	}
	conn.deadline = listen.NewReadDeadline(ctx, c)
	return conn
}

// close releases the connection's memory.
func (c *conn) close() {
	c.deadline.Stop()
	c.batch.reset()
	c.server.budget.Give(int64(len(c.buf)-firstBuffer) + c.kept)
}

// serve receives messages until the sender, a timeout or ctx ends the connection. An error is one of the
// sink.
func (c *conn) serve(ctx context.Context) error {
	flushing, cancel := input.Grace(ctx, grace)
	defer cancel()
	for {
		c.deadline.SetMessage(c.framer.unfinished(c.buf[c.start:c.end]), c.server.opts.MessageTimeout, c.server.opts.IdleTimeout)
		n, err := c.deadline.Read(func() (int, error) { return c.net.Read(c.buf[c.end:]) })
		c.end += n
		slow := !c.deadline.Begun.IsZero()
		if err := c.receiveAll(flushing, err != nil); err != nil {
			return err
		}
		if err != nil {
			c.logClosed(ctx, err, slow)
			return nil
		}
		c.reserveKept()
		c.makeSpace(ctx, n)
	}
}

// receiveAll passes on all complete messages, and the unfinished one if end is set.
func (c *conn) receiveAll(ctx context.Context, end bool) error {
	read := c.server.opts.Now().UnixNano()
	for {
		m, used := c.framer.next(c.buf[c.start:c.end], end)
		c.start += used
		if m.text == nil && used == 0 {
			break
		}
		if len(m.text) == 0 {
			continue
		}
		c.deadline.Begun = time.Time{}
		text := m.text
		if m.size > int64(len(text)) {
			c.server.opts.NoteCut()
			text = input.Cut(text, c.server.opts.MaxRecord, m.size)
		}
		if !c.batch.fits(len(text)) {
			if err := c.server.receive(ctx, c.batch); err != nil {
				return err
			}
		}
		c.batch.add(text, c.sender, read)
	}
	if c.batch.len == 0 {
		return nil
	}
	return c.server.receive(ctx, c.batch)
}

// makeSpace makes space for further reading, after n bytes were read.
func (c *conn) makeSpace(ctx context.Context, n int) {
	full := c.end == len(c.buf)
	c.end = copy(c.buf, c.buf[c.start:c.end])
	c.start = 0
	switch {
	case c.end == len(c.buf):
		c.grow(ctx)
	case full && len(c.buf) < batchBuffer && c.server.budget.Take(int64(len(c.buf))):
		c.resize(2 * len(c.buf)) // high rate: read more at once
	case len(c.buf) > firstBuffer && c.end == 0 && n < firstBuffer/2:
		c.resize(firstBuffer)
	}
}

// reserveKept reserves the memory for the kept beginning of a message over the limit. If the budget has
// none, it shortens the beginning.
func (c *conn) reserveKept() {
	need := int64(len(c.framer.kept))
	switch {
	case need < c.kept:
		c.server.budget.Give(c.kept - need)
		c.kept = need
	case need > c.kept && c.server.budget.Take(need-c.kept):
		c.kept = need
	case need > c.kept:
		c.framer.kept = bytes.Clone(c.framer.kept[:min(need, max(c.kept, input.MinMaxRecord))])
	}
}

// grow enlarges the buffer, which a message fills. If that is not possible, it truncates the message.
func (c *conn) grow(ctx context.Context) {
	size := min(2*len(c.buf), c.server.opts.MaxRecord+firstBuffer)
	if size > len(c.buf) && c.server.budget.Wait(ctx, int64(size-len(c.buf))) == nil {
		c.resize(size)
		return
	}
	c.framer.overflow(c.buf[:c.end])
	c.end = 0
	c.reserveKept()
}

// resize resizes the buffer to size bytes and keeps its content. The memory for a larger one must be reserved.
func (c *conn) resize(size int) {
	if less := len(c.buf) - size; less > 0 {
		c.server.budget.Give(int64(less))
	}
	c.buf = append(make([]byte, 0, size), c.buf[:min(c.end, size)]...)[:size]
}

// logClosed logs why a connection ended, if that is relevant for an operator. slow is set if it ended within
// a message.
func (c *conn) logClosed(ctx context.Context, err error, slow bool) {
	switch {
	case ctx.Err() != nil || errors.Is(err, io.EOF):
	case errors.Is(err, os.ErrDeadlineExceeded):
		if slow {
			c.server.Connections.Slow.Add(1)
		}
		if slow && c.server.Connections.Limit.Allow() {
			c.server.opts.Log.Warn(c.server.protocol.Name+" connection closed: message timed out",
				"sender", c.net.RemoteAddr().String(), "limit", c.server.opts.MessageTimeout)
		}
	default:
		c.server.opts.Log.Debug(c.server.protocol.Name+" connection failed", "sender", c.net.RemoteAddr().String(), "error", err)
	}
}
