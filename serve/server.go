package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"logstow/internal/bind"
	"logstow/internal/certs"
	"logstow/internal/connlimit"
	"logstow/serve/limits"
)

const (
	// maxHeader is the maximum size of the header of a request, in bytes. It contains queries.
	maxHeader = 128 << 10
	// maxBody is the maximum size of the body of a request, in bytes; maxLogin of a login, which needs no token.
	maxBody  = 1 << 20
	maxLogin = 8 << 10
	// maxBodies is the maximum size of the bodies of all requests, in bytes.
	maxBodies = 32 << 20
)

// errDraining is the cause of contexts that end because the server shuts down.
var errDraining = errors.New("the server is shutting down")

// errBodies reports that the bodies of all requests exceed maxBodies.
var errBodies = errors.New("too many large requests at a time")

// Server serves an API. Make it with [New].
type Server struct {
	opts        Options
	limits      *limits.Limiter
	measured    *measured
	listener    net.Listener
	certificate *certs.Server // nil without TLS
	// draining ends when the server stops accepting requests.
	draining context.Context
	drain    context.CancelCauseFunc
	serving  inflight
	bodies   atomic.Int64 // size of the bodies of all requests, in bytes
}

// New binds the address; the caller must Run or Close the server.
func New(ctx context.Context, opts Options) (*Server, error) {
	if err := opts.Check(); err != nil {
		return nil, err
	}
	if opts.Watches != nil {
		opts.Limits.OtherCost = opts.Watches.Cost
	}
	s := &Server{opts: opts, limits: limits.New(opts.Limits)}
	s.measured = newMeasured(&s.opts, s.limits)
	if opts.Cert != "" {
		var err error
		if s.certificate, err = certs.NewServer(certs.Files{Cert: opts.Cert, Key: opts.Key}, opts.Log, "h2", "http/1.1"); err != nil {
			return nil, err
		}
	}
	var listening net.ListenConfig
	var err error
	if s.listener, err = listening.Listen(ctx, "tcp", opts.Listen); err != nil {
		return nil, bind.Error(opts.Listen, err)
	}
	if at, ok := s.listener.Addr().(*net.TCPAddr); opts.Tokens == nil && (!ok || !at.IP.IsLoopback()) { // the system may resolve localhost to another address
		_ = s.listener.Close()
		return nil, fmt.Errorf("cannot listen on %s: its address %v is not loopback", opts.Listen, s.listener.Addr())
	}
	s.draining, s.drain = context.WithCancelCause(context.WithoutCancel(ctx))
	if opts.Tokens != nil && !opts.secure() && !isLoopback(hostname(opts.Listen)) {
		opts.Log.Warn("tokens and logs are sent unencrypted",
			"hint", "give --tls-cert and --tls-key, or --behind-proxy if a proxy in front of it uses HTTPS")
	}
	return s, nil
}

// Addr returns the bound address.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Reload reads the tokens and the certificate again. If they cannot be read, it keeps the previous ones, and logs and returns
// the error.
func (s *Server) Reload() error {
	var tokens, certificate error
	if s.opts.Tokens != nil {
		if tokens = s.opts.Tokens.Reload(); tokens != nil {
			s.opts.Log.Error("reload rejected; keeping the old tokens", "error", tokens)
		} else {
			s.opts.Log.Info("reloaded tokens", "tokens", s.opts.Tokens.Len())
		}
	}
	if s.certificate != nil {
		if certificate = s.certificate.Reload(); certificate != nil {
			s.opts.Log.Error("reload rejected; keeping the old certificate", "error", certificate)
		}
	}
	return errors.Join(tokens, certificate)
}

// Run serves until ctx ends. Then it stops accepting requests, ends those that follow new records, and cancels the others after
// ten seconds. It closes all connections and waits for the handlers before it returns.
func (s *Server) Run(ctx context.Context) error {
	requests, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	server := s.server(requests)
	listener := connlimit.New(s.listener, s.opts.connections)
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		s.opts.Log.Info("shutting down")
		s.drain(errDraining)
		drain, done := context.WithTimeout(requests, s.opts.times.drain)
		defer done()
		_ = server.Shutdown(drain) // connections that remain are closed below
		s.serving.wait(drain)      // Shutdown does not wait for hijacked connections
	})
	var err error
	if s.certificate != nil {
		err = server.ServeTLS(listener, "", "")
	} else {
		err = server.Serve(listener)
	}
	if !stop() {
		<-stopped
	}
	s.drain(errDraining)
	cancel(errDraining)
	_ = server.Close()
	closing, done := context.WithTimeout(context.WithoutCancel(ctx), s.opts.times.closing)
	defer done()
	if !s.serving.wait(closing) {
		return errors.New("requests did not end after they were canceled")
	}
	if err != nil && !errors.Is(err, http.ErrServerClosed) && ctx.Err() == nil {
		return fmt.Errorf("cannot serve HTTP on %s: %w", s.Addr(), err)
	}
	return nil
}

// server returns an http.Server whose requests have contexts derived from requests.
func (s *Server) server(requests context.Context) *http.Server {
	server := &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		ReadHeaderTimeout: s.opts.times.header,
		IdleTimeout:       s.opts.times.idle,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(s.opts.Log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return requests },
		ConnContext:       connlimit.WithConn,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: 100, WriteByteTimeout: s.opts.times.write},
	}
	if s.certificate != nil {
		server.TLSConfig = s.certificate.Config()
	}
	return server
}

// readDeadline limits the time to read the request; 0 removes the limit.
func (s *Server) readDeadline(w *response, d time.Duration) {
	var at time.Time
	if d > 0 {
		at = time.Now().Add(d)
	}
	_ = w.control.SetReadDeadline(at) // fails only in tests, whose connections have no deadlines
}
