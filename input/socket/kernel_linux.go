package socket

import (
	"encoding/binary"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// receiveBuffer requests a receive buffer of a size, above the system's limit if this process has the
// permission, and enables kernelDrops. It returns the actual size, or 0 if it is unknown.
func receiveBuffer(c net.PacketConn, size int) (got int) {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return 0
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		s := int(fd)
		if unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, size) != nil {
			_ = unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_RCVBUF, size)
		}
		_ = unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1)
		if n, err := unix.GetsockoptInt(s, unix.SOL_SOCKET, unix.SO_RCVBUF); err == nil {
			got = n / 2 // the kernel doubles it for its own needs
		}
	})
	return got
}

// kernelDrops reads the count of datagrams dropped since the socket was opened.
func kernelDrops(oob []byte) (int64, bool) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return 0, false
	}
	for _, m := range messages {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_RXQ_OVFL && len(m.Data) >= 4 {
			return int64(binary.NativeEndian.Uint32(m.Data)), true
		}
	}
	return 0, false
}
