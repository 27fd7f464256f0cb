package main

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"logstow/internal/price"
	"logstow/internal/test/effort"
	"logstow/logql/engine"
	"logstow/logql/storage"
	"logstow/logql/syntax"
	"logstow/query"
	"logstow/serve/limits"
	"logstow/serve/tailwatch"
	"logstow/store"
	"logstow/store/listcache"
	"logstow/store/local"
)

// A directory that does not exist is not made while it is watched either, however long that lasts.
func TestWatchedTailMissingStore(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	synctest.Test(t, func(t *testing.T) {
		s, err := local.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		opened := query.ReadOnly(s)
		opened.Free = true
		watched := newServeWatches(t.Context(), []query.Store{opened}, nil, slog.New(slog.DiscardHandler))
		defer watched.Close()
		watched.Check()
		all := storage.New([]query.Store{opened}, query.Options{TempDir: t.TempDir()}, time.Now)
		b := &backend{View: all.View(storage.Access{}), limits: limits.FromContext(t.Context()), watching: watched}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		polls := 0
		err = b.Tail(ctx, parseLog(t, `{service="web"}`), time.Now().UnixNano(), 10, 5*time.Second, func(*engine.Entry) error { return nil }, func() error {
			polls++
			return nil
		})
		if !errors.Is(err, context.DeadlineExceeded) || polls < 100 {
			t.Errorf("the tail ended with %v after %d polls", err, polls)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Error("the store was made:", err)
		}
	})
}

// responding is tables where a shipper responds to each watch.
type responding struct{}

func (responding) Tables(context.Context, string) iter.Seq2[[]string, error] { panic("not needed") }
func (responding) DropTable(context.Context, string) error                   { panic("not needed") }
func (responding) Remove(context.Context, string, []store.Key) error         { panic("not needed") }

func (responding) CreateTable(context.Context, string) error            { return nil }
func (responding) Upsert(context.Context, string, []store.Entity) error { return nil }

func (responding) Query(_ context.Context, _ string, q store.Query) iter.Seq2[[]store.Entity, error] {
	e := store.Entity{Key: store.Key{Partition: q.Partition, Row: "shipper|a"}, Properties: map[string]any{"V": int64(1)}, Written: time.Now(), Read: time.Now()}
	return func(yield func([]store.Entity, error) bool) { yield([]store.Entity{e}, nil) }
}

// parseLog parses a query of records.
func parseLog(t *testing.T, text string) *syntax.LogExpr {
	t.Helper()
	expr, err := syntax.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return expr.(*syntax.LogExpr)
}

// A tail watches no service that it may not read.
func TestWatchedTailAccess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeServices(t, dir, "pay", "shop")
	for text, want := range map[string]int{
		`{service_name="pay"}`: 0, `{service_name=~"shop|pay"} |= "x"`: 1, `{service=~".+"}`: 1, `{service_name!="shop", service=~".+"}`: 0,
	} {
		synctest.Test(t, func(t *testing.T) {
			s, err := local.Open(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			watched := tailwatch.New(t.Context(), []tailwatch.Store{{Name: "a", Container: "a", Tables: responding{}}}, slog.New(slog.DiscardHandler))
			defer watched.Close()
			all := storage.New([]query.Store{query.ReadOnly(s)}, query.Options{Plan: query.PlanList, TempDir: dir}, time.Now)
			b := &backend{View: all.View(storage.Access{Services: []string{"shop", "shop-*"}}), limits: limits.FromContext(t.Context()), watching: watched}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			polls := 0
			_ = b.Tail(ctx, parseLog(t, text), time.Now().UnixNano(), 10, 5*time.Second, func(*engine.Entry) error { return nil }, func() error {
				polls++
				if n := watched.Status().Services; n != want {
					t.Errorf("%s: %d services are watched, want %d", text, n, want)
				}
				return nil
			})
			if polls < 5 {
				t.Errorf("%s: %d polls", text, polls)
			}
		})
	}
}

// A watched tail polls every second, and lists the current hour then; two tails share listings.
func TestWatchedTailPolls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		watched            bool
		tails              int
		polls, least, most int // in a minute; listings of the current hour
	}{{false, 1, 12, 5, 14}, {true, 1, 60, 60, 61}, {true, 10, 600, 60, 121}} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			s, err := local.Open(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			opened := query.ReadOnly(s)
			lists := &counting{BlobReader: opened.Blobs, now: time.Now, lists: map[string][]time.Time{}}
			opened.Blobs, opened.Compacted = listcache.New(lists, opened.Compacted, time.Now)
			var watched *tailwatch.Watches
			if c.watched {
				watched = tailwatch.New(t.Context(), []tailwatch.Store{{Name: "a", Container: "a", Tables: responding{}}}, slog.New(slog.DiscardHandler))
				defer watched.Close()
			}
			expr := parseLog(t, `{service_name="web"}`)
			all := storage.New([]query.Store{opened}, query.Options{Plan: query.PlanList, TempDir: dir}, time.Now)
			time.Sleep(30 * time.Minute)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var polls atomic.Int64
			var running sync.WaitGroup
			for i := range c.tails {
				running.Go(func() {
					time.Sleep(time.Duration(i) * 97 * time.Millisecond)
					b := &backend{View: all.View(storage.Access{}), limits: limits.FromContext(ctx), watching: watched}
					_ = b.Tail(ctx, expr, time.Now().UnixNano(), 10, 5*time.Second, func(*engine.Entry) error { return nil }, func() error {
						polls.Add(1)
						return nil
					})
				})
			}
			running.Wait()
			current := len(lists.lists["web/"+time.Now().UTC().Format("2006/01/02/15")])
			if n := int(polls.Load()); n < c.polls-c.tails || n > c.polls+c.tails || current < c.least || current > c.most {
				t.Errorf("%+v: %d polls, %d listings of the current hour, all: %v", c, n, current, slices.Collect(maps.Keys(lists.lists)))
			}
		})
	}
}

// What shippers flush early counts against the budget of the day: live tails end when it is spent, none begins until midnight, and then
// they are watched again.
func TestWatchedTailBudget(t *testing.T) {
	effort.Need(t, effort.Test, "takes a second")
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := local.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		opened := query.ReadOnly(s)
		opened.Free = true
		prices := price.Default()
		watched := tailwatch.New(t.Context(), []tailwatch.Store{{Name: "a", Container: "a", Tables: responding{}, Prices: &prices}}, slog.New(slog.DiscardHandler))
		defer watched.Close()
		limiter := limits.New(limits.Options{MaxQueries: 1, MaxQueued: 10, MaxCostPerDay: 0.005, Now: time.Now, OtherCost: watched.Cost})
		expr := parseLog(t, `{service_name="web"}`)
		all := storage.New([]query.Store{opened}, query.Options{Plan: query.PlanList, TempDir: dir}, time.Now)
		tail := func() error {
			ctx, done, err := limiter.Tail(t.Context(), "")
			if err != nil {
				return err
			}
			defer done()
			b := &backend{View: all.View(storage.Access{}), limits: limits.FromContext(ctx), watching: watched}
			return b.Tail(ctx, expr, time.Now().UnixNano(), 10, 5*time.Second, func(*engine.Entry) error { return nil }, func() error { return nil })
		}
		for range 2 { // days; the clock begins at midnight
			began := time.Now()
			var running sync.WaitGroup
			for range 3 { // cost no more than one
				running.Go(func() {
					if err := tail(); !errors.Is(err, limits.ErrDay) {
						t.Errorf("a tail ended: %v", err)
					}
				})
			}
			running.Wait()
			if took := time.Since(began); took < 25*time.Minute || took > 35*time.Minute { // a shipper is a cent an hour
				t.Errorf("tails ended after %v", took)
			}
			if err := tail(); !errors.Is(err, limits.ErrDay) {
				t.Errorf("another tail: %v", err)
			}
			if s := watched.Status(); s != (tailwatch.Status{}) || limiter.State().SpentToday > 0.0051 {
				t.Errorf("%+v, %+v", s, limiter.State())
			}
			time.Sleep(time.Until(began.Truncate(24 * time.Hour).Add(24 * time.Hour)))
		}
	})
}
