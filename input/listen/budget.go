package listen

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// ReceiveMemory is the size in bytes of the [Budget] that all network inputs of a process share: enough for the longest
// compressed message of Fluent Forward and its events, 16 and 39 MiB.
const ReceiveMemory = 56 << 20

// maxGarbage is how many bytes beyond the size of a [Budget] may be reserved, or returned and not yet collected.
const maxGarbage = 16 << 20

// Budget bounds the memory of all connections of an input. Safe for concurrent use.
//
// Memory that was returned is garbage, and may be reserved again before it is collected. On a busy machine the runtime's collector
// falls behind several senders of large requests, because what is allocated while it runs survives: they took twice the size. A
// reservation after which more than [maxGarbage] beyond the size is not collected therefore waits for a collection.
type Budget struct {
	size   int64
	free   *semaphore.Weighted
	within *Budget

	// taken, returned and collected are how many bytes have ever been reserved, returned, and collected after that. They are used if
	// within is nil.
	taken, returned, collected atomic.Int64
	// collecting is held during a collection, watching is set while watch waits for one of the runtime.
	collecting sync.Mutex
	watching   atomic.Bool
}

// NewBudget makes a Budget of a size in bytes. Reservations also count against within, the budget
// of several inputs; nil is none.
func NewBudget(size int64, within *Budget) *Budget {
	return &Budget{size: size, free: semaphore.NewWeighted(size), within: within}
}

// Size is the maximum reservation of one holder, in bytes.
func (b *Budget) Size() int64 {
	if b.within == nil {
		return b.size
	}
	return min(b.size, b.within.Size())
}

// Take reserves n bytes without waiting for others to return some, or reports that they are not available.
func (b *Budget) Take(n int64) bool {
	if !b.free.TryAcquire(n) {
		return false
	}
	if b.within == nil {
		b.reserved(n)
		return true
	}
	if !b.within.Take(n) {
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
		b.reserved(n)
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
	} else {
		b.returned.Add(n)
		b.watch()
	}
	b.free.Release(n)
}

// reserved counts n bytes, and collects garbage if there may be too much.
func (b *Budget) reserved(n int64) {
	most := b.size + maxGarbage
	if b.taken.Add(n)-b.collected.Load() <= most {
		return
	}
	b.collecting.Lock()
	defer b.collecting.Unlock()
	if b.taken.Load()-b.collected.Load() <= most { // another one did
		return
	}
	returned := b.returned.Load()
	runtime.GC()
	b.isCollected(returned)
}

// watch counts the next collection that the runtime begins: with all that has been returned it collects an object allocated after it.
func (b *Budget) watch() {
	if b.watching.Load() || !b.watching.CompareAndSwap(false, true) {
		return
	}
	returned := b.returned.Load()
	runtime.AddCleanup(&struct{ _ *Budget }{}, func(returned int64) {
		b.watching.Store(false)
		b.isCollected(returned)
	}, returned)
}

// isCollected is called when the first n bytes that were returned are collected.
func (b *Budget) isCollected(n int64) {
	for {
		before := b.collected.Load()
		if before >= n || b.collected.CompareAndSwap(before, n) {
			return
		}
	}
}
