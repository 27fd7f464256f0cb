package azure

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// idlePerHost is the number of idle connections kept to each of the two
// services: the number of requests that logq has in flight at most, so that
// none of them needs a new connection.
const idlePerHost = 64

// newTransport makes the store's own transport. It never asks for compression:
// net/http would then decompress by itself, and a range of a gzip blob is no gzip.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 2 * time.Minute,
		MaxIdleConnsPerHost:   idlePerHost,
		IdleConnTimeout:       90 * time.Second,
		DisableCompression:    true,
		WriteBufferSize:       64 << 10,
		ReadBufferSize:        64 << 10,
	}
}

// newHTTPClient follows no redirects: storage sends none, and a signed address
// must not be given to another host.
func newHTTPClient(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
