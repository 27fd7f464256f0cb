package parallel

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// Windows that share a budget have no more in flight together, except that one item of each is always allowed, and give back all.
func TestSharedBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := NewBudget(20)
		w := Window{First: 10, Max: 10, Bytes: 1000, Shared: shared}
		weigh := func(int) int64 { return 10 }
		var running atomic.Int32
		hold := make(chan struct{})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for range Ordered(t.Context(), w, slices.Values(make([]int, 9)), weigh, func(context.Context, int) int {
				running.Add(1)
				<-hold
				return 0
			}) {
			}
		}()
		synctest.Wait()
		if n := running.Load(); n != 2 {
			t.Errorf("%d in flight, want 2", n)
		}
		var most, now atomic.Int32
		n := 0
		for range Ordered(t.Context(), w, slices.Values(make([]int, 9)), weigh, func(context.Context, int) int {
			most.Store(max(most.Load(), now.Add(1)))
			now.Add(-1)
			return 0
		}) {
			if n++; n == 5 {
				break
			}
		}
		if n != 5 || most.Load() != 1 {
			t.Errorf("another one got %d results, at most %d in flight", n, most.Load())
		}
		close(hold)
		<-ended
		if used := shared.used.Load(); used != 0 {
			t.Errorf("%d bytes are left in use", used)
		}
	})
}
