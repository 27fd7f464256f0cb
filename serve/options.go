// Package serve is the HTTP server of logq: it listens, identifies, limits and logs requests, and passes them on to the handler of
// the API.
package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"logstow/internal/descriptors"
	"logstow/internal/hint"
	"logstow/internal/logging"
	"logstow/metrics"
	"logstow/serve/access"
	"logstow/serve/limits"
	"logstow/serve/tailwatch"
)

// Options configure a [Server].
type Options struct {
	// Listen is HOST:PORT. Without a host the server listens on loopback. Other addresses require Tokens.
	Listen string
	// Cert and Key are PEM files, both or none. They are read again when they change.
	Cert, Key string
	// BehindProxy is set if clients use HTTPS to a proxy in front of the server. The proxy's headers are ignored.
	BehindProxy bool
	// Tokens are the valid tokens. If it is nil, requests need no token.
	Tokens *access.Tokens
	// Hosts are the names of the server that requests may use, in addition to those of loopback.
	Hosts []string
	// API handles all other requests. Their contexts contain an [access.Identity] and, if limits apply, a [limits.Query]. Their
	// bodies are in memory and their forms are parsed. It may panic with [http.ErrAbortHandler] to abort a response.
	API http.Handler
	// Page serves / and /assets/. Requests for it need no token, so it must be public. It may be nil.
	Page http.Handler
	// Limits are the limits of queries. [New] sets OtherCost if there are Watches.
	Limits limits.Options
	// Metrics enables /metrics. Requests are the requests to storage; nil omits them. Version is the version of the program.
	Metrics  bool
	Requests *metrics.Requests
	Version  string
	// Watches are the watches of live tails, for metrics and the daily cost limit. It may be nil.
	Watches *tailwatch.Watches
	// Log receives operational messages and one message per request. It may be nil.
	Log *slog.Logger

	// connections is the maximum number of open connections, times are the timeouts; both are less in tests.
	connections int
	times       times
}

// times are the timeouts of a server.
type times struct {
	// header limits reading the header of a request, read reading the header and the body, idle the time between requests of a
	// connection.
	header, read, idle time.Duration
	// write limits writing writeChunk bytes of a response.
	write time.Duration
	// drain is how long running requests may continue after the server has stopped accepting others. Then they are canceled, and
	// closing limits the wait for their ends.
	drain, closing time.Duration
}

func defaultTimes() times {
	return times{
		header: 10 * time.Second, read: 30 * time.Second, idle: 2 * time.Minute,
		write: 30 * time.Second, drain: 10 * time.Second, closing: 5 * time.Second,
	}
}

// maxConnections is the maximum number of open connections, if there are descriptors for as many.
const maxConnections = 512

// Check validates options and sets defaults. [New] calls it.
func (o *Options) Check() error {
	if err := o.check(); err != nil {
		return fmt.Errorf("cannot listen on %s: %w", o.Listen, err)
	}
	return nil
}

func (o *Options) check() error {
	host, port, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return errors.New("want HOST:PORT, for example 127.0.0.1:3100")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return errors.New("want a port from 0 to 65535")
	}
	if host == "" {
		host = "127.0.0.1"
	}
	if !isLoopback(host) && o.Tokens == nil {
		return hint.Wrap(errors.New("an address that is not loopback needs tokens"), "give --tokens FILE, or listen on 127.0.0.1")
	}
	if (o.Cert == "") != (o.Key == "") {
		return hint.Wrap(errors.New("TLS requires a certificate and its key"), "give both --tls-cert and --tls-key")
	}
	o.Listen = net.JoinHostPort(host, port)
	o.Log = logging.OrDiscard(o.Log)
	if o.connections == 0 {
		share, _ := descriptors.Divide(descriptors.Limit())
		o.connections = share.Take(maxConnections, 0)
	}
	if o.times == (times{}) {
		o.times = defaultTimes()
	}
	return nil
}

// secure reports whether clients use HTTPS.
func (o *Options) secure() bool { return o.Cert != "" || o.BehindProxy }
