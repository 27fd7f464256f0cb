package retry

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// reportAfter is how long a request is retried before that is reported, and reportEvery the
	// minimum time between further reports.
	reportAfter = 2 * time.Second
	reportEvery = 10 * time.Second
)

// Attempt is a failed request that will be retried.
type Attempt struct {
	// Err is its last error.
	Err error
	// For is how long it has been failing, Next the delay until the next attempt.
	For, Next time.Duration
}

// String reads "retrying for 3s, next in 400ms: <error>".
func (a Attempt) String() string {
	return fmt.Sprintf("retrying for %v, next in %v: %v", a.For.Round(time.Second), a.Next.Round(100*time.Millisecond), a.Err)
}

type reporterKey struct{}

// reporter calls to, at most once per reportEvery.
type reporter struct {
	to func(Attempt)

	mu   sync.Mutex
	last time.Time
}

// WithReporter returns a context under which f is called for requests that have been failing for
// two seconds and more, at most every ten seconds, so that users see why they wait. f is called by
// one goroutine at a time.
func WithReporter(ctx context.Context, f func(Attempt)) context.Context {
	return context.WithValue(ctx, reporterKey{}, &reporter{to: f})
}

// Report calls the function of [WithReporter], if there is one, for a request that began at a time,
// failed and will be retried after next.
func Report(ctx context.Context, began time.Time, err error, next time.Duration) {
	r, ok := ctx.Value(reporterKey{}).(*reporter)
	now := time.Now()
	if !ok || now.Sub(began) < reportAfter {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.last.IsZero() && now.Sub(r.last) < reportEvery {
		return
	}
	r.last = now
	r.to(Attempt{Err: err, For: now.Sub(began), Next: next})
}
