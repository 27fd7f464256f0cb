package syslog

import (
	"sync"
	"time"
)

// tellEvery is how often the same trouble is logged at most.
const tellEvery = 10 * time.Second

// limiter says when something may be logged again. Safe for concurrent use.
type limiter struct {
	mu   sync.Mutex
	next time.Time
}

func (l *limiter) may() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Before(l.next) {
		return false
	}
	l.next = now.Add(tellEvery)
	return true
}
