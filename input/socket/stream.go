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

// batchBuffer is the maximum size of a read buffer because of high rates.
const batchBuffer = 256 << 10

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
	in     *listen.Buffer
	// kept is the memory reserved from the budget for framer.kept.
	kept int64
}

func (s *Server) newConn(ctx context.Context, c net.Conn) *conn {
	local := s.network == "unix"
	conn := &conn{
		server: s,
		net:    c,
		batch:  s.newBatch(local),
		in:     listen.NewBuffer(ctx, c, s.budget, batchBuffer, s.opts.MaxRecord+listen.FirstBuffer),
		framer: framer{Framing: s.protocol.Framing(local), limit: s.opts.MaxRecord},
	}
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		conn.sender = host(a.AddrPort().Addr())
	}
	return conn
}

// close releases the connection's memory.
func (c *conn) close() {
	c.in.Close()
	c.batch.reset()
	c.server.budget.Give(c.kept)
}

// serve receives messages until the sender, a timeout or ctx ends the connection. An error is one of the
// sink.
func (c *conn) serve(ctx context.Context) error {
	flushing, cancel := input.Grace(ctx, grace)
	defer cancel()
	for {
		_, err := c.in.Read(c.framer.unfinished(c.in.Unread()), c.server.opts.MessageTimeout, c.server.opts.IdleTimeout)
		slow := !c.in.Deadline.Begun.IsZero()
		if err := c.receiveAll(flushing, err != nil); err != nil {
			return err
		}
		if err != nil {
			c.logClosed(ctx, err, slow)
			return nil
		}
		if c.in.MakeSpace(ctx) != nil { // a message fills it: it is truncated
			c.framer.overflow(c.in.Unread())
			c.in.Skip(len(c.in.Unread()))
		}
		c.reserveKept()
	}
}

// receiveAll passes on all complete messages, and the unfinished one if end is set.
func (c *conn) receiveAll(ctx context.Context, end bool) error {
	read := c.server.opts.Now().UnixNano()
	for {
		m, used := c.framer.next(c.in.Unread(), end)
		c.in.Skip(used)
		if m.text == nil && used == 0 {
			break
		}
		if len(m.text) == 0 {
			continue
		}
		c.in.Deadline.Begun = time.Time{}
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
