package listen

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"

	"logstow/internal/logging"
)

// Connections serves the connections of an input, counts them and logs what concerns an operator. Its methods are safe for concurrent
// use.
type Connections struct {
	// Endpoint has its defaults.
	Endpoint
	// Name is the name of the input in the log.
	Name string
	// Log receives messages, as often as Limit allows.
	Log   *slog.Logger
	Limit logging.Limiter

	// Accepted counts connections, Rejected those that were closed for a failed handshake, Slow those that were closed for a message
	// that did not end in time.
	Accepted, Rejected, Slow atomic.Int64
}

// Serve is [Serve] for an input: handle gets a connection after its TLS handshake. An error of handle ends all connections and is
// returned.
func (s *Connections) Serve(ctx context.Context, l net.Listener, handle func(ctx context.Context, c net.Conn) error) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var broken error
	var once sync.Once
	var open atomic.Int64
	err := Serve(ctx, l, s.MaxConnections, func(ctx context.Context, c net.Conn) {
		defer open.Add(-1)
		s.Accepted.Add(1)
		err := Handshake(ctx, c)
		if n := open.Add(1); n >= int64(s.MaxConnections) && s.Limit.Allow() {
			s.Log.Warn(s.Name+" connection limit reached: further senders wait", "address", s.Address, "connections", n)
		}
		if err != nil {
			if ctx.Err() == nil {
				s.Reject(c, err)
			}
			return
		}
		if err := handle(ctx, c); err != nil {
			once.Do(func() { broken = err })
			fail(err)
		}
	})
	return errors.Join(err, broken)
}

// Reject counts and logs a connection that is closed because of its handshake.
func (s *Connections) Reject(c net.Conn, err error) {
	if n := s.Rejected.Add(1); s.Limit.Allow() {
		s.Log.Warn(s.Name+" sender rejected", "address", s.Address, "sender", c.RemoteAddr().String(), "error", err, "rejected", n)
	}
}
