//go:build unix

package faultproxy

import (
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// reserve takes a free port of loopback until it is closed: a socket is bound to it that never
// listens, so that connections are refused while no process listens, and no other process can be
// given the port.
func reserve() (io.Closer, string, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, "", fmt.Errorf("reserve a port: %w", err)
	}
	unix.CloseOnExec(fd)
	f := os.NewFile(uintptr(fd), "reserved port")
	port, err := bind(fd)
	if err != nil {
		_ = f.Close()
		return nil, "", fmt.Errorf("reserve a port: %w", err)
	}
	return f, net.JoinHostPort("127.0.0.1", fmt.Sprint(port)), nil
}

func bind(fd int) (int, error) {
	// Go's listeners set the same option: both may have the port.
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return 0, err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	return name.(*unix.SockaddrInet4).Port, nil
}
