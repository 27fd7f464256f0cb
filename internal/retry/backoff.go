package retry

import (
	"context"
	"errors"
	"time"

	"logstow/store"
)

// Backoff is the delay between attempts: it doubles from Min to Max. A longer delay requested by
// storage is honoured up to MaxRetryAfter.
type Backoff struct {
	Min, Max, MaxRetryAfter time.Duration
	// Random returns a number in [0, n): each delay is then drawn from its upper half. Nil is no jitter.
	Random func(n uint64) uint64
}

// Delay returns the delay after a number of consecutive failures, at least 1; err is the last one.
func (b Backoff) Delay(err error, failures int) time.Duration {
	d := min(b.Min, b.Max)
	for n := 1; n < failures && d < b.Max; n++ {
		d = min(2*d, b.Max)
	}
	if b.Random != nil {
		half := d / 2
		d = half + time.Duration(b.Random(uint64(half)+1))
	}
	var e *store.Error
	if errors.As(err, &e) {
		d = max(d, min(e.RetryAfter, b.MaxRetryAfter))
	}
	return d
}

// Every calls f at once, and again when d has passed since its last call ended, until ctx ends.
func Every(ctx context.Context, d time.Duration, f func()) {
	for f(); Sleep(ctx, d) == nil; f() {
	}
}

// Sleep waits, or returns early with the cause of ctx's end.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
