// Package serve is the HTTP server of logq: it listens, identifies requests, limits them, logs them and hands them to the API
// that answers them.
package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"logstow/internal/hint"
	"logstow/metrics"
	"logstow/serve/access"
	"logstow/serve/limits"
	"logstow/serve/tailwatch"
)

// Options configure a [Server].
type Options struct {
	// Listen is HOST:PORT; binds to loopback if no host is given. Other addresses need Tokens.
	Listen string
	// Cert and Key are PEM files, both or none. They are read again when they change.
	Cert, Key string
	// BehindProxy states that clients use HTTPS up to a proxy. Its headers are not read.
	BehindProxy bool
	// Tokens are those that requests need; nil is none.
	Tokens *access.Tokens
	// Hosts are names that requests may use for the server, beside those of loopback.
	Hosts []string
	// API answers all requests that the server does not. Their contexts have an [access.Identity] and a [limits.Query]; their
	// bodies are in memory and their forms parsed. It may panic with [http.ErrAbortHandler] to end a response unfinished.
	API http.Handler
	// Page serves / and /assets/, without a token: it must have nothing that is not public. nil is none.
	Page http.Handler
	// Limits are those of queries; [New] sets their OtherCost.
	Limits limits.Options
	// Metrics serves /metrics; Requests are the requests to storage, nil omits them. Version is that of the program.
	Metrics  bool
	Requests *metrics.Requests
	Version  string
	// Watches are those of live tails, for metrics and the limit of a day; nil is none.
	Watches *tailwatch.Watches
	// Log receives operational messages and a line for each request; nil discards them.
	Log *slog.Logger

	// times are shorter in tests.
	times times
}

// times are the timeouts of a server.
type times struct {
	// header bounds reading a request's header, read that and its body, idle the pause between requests.
	header, read, idle time.Duration
	// write bounds writing up to 32 KiB of a response.
	write time.Duration
	// drain is the time for requests to end after the server stops accepting them; then they are canceled and have closing.
	drain, closing time.Duration
}

func defaultTimes() times {
	return times{
		header: 10 * time.Second, read: 30 * time.Second, idle: 2 * time.Minute,
		write: 30 * time.Second, drain: 10 * time.Second, closing: 5 * time.Second,
	}
}

// Check completes options and reports what is wrong with them. [New] calls it.
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
		return hint.Wrap(errors.New("TLS needs a certificate and its key"), "give both --tls-cert and --tls-key")
	}
	o.Listen = net.JoinHostPort(host, port)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.times == (times{}) {
		o.times = defaultTimes()
	}
	return nil
}

// secure reports whether clients use HTTPS.
func (o *Options) secure() bool { return o.Cert != "" || o.BehindProxy }
