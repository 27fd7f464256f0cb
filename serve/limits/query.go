// Package limits limits what requests of the HTTP server may use: how many run, how long, how much they read and what that
// costs in a day.
package limits

import (
	"context"
	"errors"
	"sync"
)

// Errors of [Limiter.Query], [Limiter.Tail] and [Query.Add]; ErrDuration is the cause of a context that ended.
var (
	ErrDuration = error(durationError{})
	ErrDay      = errors.New("the server's budget for today is spent; it is renewed at midnight UTC")
	ErrReserved = errors.New("what is left of the server's budget for today is reserved for queries that run")
	ErrQueue    = errors.New("too many queries are waiting: --max-queued is the limit")
	ErrTails    = errors.New("too many live tails are open: --max-queued is the limit")
)

// durationError is a [context.DeadlineExceeded].
type durationError struct{}

// Error is the text for clients.
func (durationError) Error() string { return "the query took longer than the maximum duration" }

// Is makes it one.
func (durationError) Is(target error) bool { return target == context.DeadlineExceeded } //nolint:errorlint // as errors.Is calls it

// Query is what one request may read and what it has read. It is safe for concurrent use.
type Query struct {
	// MaxBytes and MaxCost (dollars) are the maximum of what it may read; 0 is no limit.
	MaxBytes int64
	MaxCost  float64

	day *dayBudget

	mu       sync.Mutex
	bytes    int64
	cost     float64
	reserved float64 // of the day's budget, and not used yet
	from, to int64
}

// SetRange sets the range that the request is about, in Unix nanoseconds, for the log.
func (q *Query) SetRange(from, to int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.from, q.to = from, to
}

// Range is what SetRange set; ok is false if it did not.
func (q *Query) Range() (from, to int64, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.from, q.to, q.from != 0 || q.to != 0
}

// Add adds what the request read since the last call: bytes, and their cost in dollars. A request calls it at its end, one
// that follows new records also as it goes. It returns [ErrDay] if the day's budget is spent: a request that follows ends then.
func (q *Query) Add(bytes int64, cost float64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bytes += bytes
	q.cost += cost
	return q.use(cost, min(cost, q.reserved))
}

// end gives back what is left of the reservation.
func (q *Query) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	_ = q.use(0, q.reserved) // it is over, whatever is left of the day
}

func (q *Query) use(cost, reserved float64) error {
	if q.day == nil {
		return nil
	}
	q.reserved -= reserved
	return q.day.use(cost, reserved)
}

// Read is what was added.
func (q *Query) Read() (bytes int64, cost float64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes, q.cost
}

type contextKey struct{}

// NewContext returns a context with the limits of a request.
func NewContext(ctx context.Context, q *Query) context.Context {
	return context.WithValue(ctx, contextKey{}, q)
}

// FromContext are the limits of the request of a context; without any, none apply and nothing is counted.
func FromContext(ctx context.Context) *Query {
	if q, ok := ctx.Value(contextKey{}).(*Query); ok {
		return q
	}
	return new(Query)
}
