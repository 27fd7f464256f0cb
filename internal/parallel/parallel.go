// Package parallel has one way to work on items in parallel and to use the results in order.
package parallel

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
)

// Window limits the work in flight.
type Window struct {
	// First is the initial number of items in flight. It grows by one with every result, up to Max, so that little work
	// is wasted if the caller stops early.
	First, Max int
	// Bytes limits the sum of the weights of items in flight; one item is always allowed.
	Bytes int64
	// Shared limits the weights together with those of other windows; one item of each is always allowed. Nil is no limit.
	Shared *Budget
}

// Budget limits the sum of the weights of several windows. Safe for concurrent use.
type Budget struct {
	limit int64
	used  atomic.Int64
}

// NewBudget makes a Budget of a number of bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// left reports whether a window may have more than one item in flight.
func (b *Budget) left() bool { return b == nil || b.used.Load() < b.limit }

// add adds to what is used.
func (b *Budget) add(n int64) {
	if b != nil {
		b.used.Add(n)
	}
}

// Ordered calls f on items in parallel, and yields the results in the order
// of the items. It returns when all calls have ended; f must return when its context ends.
func Ordered[T, R any](ctx context.Context, w Window, items iter.Seq[T], weigh func(T) int64, f func(context.Context, T) R) iter.Seq[R] {
	type slot struct {
		result chan R
		weight int64
	}
	type call struct {
		item   T
		result chan<- R
	}
	return func(yield func(R) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		// Goroutines are reused, because each new one would have to grow its stack.
		calls := make(chan call)
		defer close(calls)
		start := func(c call) {
			select {
			case calls <- c: // one is idle
			default:
				wg.Go(func() {
					for ok := true; ok; c, ok = <-calls {
						c.result <- f(ctx, c.item)
					}
				})
			}
		}
		next, stop := iter.Pull(items)
		defer stop()
		var queue []slot
		var bytes int64
		defer func() { w.Shared.add(-bytes) }()
		for more, width := true, w.First; ; width = min(width+1, w.Max) {
			for more && len(queue) < width && (len(queue) == 0 || bytes < w.Bytes && w.Shared.left()) {
				item, ok := next()
				if !ok {
					more = false
					break
				}
				s := slot{make(chan R, 1), weigh(item)}
				start(call{item, s.result})
				queue = append(queue, s)
				bytes += s.weight
				w.Shared.add(s.weight)
			}
			if len(queue) == 0 {
				return
			}
			result := <-queue[0].result
			bytes -= queue[0].weight
			w.Shared.add(-queue[0].weight)
			queue = queue[1:]
			if !yield(result) {
				return
			}
		}
	}
}
