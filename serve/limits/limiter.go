package limits

import (
	"context"
	"time"
)

// tailDuration is the maximum duration of a request that follows new records. Clients connect again.
const tailDuration = time.Hour

// queueWait is the time after which a query that was refused is worth another try.
const queueWait = 2 * time.Second

// Options are the limits of a server; see [New].
type Options struct {
	// MaxBytes, MaxCost (dollars) and MaxDuration limit a query; 0 is no limit. The duration does not include waiting for a
	// slot, which is limited to the same.
	MaxBytes    int64
	MaxCost     float64
	MaxDuration time.Duration
	// MaxCostPerDay is the maximum cost of all queries of a day (UTC) and of OtherCost, in dollars; 0 is no limit.
	MaxCostPerDay float64
	// OtherCost is the total of other costs since the start, in dollars, which never falls; nil is none.
	OtherCost func() float64
	// MaxQueries is the number of maximum number of concurrent queries; MaxQueued the number of those that wait for it, and of the requests
	// that follow new records, which hold no slot.
	MaxQueries, MaxQueued int
	// Now is the clock; nil is [time.Now].
	Now func() time.Time
}

// Limiter applies limits. It is safe for concurrent use.
type Limiter struct {
	opts    Options
	day     *dayBudget
	queries queue
	tails   queue
}

// New makes a limiter.
func New(opts Options) *Limiter {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.OtherCost == nil {
		opts.OtherCost = func() float64 { return 0 }
	}
	return &Limiter{
		opts: opts, day: &dayBudget{budget: opts.MaxCostPerDay, now: opts.Now, other: opts.OtherCost, counted: opts.OtherCost()},
		queries: queue{slots: opts.MaxQueries, places: opts.MaxQueued}, tails: queue{slots: max(1, opts.MaxQueued)},
	}
}

// Query waits until a query of a token may run. The context that it returns has the query's limits ([FromContext]) and
// ends, with the cause [ErrDuration], when it takes too long. done ends the query. Errors are [ErrQueue], [ErrDay],
// [ErrReserved] and the cause of ctx.
func (l *Limiter) Query(ctx context.Context, token string) (limited context.Context, done func(), err error) {
	wait, cancel := timeout(ctx, l.opts.MaxDuration, ErrQueue)
	defer cancel()
	if err := l.queries.acquire(wait, token); err != nil {
		return nil, nil, err
	}
	part, err := l.day.reserve(l.opts.MaxCost)
	if err != nil {
		l.queries.release()
		return nil, nil, err
	}
	q := &Query{MaxBytes: l.opts.MaxBytes, MaxCost: part, day: l.day, reserved: part}
	limited, done = l.begin(ctx, &l.queries, q, l.opts.MaxDuration)
	return limited, done, nil
}

// Tail is [Limiter.Query] for a request that follows new records: it does not wait, and may take an hour. Errors are
// [ErrTails] and [ErrDay].
func (l *Limiter) Tail(ctx context.Context) (limited context.Context, done func(), err error) {
	if err := l.tails.acquire(ctx, ""); err != nil {
		return nil, nil, ErrTails // the only error, as none may wait
	}
	if l.day.over() {
		l.tails.release()
		return nil, nil, ErrDay
	}
	limited, done = l.begin(ctx, &l.tails, &Query{MaxBytes: l.opts.MaxBytes, MaxCost: l.opts.MaxCost, day: l.day}, tailDuration)
	return limited, done, nil
}

// begin begins a request that holds one of slots.
func (l *Limiter) begin(ctx context.Context, slots *queue, q *Query, d time.Duration) (limited context.Context, done func()) {
	limited, cancel := timeout(NewContext(ctx, q), d, ErrDuration)
	return limited, func() {
		cancel()
		q.end()
		slots.release()
	}
}

// timeout is a context that ends after d; 0 is never.
func timeout(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, cause)
}

// RetryAfter is the time after which a request that was refused with an error is worth another try.
func (l *Limiter) RetryAfter(err error) time.Duration {
	if err == ErrDay { //nolint:errorlint // as returned by this package
		return l.day.untilMidnight()
	}
	return queueWait
}

// State is what a limiter does at a moment.
type State struct {
	// Running, Waiting and Tails are numbers of queries that run and wait, and of requests that follow new records.
	Running, Waiting, Tails int
	// SpentToday is the cost of the day so far, in dollars: of queries, and [Options.OtherCost].
	SpentToday float64
}

// State is what the limiter does now.
func (l *Limiter) State() (s State) {
	s.Running, s.Waiting = l.queries.counts()
	s.Tails, _ = l.tails.counts()
	s.SpentToday = l.day.spentToday()
	return s
}
