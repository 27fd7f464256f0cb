// Package forward receives log records from senders of the Fluent Forward protocol, version 1:
// Fluent Bit, Fluentd, Docker's fluentd driver and client libraries.
//
// All four forms of messages are supported, with or without gzip, with times in seconds or as
// EventTime. A message with a chunk option is acknowledged when its records are durable; if the
// buffer has no space, it is not acknowledged and the connection is closed, so that the sender retries.
// A repeated message, whose acknowledgement was lost, is acknowledged again but stored only once, also
// after a restart, see package dedupe. It is recognized by its bytes, which include the chunk option. A
// sender that requests no acknowledgement is not read from while the buffer has no space, so it waits.
//
// # Content of a record
//
// The time is the time of the event or the time in its line, see [input.TimeFrom]. The source is the tag. The
// message is the record as a compact JSON object with its members in order. If a record consists of a text named
// log, message or body only, the message is that text without a newline at its end, see [Spec.MessageKey].
// Bytes that are not UTF-8 become U+FFFD in texts, and binary values become base64. A rejected timestamp is kept
// in the member refused_time.
package forward

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"logstow/input"
	"logstow/input/listen"
)

const (
	// DefaultHostname is the server's name in the handshake. It differs from usual host names, because
	// Fluentd rejects a server with its own name.
	DefaultHostname = "logstow"
	// DefaultMaxMemory is the memory limit of all connections together, in bytes: enough for the
	// largest message and its events.
	DefaultMaxMemory = readMemory + parseMemory
	// readMemory is the memory for reading the longest message: its buffer, and the smaller buffer that
	// is copied into it.
	readMemory = 25 << 20
	// parseMemory is the memory for parsing it: the same for decompressed data, and the events and
	// messages of one batch.
	parseMemory = 39 << 20
	// grace is how long received data is flushed after the end.
	grace = 5 * time.Second
)

// Spec configures the input.
type Spec struct {
	// SharedKey is the key that senders and the server must prove to each other in a handshake. ""
	// disables the handshake.
	SharedKey string
	// Users maps the names of the allowed users to passwords. If it is empty, senders need no user. It
	// requires a SharedKey.
	Users map[string]string
	// MessageKey is the name of a member. If it is a text, it is the whole message of a record, and the
	// other members are dropped; otherwise the record is kept as a whole. "" uses a text named log,
	// message or body if a record has no other member.
	MessageKey string
	// KeepRepeated stores repeated messages again.
	KeepRepeated bool
}

// Kind implements [input.Spec].
func (s *Spec) Kind() input.Kind {
	return input.Kind{
		Name: "forward", CheckAddress: listen.CheckAddress,
		Usage: "`ADDRESS`: receive the Fluent Forward protocol, such as :24224; repeatable",
	}
}

// Keys implements [input.Spec].
func (s *Spec) Keys() []input.Key {
	return []input.Key{
		{Name: "shared-key", To: &s.SharedKey},
		{Name: "message-key", To: &s.MessageKey},
		{Name: "users", To: &s.Users},
		{Name: "dedupe-chunks", To: input.Not(&s.KeepRepeated)},
	}
}

// Open implements [input.Spec].
func (s *Spec) Open(ctx context.Context, with input.Opening) (input.Reader, error) {
	return New(ctx, Options{Options: with.Options, Endpoint: with.Endpoint, Spec: *s})
}

// Options configure a [Server].
type Options struct {
	input.Options
	listen.Endpoint
	Spec
	// Hostname is the server's name in the handshake; "" is [DefaultHostname].
	Hostname string
	// MaxMemory limits, in bytes, the memory for long messages on all connections together: 25 MiB while
	// they are read, the rest while they are parsed. A connection for which no memory is available for
	// five seconds is closed. 0 is [DefaultMaxMemory], 64 MiB, which is the minimum.
	MaxMemory int64
}

// Server is one listening server.
type Server struct {
	opts     Options
	receiver *input.Receiver
	listener net.Listener
	// readBudget is for messages, parseBudget for the data made from them. They are separate so that
	// parsing a message does not wait for memory of messages that are being read.
	readBudget, parseBudget *listen.Budget
	connections             listen.Connections
	// malformed counts connections that were closed for a protocol error or an exceeded limit, busy messages that were not acknowledged
	// because the buffer had no space.
	malformed, busy atomic.Int64
}

// New binds the socket. It does not use ctx after it has returned.
func New(ctx context.Context, opts Options) (*Server, error) {
	fail := func(err error) (*Server, error) { return nil, fmt.Errorf("forward input %s: %w", opts.Address, err) }
	opts.Endpoint = opts.Endpoint.WithDefaults()
	opts.Hostname = cmp.Or(opts.Hostname, DefaultHostname)
	opts.MaxMemory = cmp.Or(opts.MaxMemory, DefaultMaxMemory)
	switch {
	case opts.MaxMemory < DefaultMaxMemory:
		return fail(fmt.Errorf("%d bytes for all connections: it must be at least %d", opts.MaxMemory, DefaultMaxMemory))
	case len(opts.Users) > 0 && opts.SharedKey == "":
		return fail(errors.New("users require a shared key, which begins the handshake"))
	}
	receiver, err := input.NewReceiver(opts.Options)
	if err != nil {
		return fail(err)
	}
	opts.Options = receiver.Options()
	config, err := opts.TLS.Config(opts.Log)
	if err != nil {
		return fail(err)
	}
	listener, err := listen.Stream(ctx, "tcp", opts.Address, config)
	if err != nil {
		return nil, fmt.Errorf("forward input: %w", err)
	}
	return &Server{
		opts: opts, receiver: receiver, listener: listener,
		connections: listen.Connections{Endpoint: opts.Endpoint, Name: "forward", Log: opts.Log},
		readBudget:  listen.NewBudget(readMemory, opts.Memory), parseBudget: listen.NewBudget(opts.MaxMemory-readMemory, opts.Memory),
	}, nil
}

// Addr returns the bound address.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close closes the socket of a server that is not running.
func (s *Server) Close() error { return s.listener.Close() }

// Run serves until ctx ends. Then it flushes the messages that it has read, for at most five seconds, and
// closes the socket. An error is one of the socket or of the sink.
func (s *Server) Run(ctx context.Context) error {
	return s.connections.Serve(ctx, s.listener, func(ctx context.Context, c net.Conn) error {
		conn := s.newConn(ctx, c)
		defer conn.close()
		err := conn.serve(ctx)
		var sink sinkError
		if errors.As(err, &sink) {
			return err
		}
		s.logClosed(ctx, c, err)
		return nil
	})
}

// logClosed counts why a connection ended, and logs it if relevant for an operator.
func (s *Server) logClosed(ctx context.Context, c net.Conn, err error) {
	text := "forward connection closed"
	switch {
	case ctx.Err() != nil:
		return
	case errors.Is(err, errMalformed) || errors.Is(err, errTooLong):
		s.malformed.Add(1)
	case errors.Is(err, io.EOF):
		return
	case errors.Is(err, errSlow):
		s.connections.Slow.Add(1)
	case errors.Is(err, errRejected):
		s.connections.Reject(c, err)
		return
	case errors.Is(err, input.ErrBusy):
		s.busy.Add(1)
		text = "no space for a forward message: the sender must retry"
	case errors.Is(err, errNoMemory):
	default:
		s.opts.Log.Debug(text, "sender", c.RemoteAddr().String(), "error", err)
		return
	}
	if s.connections.Limit.Allow() {
		s.opts.Log.Warn(text, "address", s.opts.Address, "sender", c.RemoteAddr().String(), "error", err)
	}
}
