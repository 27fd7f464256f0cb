// Package socket receives messages over UDP, TCP, TLS and Unix sockets, for protocols without
// acknowledgement.
//
// On a stream or a Unix socket, senders wait while the buffer has no space. UDP datagrams that arrive
// meanwhile are dropped, counted and logged. At its end, Run flushes the messages that it has read.
package socket

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"logstow/input"
	"logstow/input/listen"
	"logstow/internal/list"
)

const (
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
	// TimeFrom is [input.TimeProtocol] by default.
	input.Options
	// Endpoint has an address that is udp://HOST:PORT, tcp://HOST:PORT, unix:///PATH (a stream) or unixgram:///PATH
	// (datagrams), if the protocol supports it. TLS is allowed for tcp only. The received part of a message that takes longer than
	// MessageTimeout becomes a record.
	listen.Endpoint
	// MaxMemory limits, in bytes, the memory of long messages on all connections together, of
	// datagrams that wait to be passed on, and of attributes. A message for which no memory is available for five seconds
	// is truncated; one for whose attributes there is none is the message as received. 0 is [DefaultMaxMemory].
	MaxMemory int64
	// ReceiveBuffer is the requested size of the kernel's receive buffer for datagrams, in bytes; 0
	// is [DefaultReceiveBuffer].
	ReceiveBuffer int
	// Mode are the permissions of a Unix socket; 0 is [DefaultMode].
	Mode fs.FileMode
}

// Protocol describes a protocol.
type Protocol struct {
	// Name is the name of the input, also in errors and logs.
	Name string
	// Port is its usual port, for examples.
	Port int
	// Networks are the supported ones of udp, tcp, unix and unixgram.
	Networks []string
	// Framing returns how a stream is split into messages; local is set for a Unix socket.
	Framing func(local bool) Framing
	// Attributes is set if events may have attributes.
	Attributes bool
	// Parser returns the parser for a connection or a datagram socket.
	Parser func(opts *Options, local bool) Parser
	// Unpacker returns the unpacker for a datagram socket. If it is nil, each datagram is a message, and a
	// newline or NUL at its end is removed. The unpacker reserves memory from budget, and calls
	// incomplete, which is safe for concurrent use, with the number of messages that remained incomplete.
	Unpacker func(opts *Options, budget *listen.Budget, incomplete func(messages int)) Unpacker
}

// Parser converts messages to events. It is used by one goroutine.
type Parser interface {
	// Parse converts a message as received to an event. The event may point into the message, and Parse
	// may change the message. service is "" for the configured service. sender is the address of the
	// host, or "" on a Unix socket. read is when the message was read, in Unix nanoseconds. If an event's attributes would have
	// more than most bytes, it has none, and its message has all that was received.
	Parse(message []byte, sender string, read int64, most int) (service string, e input.Event)
}

// Unpacker extracts messages from datagrams. It is used by one goroutine.
type Unpacker interface {
	// Unpack returns the message that a datagram contains or completes, or nil if more datagrams are
	// needed. The message is valid until Recycle, and as long as the datagram. The error is [ErrNoMemory],
	// or the datagram is malformed.
	Unpack(datagram []byte, from netip.Addr) (message []byte, err error)
	// Held returns the memory of the messages since the last Recycle, in bytes.
	Held() int
	// Recycle invalidates these messages and reuses their memory.
	Recycle()
	// Close releases all memory.
	Close()
}

// ErrNoMemory reports that there is no memory for a message.
var ErrNoMemory = errors.New("no memory for the message")

// Server is one listening server.
type Server struct {
	opts     Options
	protocol Protocol
	network  string
	receiver *input.Receiver
	listener net.Listener   // for streams, otherwise nil
	packets  net.PacketConn // for datagrams, otherwise nil
	budget   *listen.Budget
	// Connections also limits the log of datagrams.
	Connections listen.Connections
	// kernelDrops is the number of datagrams that the kernel has dropped since the socket was opened.
	kernelDrops int64
}

// New binds the socket of a protocol. It does not use ctx after it has returned. The caller must call Run or
// Close.
func New(ctx context.Context, opts Options, protocol Protocol) (*Server, error) {
	network, address, err := protocol.parseAddress(opts.Address)
	if err != nil {
		return nil, err
	}
	opts.TimeFrom = cmp.Or(opts.TimeFrom, input.TimeProtocol)
	opts.Endpoint = opts.Endpoint.WithDefaults()
	opts.MaxMemory = cmp.Or(opts.MaxMemory, DefaultMaxMemory)
	opts.ReceiveBuffer = cmp.Or(opts.ReceiveBuffer, DefaultReceiveBuffer)
	opts.Mode = cmp.Or(opts.Mode, DefaultMode)
	receiver, err := input.NewReceiver(opts.Options)
	if err != nil {
		return nil, fmt.Errorf("%s input %s: %w", protocol.Name, opts.Address, err)
	}
	opts.Options = receiver.Options()
	config, err := opts.TLS.Config(opts.Log)
	if err != nil {
		return nil, fmt.Errorf("%s input %s: %w", protocol.Name, opts.Address, err)
	}
	if config != nil && network != "tcp" {
		return nil, fmt.Errorf("%s input %s: TLS works with tcp:// alone", protocol.Name, opts.Address)
	}
	s := &Server{
		opts: opts, protocol: protocol, network: network, receiver: receiver,
		budget:      listen.NewBudget(opts.MaxMemory, opts.Memory),
		Connections: listen.Connections{Endpoint: opts.Endpoint, Name: protocol.Name, Log: opts.Log},
	}
	if err := s.bind(ctx, address, config); err != nil {
		return nil, fmt.Errorf("%s input: %w", protocol.Name, err)
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
		s.opts.Log.Info("receive buffer for "+s.protocol.Name+" datagrams is smaller than requested: raise net.core.rmem_max to lose fewer in bursts",
			"bytes", got, "wanted", s.opts.ReceiveBuffer)
	}
}

// Kind describes the kind of input that receives a protocol; usage is that of its flag.
func (p Protocol) Kind(usage string) input.Kind {
	return input.Kind{Name: p.Name, Usage: usage, CheckAddress: func(address string) error {
		_, _, err := p.parseAddress(address)
		return err
	}}
}

// parseAddress splits an address of [Options] into package net's network and address.
func (p *Protocol) parseAddress(address string) (network, rest string, err error) {
	network, rest, ok := strings.Cut(address, "://")
	switch {
	case !ok || !slices.Contains(p.Networks, network):
	case network == "udp" || network == "tcp":
		if err := listen.CheckAddress(rest); err != nil {
			return "", "", fmt.Errorf("%s address %q: after %s://: %w", p.Name, address, network, err)
		}
		return network, rest, nil
	default:
		if rest == "" {
			return "", "", fmt.Errorf("%s address %q: a path must follow, as in %s:///run/logstow/log", p.Name, address, network)
		}
		return network, rest, nil
	}
	return "", "", fmt.Errorf("%s address %q: it must start with %s, as in udp://127.0.0.1:%d", p.Name, address, p.schemes(), p.Port)
}

// schemes lists the schemes of addresses.
func (p *Protocol) schemes() string {
	schemes := make([]string, len(p.Networks))
	for i, network := range p.Networks {
		schemes[i] = network + "://"
	}
	return list.Alternatives(schemes)
}

// Addr returns the bound address.
func (s *Server) Addr() net.Addr {
	if s.listener != nil {
		return s.listener.Addr()
	}
	return s.packets.LocalAddr()
}

// Stats returns the counts of the input.
func (s *Server) Stats() *input.Stats { return s.opts.Stats }

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

// Run serves until ctx ends. Then it flushes the messages that it has read, for at most five seconds, and
// closes the socket. An error is one of the socket or of the sink.
func (s *Server) Run(ctx context.Context) error {
	if s.listener != nil {
		return s.runStream(ctx)
	}
	return s.runPackets(ctx)
}

// grace limits the time to flush received messages after ctx has ended.
const grace = 5 * time.Second

// receive passes the collected messages on to the sink. It retries while the sink has no space.
func (s *Server) receive(ctx context.Context, b *batch) error {
	defer b.reset()
	for service, events := range b.all() {
		if err := s.take(ctx, service, events); err != nil {
			return fmt.Errorf("hand over %d %s messages: %w", len(events), s.protocol.Name, err)
		}
	}
	return nil
}

// take passes messages on to the sink. Messages that are too large for the sink together are divided. A single message that is
// too large is dropped, because no data of a sender may end the input.
func (s *Server) take(ctx context.Context, service string, events []input.Event) error {
	_, err := s.receiver.Take(ctx, service, events)
	for errors.Is(err, input.ErrBusy) && ctx.Err() == nil {
		_, err = s.receiver.Take(ctx, service, events)
	}
	if !errors.Is(err, input.ErrTooLarge) {
		return err
	}
	if half := len(events) / 2; half > 0 {
		if err := s.take(ctx, service, events[:half]); err != nil {
			return err
		}
		return s.take(ctx, service, events[half:])
	}
	if all := s.opts.Stats.Dropped.Add(1); s.Connections.Limit.Allow() {
		s.opts.Log.Error(s.protocol.Name+" messages dropped: too large for the buffer",
			"address", s.opts.Address, "dropped", all, "error", err)
	}
	return nil
}
