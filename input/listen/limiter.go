package listen

import (
	"sync"
	"time"
)

// logInterval is how often the same trouble is logged at most.
const logInterval = 10 * time.Second

// Limiter says when something may be logged again, so that a sender cannot fill
// the log. The zero value is ready. Safe for concurrent use.
type Limiter struct {
	mu   sync.Mutex
	next time.Time
}

// Allow reports whether ten seconds have passed since it last did.
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
