package httpserver

import (
	"cmp"
	"fmt"

	"logstow/input"
	"logstow/input/listen"
)

// DefaultMemory is the default size in bytes of the memory of requests.
const DefaultMemory = listen.ReceiveMemory

// NewMemory returns the budget of all requests to an input, for bodies and the data derived from them: of a size in bytes; 0 is
// [DefaultMemory]. within is the budget that is shared with other inputs, or nil.
func NewMemory(limit int64, within *listen.Budget) *listen.Budget {
	return listen.NewBudget(cmp.Or(max(limit, 0), DefaultMemory), within)
}

// Lease is the memory that one request has reserved from a budget. It is not safe for concurrent use. The caller must call Release.
type Lease struct {
	budget *listen.Budget
	held   int64
}

// NewLease returns an empty Lease for a request.
func NewLease(of *listen.Budget) *Lease { return &Lease{budget: of} }

// Take reserves n bytes. It never waits: the error is [input.ErrTooLarge] if this request needs more than the
// size of the budget, and [input.ErrBusy] if other requests hold too much.
func (l *Lease) Take(n int64) error {
	if limit := l.budget.Size(); l.held+n > limit {
		return fmt.Errorf("%w: a request may take %d bytes of memory", input.ErrTooLarge, limit)
	}
	if !l.budget.Take(n) {
		return fmt.Errorf("%w: memory limit of all requests reached", input.ErrBusy)
	}
	l.held += n
	return nil
}

// Give returns n of the reserved bytes.
func (l *Lease) Give(n int64) {
	l.budget.Give(n)
	l.held -= n
}

// Release returns all reserved bytes.
func (l *Lease) Release() { l.Give(l.held) }

// Grow returns a buffer with a capacity of size bytes and the content of b. The memory of both is reserved during
// the copy; then that of b is returned, so b must not be used any more.
func (l *Lease) Grow(b []byte, size int) ([]byte, error) {
	if err := l.Take(int64(size)); err != nil {
		return nil, err
	}
	grown := append(make([]byte, 0, size), b...)
	l.Give(int64(cap(b)))
	return grown, nil
}
