// Package limits limits the requests of the HTTP server: how many run, how long they take, how much they read, and their cost per
// day.
package limits

import (
	"context"
	"errors"
	"sync"
)

// Errors of [Limiter.Query], [Limiter.Tail] and [Query.Add]. ErrDuration is the cause of a context that ended after the maximum
// duration.
var (
	ErrDuration = error(durationError{})
	ErrDay      = errors.New("the server's budget for today is spent; it is renewed at midnight UTC")
	ErrReserved = errors.New("the rest of the server's budget for today is reserved for running queries")
	ErrQueue    = errors.New("too many queries are waiting: --max-queued is the limit")
	ErrTails    = errors.New("too many live tails are open: --max-queued is the limit")
)

// durationError is the type of ErrDuration. For [errors.Is] it is a [context.DeadlineExceeded].
type durationError struct{}

// Error returns the message for clients.
func (durationError) Error() string { return "the query took longer than the maximum duration" }

// Is is for [errors.Is].
func (durationError) Is(target error) bool { return target == context.DeadlineExceeded } //nolint:errorlint // as errors.Is calls it

// Query holds the limits of one request and counts what it has read. It is safe for concurrent use.
type Query struct {
	// MaxBytes and MaxCost (dollars) limit what the request reads; 0 is no limit.
	MaxBytes int64
	MaxCost  float64

	day *dayBudget

	mu       sync.Mutex
	bytes    int64
	cost     float64
	reserved float64 // the unused part of its reservation
	from, to int64
}

// SetRange sets the time range of the request, in Unix nanoseconds, for the log.
func (q *Query) SetRange(from, to int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.from, q.to = from, to
}

// Range returns the range; ok is false if SetRange was not called.
func (q *Query) Range() (from, to int64, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.from, q.to, q.from != 0 || q.to != 0
}

// Add adds the bytes that the request has read since the last call, and their cost in dollars. A handler must call it at the end of
// a request, and repeatedly during a request that follows new records. It returns [ErrDay] if the budget of the day is spent; a
// request that follows new records must end then.
func (q *Query) Add(bytes int64, cost float64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bytes += bytes
	q.cost += cost
	return q.use(cost, min(cost, q.reserved))
}

// end releases the rest of the reservation.
func (q *Query) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	_ = q.use(0, q.reserved) // ErrDay does not matter any more: the request has ended
}

func (q *Query) use(cost, reserved float64) error {
	if q.day == nil {
		return nil
	}
	q.reserved -= reserved
	return q.day.use(cost, reserved)
}

// Read returns the totals of Add.
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

// FromContext returns the limits of the request of a context. If there are none, it returns a Query without limits, which has no
// effect on a [Limiter].
func FromContext(ctx context.Context) *Query {
	if q, ok := ctx.Value(contextKey{}).(*Query); ok {
		return q
	}
	return new(Query)
}
