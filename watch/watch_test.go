package watch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"logstow/internal/test/effort"
	"logstow/store"
	"logstow/watch"
)

// Only the watched service is flushed: within a poll, then every two seconds, until the watch expires; clocks do not matter.
func TestFlushesWhileWatched(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{0, 3 * time.Hour, -3 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			m, s := newMemory(), newSpool(time.Millisecond, "db", "web")
			m.ahead = ahead
			r := start(t)
			defer r.stop()
			f := r.flusher(m, s, "i", defaults)
			time.Sleep(time.Hour)
			if n := len(s.flushes("web")); n != 0 {
				t.Errorf("%d flushes without a watch", n)
			}
			began := time.Now()
			w, stop := r.watcher(m, "web")
			time.Sleep(time.Minute)
			flushes := s.flushes("web")
			if len(flushes) == 0 || flushes[0].Sub(began) > watch.DefaultInterval {
				t.Fatalf("flushes at %v", flushes)
			}
			for i := 2; i < len(flushes); i++ {
				if d := flushes[i].Sub(flushes[i-1]); d != watch.MinFlushInterval {
					t.Errorf("flush %d after %v", i, d)
				}
			}
			s.mu.Lock()
			if !s.followed["web"] || s.followed["db"] {
				t.Errorf("followed: %v", s.followed)
			}
			s.mu.Unlock()
			if len(flushes) < 26 || f.Stats().Watched != 1 || f.Stats().Flushes != uint64(len(flushes)) {
				t.Errorf("%d flushes in a minute, %+v", len(flushes), f.Stats())
			}
			if s := w.Status(); s.Services != 1 || s.Shippers != 1 || s.Usage.Create != 1800 {
				t.Errorf("%+v", s)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			ended := time.Now()
			time.Sleep(time.Hour)
			flushes = s.flushes("web")
			if last := flushes[len(flushes)-1].Sub(ended); last > watch.Lifetime+2*time.Second || f.Stats().Watched != 0 {
				t.Errorf("flushed until %v after the end, %+v", last, f.Stats())
			}
			if n := len(s.flushes("db")); n != 0 || s.followed["web"] {
				t.Errorf("%d flushes of another service, followed: %v", n, s.followed)
			}
		})
	}
}

// A service without records is not flushed, and polling is one request an interval; 0 is none, until a reload.
func TestIdleRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, s := newMemory(), newSpool(0, "db", "web")
		r := start(t)
		defer r.stop()
		f := r.flusher(m, s, "i", defaults)
		time.Sleep(time.Hour)
		if n := m.count(); n != 720 {
			t.Errorf("%d requests in an hour", n)
		}
		for settings, want := range map[watch.Settings]int64{{}: 0, {Interval: time.Minute}: 60} {
			f.Configure(settings)
			synctest.Wait()
			before := m.count()
			time.Sleep(time.Hour)
			if n := m.count() - before; n < want-1 || n > want { // the first poll is after a part of the interval
				t.Errorf("%v: %d requests in an hour, want %d", settings.Interval, n, want)
			}
		}
	})
}

// A watcher sends the documented number of requests.
func TestWatcherRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		r := start(t)
		defer r.stop()
		w, _ := r.watcher(m, "db", "web")
		time.Sleep(time.Minute + time.Millisecond) // it sends requests on whole seconds
		before := m.count()
		time.Sleep(time.Hour)
		if n := m.count() - before; n > 2*1140 || n < 2*1100 || w.Status().Usage.Table != 2*1140 {
			t.Errorf("%d requests in an hour, %+v", n, w.Status())
		}
	})
}

// That there is no service to watch is reported like a count, and services that appear are watched.
func TestWatcherWithoutServices(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		r := start(t)
		defer r.stop()
		var services atomic.Pointer[[]string]
		services.Store(new([]string))
		w := newWatcher(m)
		w.Services = func(context.Context) ([]string, error) { return *services.Load(), nil }
		var counted atomic.Int64
		r.Go(func() { _ = w.Run(r.ctx, func() { counted.Add(1) }) })
		time.Sleep(time.Minute)
		synctest.Wait()
		if got, want := counted.Load(), int64(15); got < want || w.Status().Services != 0 {
			t.Errorf("counted %d times in a minute, want %d; %+v", got, want, w.Status())
		}
		services.Store(&[]string{"web"})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if w.Status().Services != 1 {
			t.Errorf("%+v", w.Status())
		}
	})
}

// The rate of a service's flushes is bounded, for each of many watchers' and shippers' numbers.
func TestManyShippers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ shippers, watchers int }{{1, 3}, {20, 1}, {20, 10}, {many(), 3}} {
		t.Run(fmt.Sprintf("%d shippers, %d watchers", c.shippers, c.watchers), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				r := start(t)
				defer r.stop()
				spools := r.flushers(m, c.shippers)
				time.Sleep(time.Minute)
				began := time.Now()
				var watchers []*watch.Watcher
				for range c.watchers {
					w, _ := r.watcher(m, "web")
					watchers = append(watchers, w)
				}
				time.Sleep(5 * time.Minute)
				var all []time.Time
				for _, s := range spools {
					flushes := s.flushes("web")
					if len(flushes) == 0 || flushes[0].Sub(began) > watch.DefaultInterval {
						t.Fatalf("first flush at %v", flushes)
					}
					all = append(all, flushes...)
				}
				// Each flushes once at the start, and in the first polls a few more before all are counted.
				regular := float64(c.shippers) * 5 * time.Minute.Seconds() / watch.FlushInterval(c.shippers).Seconds()
				if n := float64(len(all)); n > regular+2.2*float64(c.shippers) || n < 0.9*regular {
					t.Errorf("%v flushes in 5 minutes, want %v", n, regular)
				}
				// Minutes after the first.
				slices.SortFunc(all, time.Time.Compare)
				bound := min(10.0, float64(c.shippers)/2)
				for i := range all {
					to, _ := slices.BinarySearchFunc(all, all[i].Add(time.Minute), time.Time.Compare)
					if rate := float64(to-i) / 60; all[i].Sub(began) > 2*time.Minute && rate > 1.2*bound {
						t.Fatalf("%.1f flushes a second %v after the start, want about %v", rate, all[i].Sub(began), bound)
					}
				}
				if s := watchers[0].Status(); s.Shippers != c.shippers {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

// A watcher that comes when others are there writes at once how many shippers respond: the rate of flushes stays at its bound. So it
// does for a service that is new to it.
func TestLaterWatcher(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		r := start(t)
		defer r.stop()
		spools := r.flushers(m, many())
		r.watcher(m, "web")
		time.Sleep(5 * time.Minute)
		wantBound := func(what string) {
			t.Helper()
			began, n := time.Now(), 0
			time.Sleep(20 * time.Second)
			for _, s := range spools {
				flushes := s.flushes("web")
				from, _ := slices.BinarySearchFunc(flushes, began, time.Time.Compare)
				n += len(flushes) - from
			}
			if n > 300 || n < 120 { // Random: 180 to 257 in hundreds of runs, 694 if the shippers are not counted first.
				t.Errorf("%s: %d flushes in 20 seconds, want 200", what, n)
			}
		}
		wantBound("one watcher")
		r.watcher(m, "web")
		wantBound("a second one")
		services := []string{"db"}
		w := newWatcher(m)
		var mu sync.Mutex
		w.Services = func(context.Context) ([]string, error) {
			mu.Lock()
			defer mu.Unlock()
			return services, nil
		}
		r.Go(func() { _ = w.Run(r.ctx, func() {}) })
		time.Sleep(50 * time.Second)
		mu.Lock()
		services = []string{"db", "web"}
		mu.Unlock()
		wantBound("a service that is new")
	})
}

// Access that is denied is logged once, and nothing is flushed; later it is tried again.
func TestDenied(t *testing.T) {
	t.Parallel()
	denied := &store.Error{Op: "query", Object: "table", Class: store.ErrAccessDenied}
	for name, fail := range map[string]func(*memory){
		"read":  func(m *memory) { m.fail(denied, denied) },
		"write": func(m *memory) { m.fail(nil, denied) },
	} {
		synctest.Test(t, func(t *testing.T) {
			m, s := newMemory(), newSpool(time.Millisecond, "web")
			var logged bytes.Buffer
			r := start(t)
			defer r.stop()
			f := watch.NewFlusher(watch.FlusherOptions{
				Instance: "i", Settings: defaults, Log: slog.New(slog.NewTextHandler(&logged, nil)),
				Stores: func(context.Context) []store.Store { return []store.Store{place{memory: m}} },
			})
			w := newWatcher(m, "web")
			if _, err := w.AwaitFlush(t.Context()); err != nil { // a watch that lives on
				t.Fatal(err)
			}
			fail(m)
			r.Go(func() { f.Run(r.ctx, s) })
			time.Sleep(20 * time.Second)
			if n := m.count(); len(s.flushes("web")) != 0 || n > 30 {
				t.Errorf("%s: %d flushes, %d requests", name, len(s.flushes("web")), n)
			}
			m.fail(nil, nil)
			time.Sleep(time.Hour)
			_, stop := r.watcher(m, "web")
			time.Sleep(time.Minute)
			if len(s.flushes("web")) == 0 {
				t.Errorf("%s: no flushes after it was allowed", name)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Hour)
			fail(m)
			time.Sleep(time.Hour)
			if n := strings.Count(logged.String(), "no watches: live tails see records after the flush interval"); n != 1 || strings.Contains(logged.String(), "WARN") {
				t.Errorf("%s: logged %q", name, logged.String())
			}
			if err := w.Run(t.Context(), func() {}); !errors.Is(err, store.ErrAccessDenied) {
				t.Errorf("%s: the watcher's error is %v", name, err)
			}
		})
	}
}

// At the limit of a day nothing is flushed early until midnight; that is logged once.
func TestDayLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, s := newMemory(), newSpool(time.Millisecond, "db", "web")
		var logged bytes.Buffer
		r := start(t)
		defer r.stop()
		f := watch.NewFlusher(watch.FlusherOptions{
			Instance: "i", Settings: watch.Settings{Interval: time.Second, MaxFlushes: 100}, Log: slog.New(slog.NewTextHandler(&logged, nil)),
			Stores: func(context.Context) []store.Store { return []store.Store{place{memory: m}} },
		})
		r.Go(func() { f.Run(r.ctx, s) })
		r.watcher(m, "web")
		time.Sleep(24*time.Hour - time.Second) // the clock begins at midnight
		if n := len(s.flushes("web")); n != 100 || f.Stats().Limited == 0 {
			t.Errorf("%d flushes in a day, %+v", n, f.Stats())
		}
		r.watcher(m, "db")
		time.Sleep(time.Minute)
		if n := len(s.flushes("web")); n < 120 || len(s.flushes("db")) == 0 {
			t.Errorf("%d flushes on the next day, %d of another service", n, len(s.flushes("db")))
		}
		if n := strings.Count(logged.String(), "limit of early flushes reached"); n != 1 {
			t.Errorf("logged %q", logged.String())
		}
	})
}

// What a writer may set has no effect on how long a watch lives; entities of other versions and expired ones are ignored.
func TestForgedWatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, s := newMemory(), newSpool(time.Millisecond, "web", "x")
		r := start(t)
		defer r.stop()
		put := func(service string, properties map[string]any) {
			t.Helper()
			e := store.Entity{Key: store.Key{Partition: "watch|", Row: service}, Properties: properties}
			if err := errors.Join(m.CreateTable(r.ctx, watch.Table("logs")), m.Upsert(r.ctx, watch.Table("logs"), []store.Entity{e})); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		put("web", map[string]any{"V": int64(1), "Shippers": int64(-5), "Written": "9999-12-31T23:59:59Z", "Until": int64(1 << 62)})
		put("x", map[string]any{"V": int64(2)})
		r.flusher(m, s, "i", defaults)
		time.Sleep(time.Hour)
		flushes := s.flushes("web")
		if n := len(flushes); n < 10 || n > 25 || flushes[n-1].Sub(began) > watch.Lifetime+2*time.Second {
			t.Errorf("flushes at %v", flushes)
		}
		for i := 1; i < len(flushes); i++ {
			if flushes[i].Sub(flushes[i-1]) < watch.MinFlushInterval {
				t.Errorf("flushes %v apart", flushes[i].Sub(flushes[i-1]))
			}
		}
		if len(s.flushes("x")) != 0 {
			t.Error("a watch of another version was followed")
		}
	})
}

// AwaitFlush waits for all that respond, and names those that do not flush in time.
func TestAwaitFlush(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		r := start(t)
		defer r.stop()
		w := newWatcher(m, "web")
		await := func(wantLive int, want ...string) (took time.Duration) {
			t.Helper()
			began := time.Now()
			flushed, err := w.AwaitFlush(r.ctx)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, s := range flushed.Late {
				names = append(names, s.Instance)
			}
			if flushed.Live != wantLive || !slices.Equal(names, want) {
				t.Errorf("%d live, late %q, want %d and %q", flushed.Live, names, wantLive, want)
			}
			return time.Since(began)
		}
		if took := await(0); took > 8*time.Second {
			t.Errorf("%v without shippers", took)
		}
		var spools []*spool
		for _, instance := range instances(20) {
			s := newSpool(0, "web")
			s.stored = 300 * time.Millisecond
			spools = append(spools, s)
			r.flusher(m, s, instance, defaults)
		}
		spools[3].every = time.Millisecond
		began := time.Now()
		if took := await(20); took > 8*time.Second {
			t.Errorf("%v for 20 shippers", took)
		}
		if flushes := spools[3].flushes("web"); len(flushes) == 0 || flushes[0].Before(began) {
			t.Errorf("the shipper with records flushed at %v", flushes)
		}
		spools[5].mu.Lock()
		spools[5].stored = time.Hour
		spools[5].mu.Unlock()
		time.Sleep(20 * time.Second) // the watch still lives
		if took := await(20, "i-0005"); took < watch.FreshTimeout || took > watch.FreshTimeout+time.Second {
			t.Errorf("%v for a shipper that does not flush", took)
		}
	})
}

// Many shippers of which the records are awaited once flush once, and at their rate until the watch expires.
func TestAwaitManyFlushes(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "flushes for an hour of its clock")
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		r := start(t)
		defer r.stop()
		spools := r.flushers(m, many())
		time.Sleep(time.Minute)
		if f, err := newWatcher(m, "web").AwaitFlush(r.ctx); err != nil || len(f.Late) > 0 || f.Live != many() {
			t.Errorf("%d of %d late, %v", len(f.Late), f.Live, err)
		}
		time.Sleep(time.Hour)
		n := 0
		for _, s := range spools {
			n += len(s.flushes("web"))
		}
		// Ten a second for the lifetime of a watch, as random times fall at most twice; each every two seconds would be 22,500.
		if limit := many() + 2*10*int(watch.Lifetime.Seconds()); n < many() || n > limit {
			t.Errorf("%d flushes, want %d to %d", n, many(), limit)
		}
	})
}

// The entities of shippers that are long gone are removed.
func TestGarbage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		old := start(t)
		for _, instance := range instances(150) {
			old.flusher(m, newSpool(0, "web"), instance, defaults)
		}
		_, _ = old.watcher(m, "web")
		time.Sleep(time.Minute)
		old.stop()
		time.Sleep(25 * time.Hour)
		r := start(t)
		defer r.stop()
		r.flusher(m, newSpool(0, "web"), "new", defaults)
		r.watcher(m, "web")
		time.Sleep(time.Minute)
		m.mu.Lock()
		defer m.mu.Unlock()
		if n := len(m.tables[watch.Table("logs")]); n != 2 {
			t.Errorf("%d entities, want the watch and one shipper", n)
		}
	})
}
