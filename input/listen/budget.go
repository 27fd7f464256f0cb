package listen

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// Budget bounds the bytes that all connections of an input hold together. Safe
// for concurrent use.
type Budget struct {
	size int64
	free *semaphore.Weighted
}

// NewBudget makes a Budget of that many bytes.
func NewBudget(size int64) *Budget { return &Budget{size, semaphore.NewWeighted(size)} }

// Take reserves n bytes at once, or reports that so many are not free.
func (b *Budget) Take(n int64) bool { return b.free.TryAcquire(n) }

// Wait reserves n bytes when they are free; an error is that of ctx, or n is over the size.
func (b *Budget) Wait(ctx context.Context, n int64) error {
	if n > b.size {
		return ErrBudget
	}
	return b.free.Acquire(ctx, n)
}

// Give returns n bytes.
func (b *Budget) Give(n int64) { b.free.Release(n) }
