// Package bind describes why a program cannot listen on an address.
package bind

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"logstow/internal/hint"
)

// Error returns the error of listening on an address, with a hint if possible. It wraps the cause.
func Error(address string, err error) error {
	cause := err
	if op := (*net.OpError)(nil); errors.As(err, &op) { // its text names the address too
		cause = op.Err
	}
	failure := fmt.Errorf("cannot listen on %s: %w", address, cause)
	unresolved := (*net.DNSError)(nil)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return hint.Wrap(failure, "another program listens there, or a second copy of this one: end it, or give another address")
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return hint.Wrap(failure, "give an address of this machine: 127.0.0.1, or 0.0.0.0 for all interfaces")
	case errors.As(err, &unresolved):
		return hint.Wrap(failure, "give an IP address of this machine: 127.0.0.1, or 0.0.0.0 for all interfaces")
	case errors.Is(err, syscall.EACCES):
		return hint.Wrap(failure, "a port below 1024 needs root or CAP_NET_BIND_SERVICE, a socket file a directory that is writable")
	}
	return failure
}
