//go:build !linux

package socket

import "net"

// receiveBuffer requests a receive buffer of a size. It returns 0, because the actual size is unknown.
func receiveBuffer(c net.PacketConn, size int) (got int) {
	if b, ok := c.(interface{ SetReadBuffer(bytes int) error }); ok {
		_ = b.SetReadBuffer(size)
	}
	return 0
}

// kernelDrops would return the number of dropped datagrams, which this system does not count.
func kernelDrops([]byte) (int64, bool) { return 0, false }
