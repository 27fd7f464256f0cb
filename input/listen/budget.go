package listen

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// ReceiveMemory is the size in bytes of the [Budget] that all network inputs of a process share. It is enough for the longest
// compressed message of Fluent Forward (16 MiB) and its events (39 MiB).
const ReceiveMemory = 56 << 20

// maxGarbage is how far the sum of reserved bytes, and of returned bytes that are not yet collected, may exceed the size of a [Budget].
const maxGarbage = 16 << 20

// waitTimeout is how long [Budget.Wait] waits.
const waitTimeout = 5 * time.Second

// Budget limits the memory of all connections of an input. It is safe for concurrent use.
//
// Returned memory is garbage, and may be reserved again before it is collected. On a busy machine with several senders of large
// requests, the runtime's collector falls behind, because memory that is allocated during a collection survives it: the process
// then used twice the size. So a reservation that would exceed the size by more than [maxGarbage] waits for a collection.
type Budget struct {
	size   int64
	free   *semaphore.Weighted
	within *Budget

	// taken, returned and collected are totals since the start, in bytes: reserved, returned, and known to be collected after their
	// return. They are used only if within is nil.
	taken, returned, collected atomic.Int64
	// collecting is held during a forced collection. watching is set while watch waits for a collection of the runtime.
	collecting sync.Mutex
	watching   atomic.Bool
}

// NewBudget returns a Budget of a size in bytes. Reservations also count against within, the budget of several
// inputs, which may be nil.
func NewBudget(size int64, within *Budget) *Budget {
	return &Budget{size: size, free: semaphore.NewWeighted(size), within: within}
}

// Size returns the maximum of one reservation, in bytes.
func (b *Budget) Size() int64 {
	if b.within == nil {
		return b.size
	}
	return min(b.size, b.within.Size())
}

// Take reserves n bytes if they are available, and reports whether they were. It does not wait for others to return memory.
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

// Wait waits until n bytes are available, at most five seconds, and reserves them. The error is that of a context, or [ErrBudget] if
// n exceeds the size.
func (b *Budget) Wait(ctx context.Context, n int64) error {
	if n > b.Size() {
		return ErrBudget
	}
	if b.Take(n) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
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

// reserved counts n reserved bytes, and collects garbage if there may be too much.
func (b *Budget) reserved(n int64) {
	limit := b.size + maxGarbage
	if b.taken.Add(n)-b.collected.Load() <= limit {
		return
	}
	b.collecting.Lock()
	defer b.collecting.Unlock()
	if b.taken.Load()-b.collected.Load() <= limit { // another goroutine has collected it
		return
	}
	returned := b.returned.Load()
	runtime.GC()
	b.isCollected(returned)
}

// watch waits for the next collection of the runtime. It allocates an object: when the object is collected, so is all memory that was
// returned before.
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

// isCollected notes that the first n bytes that were returned are collected.
func (b *Budget) isCollected(n int64) {
	for {
		before := b.collected.Load()
		if before >= n || b.collected.CompareAndSwap(before, n) {
			return
		}
	}
}
