package source

import (
	"context"
	"errors"
	"sync"

	"logstow/store"
)

const (
	// MaxInFlight is the maximum number of requests in flight to one store.
	MaxInFlight = 64
	// firstInFlight is the number with which a query starts.
	firstInFlight = 16
)

// limiter limits the requests in flight to one store: the limit grows by one with every answer until
// storage throttles, is halved then, and from there on grows by one with every round of answers. It is
// safe for concurrent use. A nil limiter has no limit.
type limiter struct {
	slots chan struct{}

	mu       sync.Mutex
	limit    int
	excess   int // slots in use that are not given back: the limit was lowered
	answers  int // since the limit changed
	throttle int // how often storage throttled
}

func newLimiter() *limiter {
	l := &limiter{slots: make(chan struct{}, MaxInFlight), limit: firstInFlight}
	for range firstInFlight {
		l.slots <- struct{}{}
	}
	return l
}

// acquire waits until a request may be made. round is to be passed to release.
func (l *limiter) acquire(ctx context.Context) (round int, err error) {
	if l == nil {
		return 0, nil
	}
	select {
	case <-l.slots:
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.throttle, nil
}

// release takes the result of a request. All requests that are in flight when storage throttles
// lower the limit once together.
func (l *limiter) release(round int, result error) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers++
	switch {
	case errors.Is(result, store.ErrThrottled):
		if round == l.throttle {
			lowered := l.limit / 2
			l.limit -= lowered
			l.excess += lowered
			l.throttle++
			l.answers = 0
		}
	case l.limit < MaxInFlight && (l.throttle == 0 || l.answers >= l.limit):
		l.answers = 0
		l.limit++
		l.free()
	}
	l.free()
}

// free gives a slot back.
func (l *limiter) free() {
	if l.excess > 0 {
		l.excess--
		return
	}
	l.slots <- struct{}{}
}
