package fetch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// No more blocks than processors are searched at a time, a query that keeps one delays the others by a limited time only, and none is
// lost.
func TestProcessors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewProcessors(1)
		first := p.acquire(t.Context())
		got := make(chan func(), 1)
		go func() { got <- p.acquire(t.Context()) }()
		synctest.Wait()
		if len(got) > 0 {
			t.Error("two at a time")
		}
		first()
		second := <-got
		began := time.Now()
		without := p.acquire(t.Context())
		if took := time.Since(began); took != longestTurn {
			t.Errorf("waited for %v", took)
		}
		without()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		began = time.Now()
		p.acquire(ended)()
		if took := time.Since(began); took != 0 {
			t.Errorf("waited for %v after the end of the query", took)
		}
		second()
		if len(p.free) != 1 {
			t.Errorf("%d are free", len(p.free))
		}
		(*Processors)(nil).acquire(t.Context())()
	})
}
