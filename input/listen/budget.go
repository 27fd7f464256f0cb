package listen

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// ReceiveMemory is the size in bytes of the [Budget] that all network inputs of a
// process share: together they hold no more of what senders send, whatever it is.
const ReceiveMemory = 56 << 20

// Budget bounds the bytes that all connections of an input hold together. Safe
// for concurrent use.
type Budget struct {
	size   int64
	free   *semaphore.Weighted
	within *Budget
}

// NewBudget makes a Budget of that many bytes. What is reserved from it is reserved
// from within too, the budget of several inputs together; nil is none.
func NewBudget(size int64, within *Budget) *Budget {
	return &Budget{size, semaphore.NewWeighted(size), within}
}

// Size is how many bytes one holder can reserve at most.
func (b *Budget) Size() int64 {
	if b.within == nil {
		return b.size
	}
	return min(b.size, b.within.Size())
}

// Take reserves n bytes at once, or reports that so many are not free.
func (b *Budget) Take(n int64) bool {
	if !b.free.TryAcquire(n) {
		return false
	}
	if b.within != nil && !b.within.Take(n) {
		b.free.Release(n)
		return false
	}
	return true
}

// Wait reserves n bytes when they are free; an error is that of ctx, or n is over the size.
func (b *Budget) Wait(ctx context.Context, n int64) error {
	if n > b.Size() {
		return ErrBudget
	}
	if err := b.free.Acquire(ctx, n); err != nil {
		return err
	}
	if b.within == nil {
		return nil
	}
	if err := b.within.Wait(ctx, n); err != nil {
		b.free.Release(n)
		return err
	}
	return nil
}

// Give returns n bytes.
func (b *Budget) Give(n int64) {
	if b.within != nil {
		b.within.Give(n)
	}
	b.free.Release(n)
}
