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
	// firstInFlight is the initial limit of a query.
	firstInFlight = 16
)

// limiter limits the requests in flight to one store by additive increase and multiplicative decrease. The limit grows by one with
// every response until storage throttles. Then it is halved, and afterwards grows by one with every round of responses. Safe for
// concurrent use. A nil limiter has no limit.
type limiter struct {
	slots chan struct{}

	mu        sync.Mutex
	limit     int
	excess    int // slots in use to drop at release, because the limit was lowered
	responses int // since the limit changed
	throttle  int // number of times that storage has throttled
}

func newLimiter() *limiter {
	l := &limiter{slots: make(chan struct{}, MaxInFlight), limit: firstInFlight}
	for range firstInFlight {
		l.slots <- struct{}{}
	}
	return l
}

// acquire waits until a request may be made. The caller must pass round to release.
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

// release ends a request with a result. Requests that are in flight when storage throttles lower the limit once in total.
func (l *limiter) release(round int, result error) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.responses++
	switch {
	case errors.Is(result, store.ErrThrottled):
		if round == l.throttle {
			lowered := l.limit / 2
			l.limit -= lowered
			l.excess += lowered
			l.throttle++
			l.responses = 0
		}
	case l.limit < MaxInFlight && (l.throttle == 0 || l.responses >= l.limit):
		l.responses = 0
		l.limit++
		l.free()
	}
	l.free()
}

// free frees a slot, or drops it if the limit was lowered.
func (l *limiter) free() {
	if l.excess > 0 {
		l.excess--
		return
	}
	l.slots <- struct{}{}
}
