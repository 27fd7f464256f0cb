package httpserver

import (
	"net"
	"sync"
)

// limited is a listener with at most so many connections open at a time.
type limited struct {
	net.Listener
	slots   chan struct{}
	stopped chan struct{}
	once    sync.Once
	open    sync.WaitGroup
}

func newLimited(l net.Listener, limit int) *limited {
	return &limited{Listener: l, slots: make(chan struct{}, limit), stopped: make(chan struct{})}
}

// stop makes Accept return, also where it waits for a slot.
func (l *limited) stop() {
	l.once.Do(func() { close(l.stopped) })
	_ = l.Close()
}

// wait returns when all connections are closed. No Accept may be under way.
func (l *limited) wait() { l.open.Wait() }

// Accept waits for a slot, then for a connection.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case <-l.stopped:
		return nil, net.ErrClosed
	case l.slots <- struct{}{}:
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	l.open.Add(1)
	return &conn{Conn: c, release: sync.OnceFunc(func() {
		<-l.slots
		l.open.Done()
	})}, nil
}

// conn gives its slot back when it is closed.
type conn struct {
	net.Conn
	release func()
}

func (c *conn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
