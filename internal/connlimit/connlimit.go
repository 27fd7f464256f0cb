// Package connlimit limits the open connections of an HTTP server. Some connections above the limit are accepted, so that their requests
// get a response.
package connlimit

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// maxExtra is the maximum number of connections above the limit that are accepted to respond that there
// are too many. It is at most an eighth of the limit.
const maxExtra = 64

// Listener is a listener with a limited number of open connections. The server's ConnContext must be [WithConn], and its handler must call
// [Admit]. It is safe for concurrent use.
type Listener struct {
	net.Listener
	slots, extra chan struct{}
	stopped      chan struct{}
	once         sync.Once
	open         sync.WaitGroup
}

// New limits the open connections of a listener.
func New(l net.Listener, limit int) *Listener {
	return &Listener{
		Listener: l,
		slots:    make(chan struct{}, limit),
		extra:    make(chan struct{}, max(1, min(maxExtra, limit/8))),
		stopped:  make(chan struct{}),
	}
}

// Close closes the listener. Accept returns, even if it waits for a slot. It may be called again.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.stopped) })
	return l.Listener.Close()
}

// Wait waits until all connections are closed. It must not be called concurrently with Accept.
func (l *Listener) Wait() { l.open.Wait() }

// Accept waits for a slot, then for a connection.
func (l *Listener) Accept() (net.Conn, error) {
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
	of *Listener

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

// WithConn is the ConnContext of the [http.Server].
func WithConn(ctx context.Context, c net.Conn) context.Context {
	if secured, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = secured.NetConn()
	}
	return context.WithValue(ctx, connKey{}, c)
}

// Admit reports whether the connection of a request is within the limit of its listener. If not, it sets the header that closes the
// connection after the response.
func Admit(w http.ResponseWriter, r *http.Request) bool {
	c, ok := r.Context().Value(connKey{}).(*conn)
	if !ok || c.admit() {
		return true
	}
	w.Header().Set("Connection", "close")
	return false
}
