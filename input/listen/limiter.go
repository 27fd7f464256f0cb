package listen

import (
	"sync"
	"time"
)

// logInterval is the minimum time between two log lines of the same kind.
const logInterval = 10 * time.Second

// Limiter rate-limits log lines, so that a sender cannot flood the log. The zero value is ready to
// use. It is safe for concurrent use.
type Limiter struct {
	mu   sync.Mutex
	next time.Time
}

// Allow reports whether ten seconds have passed since it last returned true.
func (l *Limiter) Allow() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Before(l.next) {
		return false
	}
	l.next = now.Add(logInterval)
	return true
}
