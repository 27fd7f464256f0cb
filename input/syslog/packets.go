package syslog

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"logstow/input"
	"logstow/input/listen"
)

// maxReadErrors is after how many consecutive errors reading ends.
const maxReadErrors = 100

// maxDatagram is the maximum size of a datagram that is read completely: UDP has at most 64 KiB, a
// Unix socket its sender's buffer, 208 KiB by default.
const maxDatagram = 512 << 10

// runPackets reads datagrams and passes them on concurrently.
func (s *Server) runPackets(ctx context.Context) error {
	defer func() { _ = s.Close() }()
	// Half of the memory is for waiting datagrams, half for those being passed on.
	q := newQueue(int(s.opts.MaxMemory/2), s.budget)
	reading, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	defer listen.NewReadDeadline(reading, s.packets).Stop()
	handed := make(chan error, 1)
	go func() {
		err := s.handPackets(ctx, q)
		if err != nil {
			fail(err)
			q.close()
			for batch := range q.all() {
				s.counts.dropped.Add(int64(len(batch.ends)))
			}
		}
		handed <- err
	}()
	err := s.readPackets(q)
	if reading.Err() != nil {
		err = nil
	}
	q.close()
	return errors.Join(err, <-handed)
}

// readPackets reads until the socket fails, as it does after its deadline.
func (s *Server) readPackets(q *queue) error {
	buf := make([]byte, maxDatagram)
	oob := make([]byte, 64)
	for failed := 0; ; {
		n, from, err := s.readPacket(buf, oob)
		if err != nil {
			// One datagram may fail without the socket failing.
			if failed++; failed > maxReadErrors || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) {
				return fmt.Errorf("read syslog datagrams: %w", err)
			}
			continue
		}
		failed = 0
		if n == len(buf) {
			s.opts.Stats.Cut.Add(1) // by the kernel, which does not report how much
		}
		text := trimEnd(buf[:n])
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
			s.counts.dropped.Add(1)
			if s.logLimit.Allow() {
				s.opts.Log.Error("syslog datagrams dropped: no space in the buffer", "address", s.opts.Address, "dropped", s.counts.dropped.Load())
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
			s.counts.lostByKernel.Store(lost)
		}
	}
	return n, from.Addr(), err
}

// handPackets passes on waiting datagrams until the queue is closed and empty.
func (s *Server) handPackets(ctx context.Context, q *queue) error {
	late, cancel := input.Grace(ctx, grace)
	defer cancel()
	events := newEvents(&s.opts, s.network == "unixgram")
	var lost int64
	for batch := range q.all() {
		read := s.opts.Now().UnixNano()
		for text, from := range batch.all() {
			if !events.fits(len(text)) {
				if err := s.receive(late, events); err != nil {
					return err
				}
			}
			events.add(text, events.sender(from), read)
		}
		if err := s.receive(late, events); err != nil {
			return err
		}
		if now := s.counts.lostByKernel.Load(); now > lost && s.logLimit.Allow() {
			lost = now
			s.opts.Log.Error("syslog datagrams lost in the kernel: receive buffer full",
				"address", s.opts.Address, "lost", now)
		}
	}
	return nil
}
