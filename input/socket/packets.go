package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"logstow/input"
	"logstow/input/listen"
	"logstow/internal/memo"
)

// maxReadErrors is the number of consecutive errors after which reading ends.
const maxReadErrors = 100

// maxDatagram is the maximum size of a datagram that is read completely. A datagram has at most 64 KiB
// over UDP, and the size of the sender's buffer over a Unix socket, by default 208 KiB.
const maxDatagram = 512 << 10

// runPackets reads datagrams and passes them on concurrently.
func (s *Server) runPackets(ctx context.Context) error {
	defer func() { _ = s.Close() }()
	// Half of the memory is for datagrams that wait, half for those that are being passed on.
	q := newQueue(int(s.opts.MaxMemory/2), s.budget)
	reading, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	deadline := listen.NewReadDeadline(reading, s.packets)
	defer deadline.Stop()
	handed := make(chan error, 1)
	go func() {
		err := s.handPackets(ctx, q)
		if err != nil {
			fail(err)
			q.close()
			for waiting := range q.all() {
				s.opts.Stats.Dropped.Add(int64(len(waiting.ends)))
			}
		}
		handed <- err
	}()
	err := s.readPackets(q, deadline)
	if reading.Err() != nil {
		err = nil
	}
	q.close()
	return errors.Join(err, <-handed)
}

// readPackets reads datagrams into the queue until the socket fails or its deadline passes.
func (s *Server) readPackets(q *queue, deadline *listen.ReadDeadline) error {
	buf := make([]byte, maxDatagram)
	oob := make([]byte, 64)
	for failed := 0; ; {
		var from netip.Addr
		n, err := deadline.Read(func() (n int, err error) {
			n, from, err = s.readPacket(buf, oob)
			return n, err
		})
		if err != nil {
			// One datagram may fail without the socket failing.
			if failed++; failed > maxReadErrors || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) {
				return fmt.Errorf("read %s datagrams: %w", s.protocol.Name, err)
			}
			continue
		}
		failed = 0
		if n == len(buf) {
			s.opts.NoteCut() // by the kernel, which does not report how much
		}
		text := buf[:n]
		if s.protocol.Unpacker == nil {
			text = TrimEnd(text)
		}
		if len(text) == 0 {
			continue
		}
		if s.network == "unixgram" {
			if !q.wait(text, from) {
				return nil
			}
			continue
		}
		if !q.put(text, from) {
			s.opts.Stats.Dropped.Add(1)
			if s.Connections.Limit.Allow() {
				s.opts.Log.Error(s.protocol.Name+" datagrams dropped: no space in the buffer",
					"address", s.opts.Address, "dropped", s.opts.Stats.Dropped.Load())
			}
		}
	}
}

// readPacket reads one datagram.
func (s *Server) readPacket(buf, oob []byte) (int, netip.Addr, error) {
	udp, ok := s.packets.(*net.UDPConn)
	if !ok {
		n, err := s.packets.(*net.UnixConn).Read(buf)
		return n, netip.Addr{}, err
	}
	n, oobn, _, from, err := udp.ReadMsgUDPAddrPort(buf, oob)
	if err == nil && oobn > 0 {
		if lost, ok := kernelDrops(oob[:oobn]); ok {
			s.opts.Stats.LostByKernel.Add(lost - s.kernelDrops)
			s.kernelDrops = lost
		}
	}
	return n, from.Addr(), err
}

// handPackets passes on waiting datagrams until the queue is closed and empty.
func (s *Server) handPackets(ctx context.Context, q *queue) error {
	flushing, cancel := input.Grace(ctx, grace)
	defer cancel()
	collected := s.newBatch(s.network == "unixgram")
	defer collected.reset()
	unpacked := s.newUnpacker()
	defer unpacked.Close()
	senders := memo.Map[netip.Addr, string]{}
	lost := s.opts.Stats.LostByKernel.Load()
	for waiting := range q.all() {
		read := s.opts.Now().UnixNano()
		for datagram, from := range waiting.all() {
			if unpacked.Held() > keepSize {
				if err := s.receive(flushing, collected); err != nil {
					return err
				}
				unpacked.Recycle()
			}
			message, err := unpacked.Unpack(datagram, from)
			if err != nil {
				s.countInvalid(err)
			}
			if len(message) == 0 {
				continue
			}
			if !collected.fits(len(message)) {
				if err := s.receive(flushing, collected); err != nil {
					return err
				}
			}
			collected.add(message, senders.Get(from, func() string { return host(from) }), read)
		}
		if err := s.receive(flushing, collected); err != nil {
			return err
		}
		unpacked.Recycle()
		if now := s.opts.Stats.LostByKernel.Load(); now > lost && s.Connections.Limit.Allow() {
			lost = now
			s.opts.Log.Error(s.protocol.Name+" datagrams lost in the kernel: receive buffer full",
				"address", s.opts.Address, "lost", now)
		}
	}
	return nil
}

// newUnpacker returns the protocol's unpacker.
func (s *Server) newUnpacker() Unpacker {
	if s.protocol.Unpacker == nil {
		return datagrams{}
	}
	return s.protocol.Unpacker(&s.opts, s.budget, func(messages int) {
		if all := s.opts.Stats.Incomplete.Add(int64(messages)); s.Connections.Limit.Allow() {
			s.opts.Log.Warn(s.protocol.Name+" messages dropped: not all of their chunks arrived", "address", s.opts.Address, "dropped", all)
		}
	})
}

// countInvalid counts and logs a datagram that could not be unpacked.
func (s *Server) countInvalid(err error) {
	count := &s.opts.Stats.Invalid
	if errors.Is(err, ErrNoMemory) {
		count = &s.opts.Stats.Dropped
	}
	if all := count.Add(1); s.Connections.Limit.Allow() {
		s.opts.Log.Warn(s.protocol.Name+" datagrams dropped", "address", s.opts.Address, "error", err, "dropped", all)
	}
}

// datagrams is the [Unpacker] for protocols in which each datagram is a message.
type datagrams struct{}

// Unpack implements [Unpacker].
func (datagrams) Unpack(datagram []byte, _ netip.Addr) ([]byte, error) { return datagram, nil }

// Held implements [Unpacker].
func (datagrams) Held() int { return 0 }

// Recycle implements [Unpacker].
func (datagrams) Recycle() {}

// Close implements [Unpacker].
func (datagrams) Close() {}
