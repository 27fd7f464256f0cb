package socket

import "net"

// Listen makes a server of streams that does not run yet accept from a listener instead of its socket.
func (s *Server) Listen(l net.Listener) {
	_ = s.listener.Close()
	s.listener = l
}
