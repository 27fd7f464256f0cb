package listen

import (
	"context"
	"sync"
	"time"
)

// drainTime is how long reading continues after the end, for data that senders sent before it.
const drainTime = 100 * time.Millisecond

// ReadDeadline is a connection's read deadline, which the end of a context shortens
// to a tenth of a second. Safe for concurrent use.
type ReadDeadline struct {
	mu     sync.Mutex
	conn   interface{ SetReadDeadline(time.Time) error }
	ending bool
	cancel func() bool
}

// NewReadDeadline makes a ReadDeadline of a connection; Stop ends it.
func NewReadDeadline(ctx context.Context, conn interface{ SetReadDeadline(time.Time) error }) *ReadDeadline {
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

// Stop releases the context. The deadline stays as it is.
func (a *ReadDeadline) Stop() { a.cancel() }
