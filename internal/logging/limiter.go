package logging

import (
	"cmp"
	"sync/atomic"
	"time"
)

// Limiter rate-limits log lines, so that neither a sender nor a failure that lasts floods the log. The zero value is ready to use. It
// is safe for concurrent use.
type Limiter struct {
	// Every is the minimum time between two lines; 0 is ten seconds.
	Every time.Duration
	// next is when the next line may be logged, in Unix nanoseconds.
	next atomic.Int64
}

// Allow reports whether a line may be logged now.
func (l *Limiter) Allow() bool { return l.AllowAt(time.Now()) }

// AllowAt is Allow at a time.
func (l *Limiter) AllowAt(now time.Time) bool {
	every, at, next := cmp.Or(l.Every, 10*time.Second), now.UnixNano(), l.next.Load()
	wait := next - at // more than every if the clock went back
	return (wait <= 0 || wait > int64(every)) && l.next.CompareAndSwap(next, at+int64(every))
}
