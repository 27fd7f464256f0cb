package listen

import (
	"context"
	"sync"
	"time"
)

// drainTime is how long is read on after the end, for what senders have sent before it.
const drainTime = 100 * time.Millisecond

// Alarm is a connection's read deadline, which the end of a context brings
// forward to a tenth of a second from then. Safe for concurrent use.
type Alarm struct {
	mu     sync.Mutex
	conn   interface{ SetReadDeadline(time.Time) error }
	ending bool
	cancel func() bool
}

// NewAlarm makes an Alarm of a connection; Stop ends it.
func NewAlarm(ctx context.Context, conn interface{ SetReadDeadline(time.Time) error }) *Alarm {
	a := &Alarm{conn: conn}
	a.cancel = context.AfterFunc(ctx, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.ending = true
		_ = conn.SetReadDeadline(time.Now().Add(drainTime))
	})
	return a
}

// Set sets when reading ends, unless the context has ended.
func (a *Alarm) Set(t time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.ending {
		_ = a.conn.SetReadDeadline(t)
	}
}

// Stop lets go of the context. The deadline stays as it is.
func (a *Alarm) Stop() { a.cancel() }
