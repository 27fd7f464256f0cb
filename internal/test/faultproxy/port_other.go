//go:build !unix

package faultproxy

import (
	"context"
	"io"
	"net"
)

// reserve finds a free port of loopback. Nothing keeps others from it during an outage.
func reserve() (io.Closer, string, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	return io.NopCloser(nil), l.Addr().String(), l.Close()
}
