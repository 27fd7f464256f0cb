package tailwatch

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"logstow/internal/price"
	"logstow/store"
	"logstow/watch"
)

// tables is a store with these tables.
type tables struct {
	store.Store
	*memory
}

func (p tables) Tables() store.Tables { return p.memory }
func (p tables) Container() string    { return "logs" }
func (p tables) String() string       { return "memory" }

// busy is a buffer that always has new records.
type busy struct{}

func (busy) Services() []string                                  { return []string{"web"} }
func (busy) FlushService(context.Context, string) int            { return 1 }
func (busy) SetFollowed(string, bool)                            {}
func (busy) WaitStored(context.Context, string, time.Time) error { return nil }

// shippers runs shippers of web; flushes is how often they flushed early until now.
func shippers(t *testing.T, m *memory, n int) (flushes func() int, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	var all []*watch.Flusher
	for i := range n {
		f := watch.NewFlusher(watch.FlusherOptions{
			Instance: fmt.Sprint("i-", i), Settings: watch.Settings{Interval: watch.DefaultInterval, MaxFlushes: 1 << 30},
			Stores: func(context.Context) []store.Store { return []store.Store{tables{memory: m}} },
		})
		all = append(all, f)
		running.Go(func() { f.Run(ctx, busy{}) })
	}
	flushes = func() (n int) {
		for _, f := range all {
			n += int(f.Stats().Flushes)
		}
		return n
	}
	return flushes, func() {
		cancel()
		running.Wait()
	}
}

// The cost of watches is at least that of what shippers flushed early and of all requests, and not much more: of long tails, of many at once, and of
// tails that are shorter than it takes to count the shippers, with pauses that are shorter and longer than a watch lives.
func TestCost(t *testing.T) {
	prices := price.Default()
	for _, c := range []struct {
		shippers     int
		tails        int
		open, closed time.Duration
		lasts        time.Duration
		most         float64 // of the real cost
	}{
		{1, 1, time.Hour, time.Hour, 2 * time.Hour, 1.1},
		{20, 30, time.Hour, time.Hour, 2 * time.Hour, 1.1},
		{100, 1, 10 * time.Minute, time.Minute, 10 * time.Minute, 1.1},
		{20, 1, 3 * time.Second, 4 * time.Second, 10 * time.Minute, 1.1},
		{20, 1, 3 * time.Second, 30 * time.Second, 10 * time.Minute, 1.1},
		{20, 1, time.Second, 200 * time.Second, 20 * time.Minute, 1.4},
		{200, 1, time.Second, 100 * time.Second, 10 * time.Minute, 1.6},
		{0, 1, time.Hour, time.Second, time.Hour, 1.8},
	} {
		t.Run(fmt.Sprintf("%d shippers, %d tails for %v", c.shippers, c.tails, c.open), func(t *testing.T) {
			world(t, func(t *testing.T, w *Watches, m *memory, _ *logged) {
				flushes, stop := shippers(t, m, c.shippers)
				defer stop()
				time.Sleep(time.Minute)
				idle := c.shippers * 12 // polls in a minute, which are not those of watches
				m.written()
				began := time.Now()
				for time.Since(began) < c.lasts {
					var all []*Tail
					for range c.tails {
						tail := w.Tail()
						tail.Watch([]string{"web"})
						all = append(all, tail)
					}
					time.Sleep(c.open)
					for _, tail := range all {
						tail.Close()
					}
					time.Sleep(c.closed)
				}
				time.Sleep(watch.Lifetime)
				_, requests := m.written()
				usage := price.Usage{Create: int64(flushes()), Table: int64(flushes() + requests - int(time.Since(began).Minutes()*float64(idle)))}
				real := prices.Cost(usage)
				if w.Cost() < real || w.Cost() > real*c.most {
					t.Errorf("$%.5f for %d flushes and %d requests, which cost $%.5f: %.2f times as much", w.Cost(), flushes(), requests, real, w.Cost()/real)
				}
			}, func(_ *memory, s *Store) { s.Prices = &prices })
		})
	}
}

// Watches in a directory are free.
func TestFree(t *testing.T) {
	world(t, func(t *testing.T, w *Watches, m *memory, _ *logged) {
		flushes, stop := shippers(t, m, 3)
		defer stop()
		tail := w.Tail()
		defer tail.Close()
		tail.Watch([]string{"web"})
		time.Sleep(time.Hour)
		if flushes() < 1000 || w.Cost() != 0 {
			t.Errorf("%d flushes cost $%v", flushes(), w.Cost())
		}
	}, nil)
}
