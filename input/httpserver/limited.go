package httpserver

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"

	"logstow/input"
)

// maxExtra is the maximum number of connections above the limit that are accepted to respond that there
// are too many. It is at most an eighth of the limit.
const maxExtra = 64

// limitedListener is a listener with a limited number of open connections, plus maxExtra connections that
// only receive an error response.
type limitedListener struct {
	net.Listener
	slots, extra chan struct{}
	stopped      chan struct{}
	once         sync.Once
	open         sync.WaitGroup
}

func newLimitedListener(l net.Listener, limit int) *limitedListener {
	return &limitedListener{
		Listener: l, slots: make(chan struct{}, limit), extra: make(chan struct{}, max(1, min(maxExtra, limit/8))), stopped: make(chan struct{}),
	}
}

// stop closes the listener. Accept returns, even if it waits for a slot.
func (l *limitedListener) stop() {
	l.once.Do(func() { close(l.stopped) })
	_ = l.Close()
}

// wait waits until all connections are closed. It must not be called concurrently with Accept.
func (l *limitedListener) wait() { l.open.Wait() }

// Accept waits for a slot, then for a connection.
func (l *limitedListener) Accept() (net.Conn, error) {
	slot := l.slots
	select {
	case slot <- struct{}{}:
	default:
		select {
		case <-l.stopped:
			return nil, net.ErrClosed
		case slot <- struct{}{}:
		case l.extra <- struct{}{}:
			slot = l.extra
		}
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-slot
		return nil, err
	}
	l.open.Add(1)
	return &conn{Conn: c, of: l, slot: slot}, nil
}

// conn releases its slot when it is closed.
type conn struct {
	net.Conn
	of *limitedListener

	mu     sync.Mutex
	slot   chan struct{}
	closed bool
}

// Close closes the connection.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		<-c.slot
		c.of.open.Done()
	}
	return err
}

// admit reports whether the connection is within the limit. A connection above the limit gets a slot that has
// become free.
func (c *conn) admit() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.slot == c.of.slots || c.closed {
		return true
	}
	select {
	case c.of.slots <- struct{}{}:
		<-c.slot
		c.slot = c.of.slots
		return true
	default:
		return false
	}
}

// connKey is the context key of a request's connection.
type connKey struct{}

// withConn is the ConnContext of the [http.Server].
func withConn(ctx context.Context, c net.Conn) context.Context {
	if secured, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = secured.NetConn()
	}
	return context.WithValue(ctx, connKey{}, c)
}

// rejectExcess responds with 503 to requests on connections past the limit, and with
// UNAVAILABLE to gRPC calls.
func (s *Server) rejectExcess(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := r.Context().Value(connKey{}).(*conn)
		if !ok || c.admit() {
			next.ServeHTTP(w, r)
			return
		}
		if s.logLimit.Allow() {
			s.opts.Log.Warn("HTTP connection limit reached: further connections get a response to retry", "address", s.Addr().String(), "connections", s.opts.MaxConnections)
		}
		const reason = "too many connections"
		w.Header().Set("Connection", "close")
		if isCall(r) {
			const unavailable = "14"
			rejectCall(w, r, unavailable, reason)
			return
		}
		status := Status(input.ErrBusy)
		Head(w.Header(), status)
		http.Error(w, reason, status)
	})
}

// isCall reports whether a request is a gRPC call.
func isCall(r *http.Request) bool {
	return r.ProtoMajor >= 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
}

// rejectCall responds to a gRPC call with a code, in headers only, which are trailers too.
func rejectCall(w http.ResponseWriter, r *http.Request, code, reason string) {
	h := w.Header()
	h.Set("Content-Type", r.Header.Get("Content-Type"))
	h.Set("Grpc-Status", code)
	h.Set("Grpc-Message", reason)
	w.WriteHeader(http.StatusOK)
}
