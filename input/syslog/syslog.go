// Package syslog takes log records from syslog senders: RFC 5424 and RFC 3164
// over UDP, TCP (RFC 6587), TLS (RFC 5425) and Unix sockets.
//
// # What a record holds
//
// Time and level are those of the header (a time without a zone is in
// Options.Recognize.Zone), the source is HOST/APP/PROCID as far as they are said,
// with the sender's address where a network message names no host. The message is
// what remains, byte for byte: the text, or in RFC 5424 everything from the message
// id or the structured data on where a message has one. Structured data that says
// only how the message was sent (timeQuality, meta), and the byte order mark
// before the text of RFC 5424, go. A message without a header that can be read, with a
// time that is not taken, or with nothing after its header is kept as it came.
// Options.Raw keeps all as they came: facility, exact severity and the time as
// written are nowhere else.
//
// # What may be lost
//
// A syslog sender is never told that its message was taken. On a stream or a
// Unix socket it waits while the buffer has no room; on UDP what comes then is
// dropped, counted and said. What was read when Run ends is handed over first.
package syslog

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"logstow/input"
	"logstow/input/listen"
)

const (
	// DefaultIdleTimeout is how long a connection may say nothing where nothing else is configured.
	DefaultIdleTimeout = time.Hour
	// DefaultMessageTimeout is how long a message may take from its first byte to its last.
	DefaultMessageTimeout = time.Minute
	// DefaultMaxMemory is what all connections together may hold in memory, in bytes.
	DefaultMaxMemory = listen.ReceiveMemory
	// DefaultReceiveBuffer is what the kernel is asked to hold of datagrams, in bytes.
	DefaultReceiveBuffer = 8 << 20
	// DefaultMode are the permissions of a Unix socket: every local user may log.
	DefaultMode fs.FileMode = 0o666
)

// Options say where to listen and how.
type Options struct {
	input.Options
	// Address is udp://HOST:PORT, tcp://HOST:PORT, unix:///PATH (a stream) or
	// unixgram:///PATH (datagrams, as /dev/log). No host is the loopback interface. Required.
	Address string
	// TLS makes a TCP listener speak TLS.
	TLS listen.TLS
	// MaxConnections is how many connections are served at a time; 0 is [listen.DefaultMaxConnections].
	MaxConnections int
	// Raw keeps messages whole, header and all.
	Raw bool
	// IdleTimeout is how long a connection may say nothing: then it is closed. 0 is [DefaultIdleTimeout].
	IdleTimeout time.Duration
	// MessageTimeout is how long a message on a stream may take from its first byte to its
	// last: then what came of it is a record and the connection is closed. 0 is [DefaultMessageTimeout].
	MessageTimeout time.Duration
	// MaxMemory bounds in bytes the long messages that all connections together hold
	// in memory, and the datagrams that wait to be handed over; a message that finds no
	// room for five seconds is cut. 0 is [DefaultMaxMemory].
	MaxMemory int64
	// ReceiveBuffer is what the kernel is asked to hold of datagrams, in bytes; 0 is [DefaultReceiveBuffer].
	ReceiveBuffer int
	// Mode are the permissions of a Unix socket; 0 is [DefaultMode].
	Mode fs.FileMode
}

// Stats counts what a Server did beside what [input.Stats] counts.
type Stats struct {
	// Dropped datagrams came while there was no room (UDP only); LostByKernel were
	// dropped before they could be read, where the system counts them (Linux).
	Dropped, LostByKernel int64
	// Connections were accepted; Refused were closed for a failed TLS handshake, Slow
	// for a message that did not end in time.
	Connections, Rejected, Slow int64
}

// Server is one listening syslog server.
type Server struct {
	opts     Options
	network  string
	receiver *input.Receiver
	listener net.Listener   // of a stream
	packets  net.PacketConn // or this
	budget   *listen.Budget
	counts   counts
	logLimit listen.Limiter
	// open is how many connections are served.
	open atomic.Int64
}

// counts are Stats that grow.
type counts struct {
	dropped, lostByKernel       atomic.Int64
	connections, rejected, slow atomic.Int64
}

// New binds the socket. ctx is for that alone.
func New(ctx context.Context, opts Options) (*Server, error) {
	network, address, err := ParseAddress(opts.Address)
	if err != nil {
		return nil, err
	}
	if opts.Options, err = opts.WithDefaults(); err != nil {
		return nil, fmt.Errorf("syslog input %s: %w", opts.Address, err)
	}
	opts.IdleTimeout = cmp.Or(opts.IdleTimeout, DefaultIdleTimeout)
	opts.MessageTimeout = cmp.Or(opts.MessageTimeout, DefaultMessageTimeout)
	opts.MaxMemory = cmp.Or(opts.MaxMemory, DefaultMaxMemory)
	opts.ReceiveBuffer = cmp.Or(opts.ReceiveBuffer, DefaultReceiveBuffer)
	opts.Mode = cmp.Or(opts.Mode, DefaultMode)
	receiver, err := input.NewReceiver(opts.Options)
	if err != nil {
		return nil, fmt.Errorf("syslog input %s: %w", opts.Address, err)
	}
	config, err := opts.TLS.Config()
	if err != nil {
		return nil, fmt.Errorf("syslog input %s: %w", opts.Address, err)
	}
	if config != nil && network != "tcp" {
		return nil, fmt.Errorf("syslog input %s: TLS works with tcp:// alone", opts.Address)
	}
	s := &Server{opts: opts, network: network, receiver: receiver, budget: listen.NewBudget(opts.MaxMemory, opts.Memory)}
	if err := s.bind(ctx, address, config); err != nil {
		return nil, fmt.Errorf("syslog input: %w", err)
	}
	return s, nil
}

func (s *Server) bind(ctx context.Context, address string, config *tls.Config) (err error) {
	switch s.network {
	case "tcp", "unix":
		s.listener, err = listen.Stream(ctx, s.network, address, config)
	default:
		s.packets, err = listen.Packets(ctx, s.network, address)
		if err == nil {
			s.setReceiveBuffer()
		}
	}
	if err != nil || !strings.HasPrefix(s.network, "unix") {
		return err
	}
	if err := os.Chmod(address, s.opts.Mode); err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}

// setReceiveBuffer asks for a large receive buffer.
func (s *Server) setReceiveBuffer() {
	if got := receiveBuffer(s.packets, s.opts.ReceiveBuffer); s.network == "udp" && got > 0 && got < s.opts.ReceiveBuffer {
		s.opts.Log.Info("receive buffer for syslog datagrams is smaller than requested: raise net.core.rmem_max to lose fewer in bursts",
			"bytes", got, "wanted", s.opts.ReceiveBuffer)
	}
}

// ParseAddress takes an address of [Options] apart into what package net calls
// network and address.
func ParseAddress(address string) (network, rest string, err error) {
	network, rest, ok := strings.Cut(address, "://")
	switch {
	case !ok:
	case network == "udp" || network == "tcp":
		if err := listen.CheckAddress(rest); err != nil {
			return "", "", fmt.Errorf("syslog address %q: what follows %s:// is %w", address, network, err)
		}
		return network, rest, nil
	case network == "unix" || network == "unixgram":
		if rest == "" {
			return "", "", fmt.Errorf("syslog address %q: a path must follow, as in %s:///run/logstow/log", address, network)
		}
		return network, rest, nil
	}
	return "", "", fmt.Errorf("syslog address %q: it must start with udp://, tcp://, unix:// or unixgram://, as in udp://127.0.0.1:514", address)
}

// Addr is where the server listens.
func (s *Server) Addr() net.Addr {
	if s.listener != nil {
		return s.listener.Addr()
	}
	return s.packets.LocalAddr()
}

// Stats returns what was counted so far.
func (s *Server) Stats() Stats {
	return Stats{
		Dropped: s.counts.dropped.Load(), LostByKernel: s.counts.lostByKernel.Load(),
		Connections: s.counts.connections.Load(), Rejected: s.counts.rejected.Load(), Slow: s.counts.slow.Load(),
	}
}

// Close closes the socket of a server that does not run: what New bound.
func (s *Server) Close() error {
	if s.listener != nil {
		return s.listener.Close()
	}
	err := s.packets.Close()
	if s.network == "unixgram" {
		err = errors.Join(err, os.Remove(s.packets.LocalAddr().String()))
	}
	return err
}

// Run serves until ctx ends; then it hands over what it has read, for at most five
// seconds, and closes the socket. An error is one of the socket or of the sink.
func (s *Server) Run(ctx context.Context) error {
	if s.listener != nil {
		return s.runStream(ctx)
	}
	return s.runPackets(ctx)
}

// grace is how long what was read is handed over after the end.
const grace = 5 * time.Second

// receive hands over what was collected, again and again while the sink has no room.
func (s *Server) receive(ctx context.Context, e *events) error {
	defer e.reset()
	for len(e.list) > 0 {
		_, err := s.receiver.Take(ctx, "", e.list)
		if errors.Is(err, input.ErrBusy) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return fmt.Errorf("hand over %d syslog messages: %w", len(e.list), err)
		}
		return nil
	}
	return nil
}
