package listen

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// ReceiveMemory is the size in bytes of the [Budget] that all network inputs of a process share.
const ReceiveMemory = 56 << 20

// Budget bounds the memory of all connections of an input. Safe for concurrent use.
type Budget struct {
	size   int64
	free   *semaphore.Weighted
	within *Budget
}

// NewBudget makes a Budget of a size in bytes. Reservations also count against within, the budget
// of several inputs; nil is none.
func NewBudget(size int64, within *Budget) *Budget {
	return &Budget{size, semaphore.NewWeighted(size), within}
}

// Size is the maximum reservation of one holder, in bytes.
func (b *Budget) Size() int64 {
	if b.within == nil {
		return b.size
	}
	return min(b.size, b.within.Size())
}

// Take reserves n bytes at once, or reports that they are not available.
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

// Wait reserves n bytes when they are available; an error is that of ctx, or n exceeds the size.
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
