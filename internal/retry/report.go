package retry

import (
	"context"
	"sync"
	"time"
)

const (
	// reportAfter is how long a request is retried before that is reported, and
	// reportEvery how often at most it is reported after that.
	reportAfter = 2 * time.Second
	reportEvery = 10 * time.Second
)

// Attempt is a request that fails and is made again.
type Attempt struct {
	// Err is its last error.
	Err error
	// For is how long it has been failing, Next how long it is until the next try.
	For, Next time.Duration
}

type reporterKey struct{}

// reporter calls to, unless it has just done so.
type reporter struct {
	to func(Attempt)

	mu   sync.Mutex
	last time.Time
}

// WithReporter is a context under which f is told of requests that have been failing for
// two seconds and more, one every ten seconds at most: nobody should wait for storage
// and not know. f is called by one goroutine at a time.
func WithReporter(ctx context.Context, f func(Attempt)) context.Context {
	return context.WithValue(ctx, reporterKey{}, &reporter{to: f})
}

// Report tells the function of [Reporting], if there is one, that a request which began
// then failed and will be made again after a while.
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
