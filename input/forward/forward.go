// Package forward takes log records from senders of the Fluent Forward protocol,
// version 1: Fluent Bit, Fluentd, Docker's fluentd driver and client libraries.
//
// All four forms of messages are understood, compressed with gzip or not, with
// times in seconds or as EventTime. A message with a chunk option is acknowledged
// when its records are durable; where the buffer has no room it is not, and the
// connection is closed, so that the sender tries again. The same message sent
// again, because its acknowledgement got lost, is acknowledged and not taken twice,
// as far as it is one of the last 1,024. A sender that asks for no acknowledgement
// waits while there is no room: nothing more is read from it.
//
// # What a record holds
//
// The time is the event's, the source its tag. The message is the record as a
// compact JSON object, its members in their order; a record that holds nothing but
// a text named log or message is that text, without a newline at its end; see
// [Options.MessageKey]. Binary values that are no text become U+FFFD in texts,
// base64 elsewhere. A time that is not taken stays in the member refused_time.
package forward

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"logstow/input"
	"logstow/input/listen"
)

const (
	// DefaultHostname is what the server calls itself in the handshake. Fluentd
	// refuses a server that has its own name.
	DefaultHostname = "logstow"
	// DefaultIdleTimeout is how long a connection may say nothing where nothing else is configured.
	DefaultIdleTimeout = time.Hour
	// DefaultMessageTimeout is how long a message may take from its first byte to its last.
	DefaultMessageTimeout = time.Minute
	// DefaultMaxMemory is what all connections together may hold in memory, in bytes: as
	// much as the largest message and what is made of it need.
	DefaultMaxMemory = readMemory + parseMemory
	// readMemory is what reading the longest message takes: its buffer, and the smaller
	// one that it is copied from.
	readMemory = 25 << 20
	// parseMemory is what taking it apart does: the same for what is decompressed, and the
	// events and messages of one piece.
	parseMemory = 39 << 20
	// grace is how long what was read is handed over after the end.
	grace = 5 * time.Second
)

// Options say where to listen and how.
type Options struct {
	input.Options
	// Address is HOST:PORT; binds to loopback if no host is given. Required.
	Address string
	// TLS makes the listener speak TLS.
	TLS listen.TLS
	// MaxConnections is how many connections are served at a time; 0 is [listen.DefaultMaxConnections].
	MaxConnections int
	// SharedKey is what senders must know, and get told that the server knows, before
	// anything is taken from them. "" is no handshake.
	SharedKey string
	// Users are names with their passwords: a sender must be one of them. None is
	// no such check. They need a SharedKey.
	Users map[string]string
	// Hostname is the server's name in the handshake; "" is [DefaultHostname].
	Hostname string
	// MessageKey names the member whose text is the whole message of a record; the
	// other members are left out, and a record without that text is kept whole. ""
	// takes a text named log or message where a record has no other member.
	MessageKey string
	// IdleTimeout is how long a connection may say nothing: then it is closed. 0 is [DefaultIdleTimeout].
	IdleTimeout time.Duration
	// MessageTimeout is how long a message may take from its first byte to its last: then
	// the connection is closed. 0 is [DefaultMessageTimeout].
	MessageTimeout time.Duration
	// MaxMemory bounds in bytes what long messages on all connections together hold in
	// memory: 25 MiB of it while they are read, the rest while they are taken apart. A
	// connection that finds no room for five seconds is closed. 0 is
	// [DefaultMaxMemory], 64 MiB, which is the least.
	MaxMemory int64
}

// Stats counts what a Server did beside what [input.Stats] counts.
type Stats struct {
	// Connections were accepted; Refused were closed for a failed TLS or shared-key
	// handshake, Slow for a message that did not end in time, Malformed for what is
	// not the protocol or over a limit.
	Connections, Rejected, Slow, Malformed int64
	// Busy messages were not acknowledged for want of room; Repeated ones came
	// again after all or some of their events were taken.
	Busy, Repeated int64
}

// Server is one listening server.
type Server struct {
	opts     Options
	receiver *input.Receiver
	listener net.Listener
	chunks   *recentChunks
	// readBudget is for messages, making for what is made of them: who has read a
	// message does not wait for those who read.
	readBudget, parseBudget *listen.Budget
	logLimit                listen.Limiter
	counts                  struct{ connections, rejected, slow, malformed, busy, repeated atomic.Int64 }
	// open is how many connections are served.
	open atomic.Int64
}

// New binds the socket. ctx is for that alone.
func New(ctx context.Context, opts Options) (*Server, error) {
	fail := func(err error) (*Server, error) { return nil, fmt.Errorf("forward input %s: %w", opts.Address, err) }
	var err error
	if opts.Options, err = opts.WithDefaults(); err != nil {
		return fail(err)
	}
	opts.Hostname = cmp.Or(opts.Hostname, DefaultHostname)
	opts.IdleTimeout = cmp.Or(opts.IdleTimeout, DefaultIdleTimeout)
	opts.MessageTimeout = cmp.Or(opts.MessageTimeout, DefaultMessageTimeout)
	opts.MaxMemory = cmp.Or(opts.MaxMemory, DefaultMaxMemory)
	opts.MaxConnections = cmp.Or(opts.MaxConnections, listen.DefaultMaxConnections)
	switch {
	case opts.MaxMemory < DefaultMaxMemory:
		return fail(fmt.Errorf("%d bytes for all connections: it must be at least %d", opts.MaxMemory, DefaultMaxMemory))
	case len(opts.Users) > 0 && opts.SharedKey == "":
		return fail(errors.New("users need a shared key too: it begins the handshake"))
	}
	receiver, err := input.NewReceiver(opts.Options)
	if err != nil {
		return fail(err)
	}
	config, err := opts.TLS.Config()
	if err != nil {
		return fail(err)
	}
	listener, err := listen.Stream(ctx, "tcp", opts.Address, config)
	if err != nil {
		return nil, fmt.Errorf("forward input: %w", err)
	}
	return &Server{
		opts: opts, receiver: receiver, listener: listener, chunks: newChunks(),
		readBudget: listen.NewBudget(readMemory, opts.Memory), parseBudget: listen.NewBudget(opts.MaxMemory-readMemory, opts.Memory),
	}, nil
}

// Addr is where the server listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close closes the socket of a server that does not run: what New bound.
func (s *Server) Close() error { return s.listener.Close() }

// Stats returns what was counted so far.
func (s *Server) Stats() Stats {
	c := &s.counts
	return Stats{
		Connections: c.connections.Load(), Rejected: c.rejected.Load(), Slow: c.slow.Load(), Malformed: c.malformed.Load(),
		Busy: c.busy.Load(), Repeated: c.repeated.Load(),
	}
}

// Run serves until ctx ends; then it hands over what it has read, for at most five
// seconds, and closes the socket. An error is one of the socket or of the sink.
func (s *Server) Run(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var broken error
	var once sync.Once
	err := listen.Serve(ctx, s.listener, s.opts.MaxConnections, func(ctx context.Context, c net.Conn) {
		s.counts.connections.Add(1)
		if err := listen.Handshake(ctx, c); err != nil {
			s.logClosed(ctx, c, fmt.Errorf("%w: %w", errRejected, err))
			return
		}
		if open := s.open.Add(1); open >= int64(s.opts.MaxConnections) && s.logLimit.Allow() {
			s.opts.Log.Warn("connection limit of the forward input reached: further senders wait", "address", s.opts.Address, "connections", open)
		}
		defer s.open.Add(-1)
		conn := s.newConn(ctx, c)
		defer conn.close()
		err := conn.serve(ctx)
		var sink sinkError
		if errors.As(err, &sink) {
			once.Do(func() { broken = err })
			fail(err)
			return
		}
		s.logClosed(ctx, c, err)
	})
	return errors.Join(err, broken)
}

// logClosed counts why a connection ended, and says it where an operator should know.
func (s *Server) logClosed(ctx context.Context, c net.Conn, err error) {
	text := "forward connection closed"
	switch {
	case ctx.Err() != nil:
		return
	case errors.Is(err, errMalformed) || errors.Is(err, errTooLong):
		s.counts.malformed.Add(1)
	case errors.Is(err, io.EOF):
		return
	case errors.Is(err, errSlow):
		s.counts.slow.Add(1)
	case errors.Is(err, errRejected):
		s.counts.rejected.Add(1)
		text = "forward sender rejected"
	case errors.Is(err, input.ErrBusy):
		s.counts.busy.Add(1)
		text = "no space for a forward message: the sender must retry"
	case errors.Is(err, errNoMemory):
	default:
		s.opts.Log.Debug(text, "sender", c.RemoteAddr().String(), "error", err)
		return
	}
	if s.logLimit.Allow() {
		s.opts.Log.Warn(text, "address", s.opts.Address, "sender", c.RemoteAddr().String(), "error", err)
	}
}
