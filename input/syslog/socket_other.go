//go:build !linux

package syslog

import "net"

// receiveBuffer asks for a receive buffer of so many bytes; what it got is not known: 0.
func receiveBuffer(c net.PacketConn, size int) (got int) {
	if b, ok := c.(interface{ SetReadBuffer(bytes int) error }); ok {
		_ = b.SetReadBuffer(size)
	}
	return 0
}

// kernelDrops would read how many datagrams were dropped; here nobody counts them.
func kernelDrops([]byte) (int64, bool) { return 0, false }
