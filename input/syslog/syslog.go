// Package syslog receives log records from syslog senders: RFC 5424 and RFC 3164 over UDP, TCP (RFC
// 6587), TLS (RFC 5425) and Unix sockets.
//
// # Content of a record
//
// Time and level are those of the header (a time without a zone is in Options.Recognize.Zone), the
// source is HOST/APP/PROCID as far as known, with the sender's address if a network message names
// no host. The message is the rest, byte for byte: the text, or in RFC 5424 everything from the
// message id or the structured data on if a message has one. Structured data that only describes
// the transport (timeQuality, meta), and the byte order mark before the text of RFC 5424, are
// removed. A message without a readable header, with a rejected timestamp, or with nothing after
// its header is kept as received. Options.Raw keeps all as received: facility, exact severity and
// the time as written are kept nowhere else.
//
// # Loss
//
// A syslog sender gets no acknowledgement. On a stream or a Unix socket it waits while the buffer
// has no space; on UDP messages that arrive meanwhile are dropped, counted and logged. Messages
// that were read when Run ends are flushed first.
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
	// DefaultIdleTimeout is how long a connection may be silent by default.
	DefaultIdleTimeout = time.Hour
	// DefaultMessageTimeout is how long a message may take from its first byte to its last.
	DefaultMessageTimeout = time.Minute
	// DefaultMaxMemory is the memory limit of all connections together, in bytes.
	DefaultMaxMemory = listen.ReceiveMemory
	// DefaultReceiveBuffer is the requested size of the kernel's receive buffer for datagrams, in
	// bytes.
	DefaultReceiveBuffer = 8 << 20
	// DefaultMode are the permissions of a Unix socket: every local user may log.
	DefaultMode fs.FileMode = 0o666
)

// Options configure a [Server].
type Options struct {
	// Options: the time of a message's header is preferred unless TimeFrom is set.
	input.Options
	// Address is udp://HOST:PORT, tcp://HOST:PORT, unix:///PATH (a stream) or unixgram:///PATH
	// (datagrams, as /dev/log). Binds to loopback if no host is given. Required.
	Address string
	// TLS makes a TCP listener speak TLS.
	TLS listen.TLS
	// MaxConnections is the maximum number of concurrent connections; 0 is
	// [listen.DefaultMaxConnections].
	MaxConnections int
	// Raw keeps messages complete, including the header.
	Raw bool
	// IdleTimeout is how long a connection may be silent before it is closed. 0 is
	// [DefaultIdleTimeout].
	IdleTimeout time.Duration
	// MessageTimeout is how long a message on a stream may take from its first byte to its last:
	// then the received part becomes a record and the connection is closed. 0 is
	// [DefaultMessageTimeout].
	MessageTimeout time.Duration
	// MaxMemory bounds in bytes the memory of long messages on all connections, and of datagrams
	// that wait to be passed on; a message that gets no memory for five seconds is truncated. 0 is
	// [DefaultMaxMemory].
	MaxMemory int64
	// ReceiveBuffer is the requested size of the kernel's receive buffer for datagrams, in bytes; 0
	// is [DefaultReceiveBuffer].
	ReceiveBuffer int
	// Mode are the permissions of a Unix socket; 0 is [DefaultMode].
	Mode fs.FileMode
}

// Stats counts events of a Server in addition to [input.Stats].
type Stats struct {
	// Dropped datagrams arrived while there was no space (UDP only); LostByKernel were dropped
	// before they could be read, if the system counts them (Linux).
	Dropped, LostByKernel int64
	// Connections were accepted; Rejected were closed for a failed TLS handshake, Slow for a
	// message that did not end in time.
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
	// open is the number of open connections.
	open atomic.Int64
}

// counts are the current Stats.
type counts struct {
	dropped, lostByKernel       atomic.Int64
	connections, rejected, slow atomic.Int64
}

// New binds the socket. ctx is for binding only.
func New(ctx context.Context, opts Options) (*Server, error) {
	network, address, err := ParseAddress(opts.Address)
	if err != nil {
		return nil, err
	}
	if opts.Options, err = opts.WithDefaults(); err != nil {
		return nil, fmt.Errorf("syslog input %s: %w", opts.Address, err)
	}
	opts.TimeFrom = cmp.Or(opts.TimeFrom, input.TimeProtocol)
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

// setReceiveBuffer requests a large receive buffer.
func (s *Server) setReceiveBuffer() {
	if got := receiveBuffer(s.packets, s.opts.ReceiveBuffer); s.network == "udp" && got > 0 && got < s.opts.ReceiveBuffer {
		s.opts.Log.Info("receive buffer for syslog datagrams is smaller than requested: raise net.core.rmem_max to lose fewer in bursts",
			"bytes", got, "wanted", s.opts.ReceiveBuffer)
	}
}

// ParseAddress splits an address of [Options] into package net's network and address.
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

// Addr is the bound address.
func (s *Server) Addr() net.Addr {
	if s.listener != nil {
		return s.listener.Addr()
	}
	return s.packets.LocalAddr()
}

// Stats returns the current counts.
func (s *Server) Stats() Stats {
	return Stats{
		Dropped: s.counts.dropped.Load(), LostByKernel: s.counts.lostByKernel.Load(),
		Connections: s.counts.connections.Load(), Rejected: s.counts.rejected.Load(), Slow: s.counts.slow.Load(),
	}
}

// Close closes the socket of a server that is not running.
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

// Run serves until ctx ends; then it flushes what it has read, for at most five seconds, and closes
// the socket. An error is one of the socket or of the sink.
func (s *Server) Run(ctx context.Context) error {
	if s.listener != nil {
		return s.runStream(ctx)
	}
	return s.runPackets(ctx)
}

// grace is how long received data is flushed after the end.
const grace = 5 * time.Second

// receive passes the collected messages on, retrying while the sink has no space.
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
