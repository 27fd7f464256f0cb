package forward

import "net"

// Listen makes a server that does not run yet accept from a listener instead of its socket.
func (s *Server) Listen(l net.Listener) {
	_ = s.listener.Close()
	s.listener = l
}

// Stats counts events of a Server in addition to [input.Stats].
type Stats struct {
	// Connections were accepted; Rejected were closed for a failed TLS or shared-key handshake,
	// Slow for a message that did not end in time, Malformed for a protocol error or an exceeded
	// limit.
	Connections, Rejected, Slow, Malformed int64
	// Busy messages were not acknowledged because the buffer had no space. Repeated messages were sent
	// again after all or some of their events had been stored.
	Busy, Repeated int64
}

// Stats returns the current counts.
func (s *Server) Stats() Stats {
	return Stats{
		Connections: s.connections.Accepted.Load(), Rejected: s.connections.Rejected.Load(), Slow: s.connections.Slow.Load(),
		Malformed: s.malformed.Load(), Busy: s.busy.Load(), Repeated: s.opts.Stats.Repeated.Load(),
	}
}
