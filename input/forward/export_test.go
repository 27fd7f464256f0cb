package forward

import "net"

// Listen makes a server that does not run yet accept from a listener instead of its socket.
func (s *Server) Listen(l net.Listener) {
	_ = s.listener.Close()
	s.listener = l
}
