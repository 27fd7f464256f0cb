// Package httpserver is the HTTP server of the inputs over HTTP. It limits connections, headers, bodies and
// their memory.
package httpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"logstow/input"
	"logstow/input/listen"
	"logstow/internal/connlimit"
	"logstow/internal/httpframing"
	"logstow/internal/logging"
)

const (
	headerTimeout = 10 * time.Second
	// readTimeout limits the time to receive a whole request, including a body that is sent slowly.
	readTimeout = time.Minute
	// writeTimeout limits the time of a request and its response. It leaves time for the buffer's fsync.
	writeTimeout = 2 * time.Minute
	idleTimeout  = 2 * time.Minute
	// grace is how long current requests may take after shutdown has begun.
	grace = 5 * time.Second

	maxHeader = 64 << 10
	// maxStreams is the number of concurrent requests of one HTTP/2 connection.
	maxStreams = 64
	// maxRequests is the number of concurrent requests over HTTP/2 of all connections.
	maxRequests = 512
	// connectionWindow and streamWindow limit the bytes that HTTP/2 clients send before they are read.
	connectionWindow = 128 << 10
	streamWindow     = 64 << 10
	// maxFrame is the largest frame of HTTP/2, the smallest that may be chosen: each connection keeps a buffer of this size.
	maxFrame = 16 << 10
)

// Options configure a [Server].
type Options struct {
	// Endpoint is where the server listens. With TLS it is HTTPS; without it the server serves HTTP/1 and cleartext HTTP/2. Requests
	// on connections above the maximum get status 503.
	listen.Endpoint
	// Login holds the accepted credentials.
	Login Login
	// Accepts says what the inputs accept at which paths, for the response to other requests. It may be empty.
	Accepts string
	// Denied counts requests with a failed login; it may be nil.
	Denied *atomic.Int64
	// Log receives operational messages. It may be nil.
	Log *slog.Logger
}

// Routes are the paths that an input handles.
type Routes interface {
	Register(mux *http.ServeMux)
}

// Server serves inputs on one address.
type Server struct {
	opts     Options
	tls      *tls.Config
	listener net.Listener
	mux      *http.ServeMux
	logLimit logging.Limiter
}

// New binds the address. The caller must call Run or Close.
func New(ctx context.Context, opts Options, routes ...Routes) (*Server, error) {
	if opts.Address == "" {
		return nil, errors.New("an HTTP input requires an address, such as 127.0.0.1:4318")
	}
	opts.Endpoint = opts.WithDefaults()
	opts.Log = logging.OrDiscard(opts.Log)
	s := &Server{opts: opts, mux: http.NewServeMux()}
	for _, r := range routes {
		r.Register(s.mux)
	}
	var err error
	if s.tls, err = opts.TLS.Config(opts.Log, "h2", "http/1.1"); err != nil {
		return nil, err
	}
	s.listener, err = listen.Stream(ctx, "tcp", opts.Address, nil)
	return s, err
}

// Addr returns the bound address.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close closes the socket of a server that is not running.
func (s *Server) Close() error { return s.listener.Close() }

// Run serves until ctx ends. Then it waits a few seconds for current requests, closes all connections and waits
// for their goroutines.
func (s *Server) Run(ctx context.Context) error {
	flushing, cancel := input.Grace(ctx, grace)
	defer cancel()
	var serving sync.WaitGroup
	server := s.server(ctx, flushing, &serving)
	limited := connlimit.New(s.listener, s.opts.MaxConnections)
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = limited.Close()
		patience, done := context.WithTimeout(flushing, grace)
		defer done()
		_ = server.Shutdown(patience) // Close ends the remaining requests
		_ = server.Close()
		close(stopped)
	})
	err := s.serve(server, limited)
	if !stop() {
		<-stopped
	}
	_ = limited.Close()
	_ = server.Close()
	cancel()
	serving.Wait()
	limited.Wait()
	if err != nil && !errors.Is(err, http.ErrServerClosed) && ctx.Err() == nil {
		return fmt.Errorf("serve HTTP on %s: %w", s.Addr(), err)
	}
	return nil
}

func (s *Server) serve(server *http.Server, l net.Listener) error {
	if s.tls != nil {
		return server.ServeTLS(l, "", "")
	}
	return server.Serve(l)
}

// server returns an http.Server. Its requests may continue after ctx has ended, until flushing ends.
func (s *Server) server(ctx, flushing context.Context, serving *sync.WaitGroup) *http.Server {
	// Reject cross-origin requests: web pages in a browser on this machine can reach loopback addresses.
	guarded := s.limitStreams(drainBodies(ctx, s.rejectExcess(http.NewCrossOriginProtection().Handler(s.login(s.route())))))
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			serving.Add(1)
			defer serving.Done()
			httpframing.CloseAfter(w, r)
			guarded.ServeHTTP(w, r)
		}),
		TLSConfig:         s.tls,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          log.New(&errorLog{log: s.opts.Log, address: s.Addr().String()}, "", 0), //nolint:forbidigo // net/http takes no other
		BaseContext:       func(net.Listener) context.Context { return flushing },
		ConnContext:       connlimit.WithConn,
		Protocols:         new(http.Protocols),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          maxStreams,
			MaxReceiveBufferPerConnection: connectionWindow,
			MaxReceiveBufferPerStream:     streamWindow,
			MaxReadFrameSize:              maxFrame,
		},
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetHTTP2(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	return server
}
