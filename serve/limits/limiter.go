package limits

import (
	"context"
	"time"
)

// tailDuration is the maximum duration of a request that follows new records. Clients then connect again.
const tailDuration = time.Hour

// queueWait is the time after which a client may retry a query that was rejected because of the queue.
const queueWait = 2 * time.Second

// Options are the limits of a server; see [New].
type Options struct {
	// MaxBytes, MaxCost (dollars) and MaxDuration limit a query; 0 is no limit. MaxDuration applies once to the wait for a slot
	// and once to the query.
	MaxBytes    int64
	MaxCost     float64
	MaxDuration time.Duration
	// MaxCostPerDay limits the cost of all queries of a day (UTC), plus OtherCost, in dollars; 0 is no limit.
	MaxCostPerDay float64
	// OtherCost returns the total of other costs since the start, in dollars. It must not decrease. It may be nil.
	OtherCost func() float64
	// MaxQueries is the maximum number of queries of a [Lane] that run at the same time. MaxQueued is the maximum number of those
	// that wait to run, and of requests that follow new records. A token has at most all but one of the former and of the latter.
	MaxQueries, MaxQueued int
	// Now is the clock; nil is [time.Now].
	Now func() time.Time
}

// Lane separates queries that take long from those that do not. Each lane has slots of its own, so no lane waits for another.
type Lane int

const (
	// Records is the lane of queries that may read records.
	Records Lane = iota
	// Metadata is the lane of queries that read only listings, and footers of a few segments.
	Metadata

	lanes
)

// Limiter applies the limits of a server. It is safe for concurrent use.
type Limiter struct {
	opts    Options
	day     *dayBudget
	queries [lanes]*queue
	tails   *queue
}

// New returns a limiter.
func New(opts Options) *Limiter {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.OtherCost == nil {
		opts.OtherCost = func() float64 { return 0 }
	}
	l := &Limiter{
		opts: opts, day: &dayBudget{budget: opts.MaxCostPerDay, now: opts.Now, other: opts.OtherCost, counted: opts.OtherCost()},
		tails: newQueue(max(1, opts.MaxQueued), 0),
	}
	for lane := range l.queries {
		l.queries[lane] = newQueue(opts.MaxQueries, opts.MaxQueued)
	}
	return l
}

// Query waits until a query of a token may run in a lane. Waiting is fair between tokens; "" is the only client of a server without
// tokens. The returned context contains the query's limits, see [FromContext], and ends with
// the cause [ErrDuration] after MaxDuration. The caller must call done at the end of the query. Errors are [ErrQueue], [ErrDay],
// [ErrReserved] and the cause of ctx.
func (l *Limiter) Query(ctx context.Context, lane Lane, token string) (limited context.Context, done func(), err error) {
	wait, cancel := timeout(ctx, l.opts.MaxDuration, ErrQueue)
	defer cancel()
	slots := l.queries[lane]
	if err := slots.acquire(wait, token); err != nil {
		return nil, nil, err
	}
	part, err := l.day.reserve(l.opts.MaxCost)
	if err != nil {
		slots.release(token)
		return nil, nil, err
	}
	q := &Query{MaxBytes: l.opts.MaxBytes, MaxCost: part, day: l.day, reserved: part}
	limited, done = l.begin(ctx, slots, token, q, l.opts.MaxDuration)
	return limited, done, nil
}

// Tail is [Limiter.Query] for a request that follows new records. It does not wait for a slot, and the request may take an hour.
// Errors are [ErrTails] and [ErrDay].
func (l *Limiter) Tail(ctx context.Context, token string) (limited context.Context, done func(), err error) {
	if err := l.tails.acquire(ctx, token); err != nil {
		return nil, nil, ErrTails // the only possible error, because the queue has no places to wait
	}
	if l.day.exhausted() {
		l.tails.release(token)
		return nil, nil, ErrDay
	}
	limited, done = l.begin(ctx, l.tails, token, &Query{MaxBytes: l.opts.MaxBytes, MaxCost: l.opts.MaxCost, day: l.day}, tailDuration)
	return limited, done, nil
}

// begin begins a request of a token that holds a slot of a queue. done releases the slot.
func (l *Limiter) begin(ctx context.Context, slots *queue, token string, q *Query, d time.Duration) (limited context.Context, done func()) {
	limited, cancel := timeout(NewContext(ctx, q), d, ErrDuration)
	return limited, func() {
		cancel()
		q.end()
		slots.release(token)
	}
}

// timeout returns a context that ends after d with a cause. It has no timeout if d is 0.
func timeout(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, cause)
}

// RetryAfter returns the time after which a client may retry a request that was rejected with err.
func (l *Limiter) RetryAfter(err error) time.Duration {
	if err == ErrDay { //nolint:errorlint // as returned by this package
		return l.day.untilMidnight()
	}
	return queueWait
}

// State is the current state of a limiter.
type State struct {
	// Running and Waiting are the numbers of queries that run and that wait, by [Lane]. Tails is the number of requests that
	// follow new records.
	Running, Waiting [lanes]int
	Tails            int
	// SpentToday is the cost of the current day so far, in dollars, including [Options.OtherCost].
	SpentToday float64
}

// State returns the current state.
func (l *Limiter) State() (s State) {
	for lane, queries := range l.queries {
		s.Running[lane], s.Waiting[lane] = queries.counts()
	}
	s.Tails, _ = l.tails.counts()
	s.SpentToday = l.day.spentToday()
	return s
}
