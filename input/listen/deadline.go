package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	// drainTime is how long reading continues after the context has ended, for data that was sent before.
	drainTime = 100 * time.Millisecond
	// maxDrain and maxDrainTime limit the data and connections that wait in the kernel then and are still received: a sender may
	// never stop sending.
	maxDrain     = 4 << 20
	maxDrainTime = 2 * time.Second
	// maxWaiting is the default of net.core.somaxconn, the number of connections that wait to be accepted.
	maxWaiting = 4096
)

// ReadDeadline is a connection's read deadline. When a context ends, it becomes a tenth of a second.
// It is safe for concurrent use.
type ReadDeadline struct {
	// Begun is when the current message began, zero before its first byte. Only the reading goroutine uses it, and sets it to zero
	// after each message.
	Begun time.Time

	mu     sync.Mutex
	conn   deadliner
	ending bool
	cancel func() bool
	// After the last deadline has passed at since, drained counts the bytes read. over is set when nothing more
	// is to be read.
	since   time.Time
	drained int
	over    bool
}

type deadliner interface {
	SetReadDeadline(at time.Time) error
}

// NewReadDeadline returns a ReadDeadline for a connection. The caller must call Stop.
func NewReadDeadline(ctx context.Context, conn deadliner) *ReadDeadline {
	a := &ReadDeadline{conn: conn}
	a.cancel = context.AfterFunc(ctx, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.ending = true
		_ = conn.SetReadDeadline(time.Now().Add(drainTime))
	})
	return a
}

// Set sets the deadline, unless the context has ended.
func (a *ReadDeadline) Set(t time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.ending {
		_ = a.conn.SetReadDeadline(t)
	}
}

// SetMessage sets the deadline for a message that has begun, or else for a connection that is idle.
func (a *ReadDeadline) SetMessage(begun bool, message, idle time.Duration) {
	if !begun {
		a.Begun = time.Time{}
		a.Set(time.Now().Add(idle))
		return
	}
	if a.Begun.IsZero() {
		a.Begun = time.Now()
	}
	a.Set(a.Begun.Add(message))
}

// Read calls read, which reads from the connection. Data that waits in the socket when the last deadline passes
// is still read: on a busy machine the deadline may pass before the first read.
func (a *ReadDeadline) Read(read func() (int, error)) (n int, err error) {
	n, err = read()
	for n == 0 && errors.Is(err, os.ErrDeadlineExceeded) && a.drain() {
		n, err = read()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.since.IsZero() {
		a.drained += max(n, 1)
		a.over = a.over || a.drained > maxDrain || time.Since(a.since) > maxDrainTime || !isReadable(a.conn)
		a.setDrain()
	}
	return n, err
}

// drain reports whether data waits in the socket that is still to be read after the deadline.
func (a *ReadDeadline) drain() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.ending || a.over || !isReadable(a.conn) {
		return false
	}
	if a.since.IsZero() {
		a.since = time.Now()
	}
	a.setDrain()
	return true
}

// setDrain sets the deadline so that a read of waiting data succeeds, or so that reading ends.
func (a *ReadDeadline) setDrain() {
	at := time.Now()
	if !a.over {
		at = at.Add(maxDrainTime)
	}
	_ = a.conn.SetReadDeadline(at)
}

// Stop releases the context. The deadline stays as it is.
func (a *ReadDeadline) Stop() { a.cancel() }

// isReadable reports whether a read of a connection, or accepting from a listener, would return at once.
func isReadable(socket any) bool {
	if t, ok := socket.(*tls.Conn); ok {
		return isReadable(t.NetConn())
	}
	c, ok := socket.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	readable := false
	err = raw.Control(func(fd uintptr) { readable = pollReadable(fd) })
	return err == nil && readable
}
