package azure

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"logstow/internal/certs"
)

// idlePerHost is the maximum number of idle connections to each of the two services. It is the maximum
// number of requests that logq has in flight, so that none of them needs a new connection.
const idlePerHost = 64

// newTransport makes the store's own transport, which trusts the authorities in caFile ("" is none)
// in addition to the system's. It never requests compression: net/http would then decompress, and a
// range of a gzip blob is not valid gzip.
func newTransport(caFile string) (*http.Transport, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if caFile != "" {
		var err error
		if config.RootCAs, err = certs.Authorities(caFile); err != nil {
			return nil, err
		}
	}
	return &http.Transport{
		Proxy:                 proxy,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSClientConfig:       config,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 2 * time.Minute,
		MaxIdleConnsPerHost:   idlePerHost,
		IdleConnTimeout:       90 * time.Second,
		DisableCompression:    true,
		WriteBufferSize:       64 << 10,
		ReadBufferSize:        64 << 10,
	}, nil
}

// proxy returns the proxy from the environment (HTTPS_PROXY, NO_PROXY), except for link-local addresses: a
// managed identity's tokens come from such an address, which no proxy can reach.
func proxy(r *http.Request) (*url.URL, error) {
	if ip := net.ParseIP(r.URL.Hostname()); ip != nil && ip.IsLinkLocalUnicast() {
		return nil, nil //nolint:nilnil // no proxy and no error is what net/http expects
	}
	return http.ProxyFromEnvironment(r)
}

// newHTTPClient returns a client that follows no redirects: storage sends none, and a signed address must not
// be sent to another host.
func newHTTPClient(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// shouldRetry reports whether the SDK sends a request again. After a timeout it does not: the caller has waited for long, and
// decides.
func shouldRetry(response *http.Response, err error) bool {
	if err != nil {
		var late net.Error
		return !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded) &&
			(!errors.As(err, &late) || !late.Timeout())
	}
	return runtime.HasStatusCode(response, http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout)
}
