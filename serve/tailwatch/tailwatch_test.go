package tailwatch

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"logstow/store"
	"logstow/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a store's tables in memory: one table.
type memory struct {
	mu       sync.Mutex
	created  bool
	entities map[store.Key]store.Entity
	// upserts counts the entities written by service, requests all requests; err is the error of requests that write.
	upserts  map[string]int
	requests int
	err      error
	// hold, if it is not nil, holds up requests that write until it is closed.
	hold chan struct{}
}

func newMemory() *memory {
	return &memory{entities: map[store.Key]store.Entity{}, upserts: map[string]int{}}
}

func (m *memory) Tables(context.Context, string) iter.Seq2[[]string, error] { panic("not needed") }
func (m *memory) DropTable(context.Context, string) error                   { panic("not needed") }
func (m *memory) Remove(context.Context, string, []store.Key) error         { panic("not needed") }

func (m *memory) Query(_ context.Context, _ string, q store.Query) iter.Seq2[[]store.Entity, error] {
	return func(yield func([]store.Entity, error) bool) {
		m.mu.Lock()
		m.requests++
		var page []store.Entity
		for k, e := range m.entities {
			if k.Partition == q.Partition && k.Row >= q.RowFrom && k.Row < q.RowTo {
				e.Read = time.Now()
				page = append(page, e)
			}
		}
		m.mu.Unlock()
		yield(page, nil)
	}
}

func (m *memory) CreateTable(context.Context, string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	m.created = m.created || m.err == nil
	return m.err
}

func (m *memory) Upsert(_ context.Context, _ string, entities []store.Entity) error {
	if m.hold != nil {
		<-m.hold
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	switch {
	case m.err != nil:
		return m.err
	case !m.created:
		return store.ErrNoTable
	}
	for _, e := range entities {
		e.Written = time.Now()
		m.entities[e.Key] = e
		if e.Partition == "watch|" {
			m.upserts[e.Row]++
		}
	}
	return nil
}

// exists reports whether the table was created.
func (m *memory) exists() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.created
}

// shipper writes the entity of a shipper that responds.
func (m *memory) shipper(t *testing.T, service, instance string) {
	t.Helper()
	e := store.Entity{Key: store.Key{Partition: service, Row: "shipper|" + instance}, Properties: map[string]any{"V": int64(1), "Flushed": int64(1)}}
	if err := m.Upsert(t.Context(), "", []store.Entity{e}); err != nil {
		t.Fatal(err)
	}
}

// fail sets the error of requests that write.
func (m *memory) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

// written are the services whose watches were written since the last call, with how often; count is the number of all requests.
func (m *memory) written() (services map[string]int, count int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	services, m.upserts = m.upserts, map[string]int{}
	count, m.requests = m.requests, 0
	return services, count
}

// logged is a log in memory.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logged) count(text string) int { return strings.Count(l.String(), text) }

const (
	watchedLog   = `msg="live tails are watched`
	unwatchedLog = `msg="live tails are not watched`
)

// world runs a test with watches over some tables. Its clock is fake.
func world(t *testing.T, test func(t *testing.T, w *Watches, m *memory, log *logged), change func(*memory, *Store)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, log := newMemory(), &logged{}
		s := Store{Name: "logs", Container: "logs", Tables: m}
		if change != nil {
			change(m, &s)
		}
		w := New(t.Context(), []Store{s}, slog.New(slog.NewTextHandler(log, nil)))
		defer w.Close()
		w.Check()
		synctest.Wait()
		test(t, w, m, log)
	})
}

// Nothing is written before a tail but the table; many tails of a service cost as much as one; the watch ends with the last of them.
func TestShared(t *testing.T) {
	world(t, func(t *testing.T, w *Watches, m *memory, log *logged) {
		time.Sleep(time.Hour)
		if _, requests := m.written(); requests != 1 || !m.exists() || log.count(watchedLog) != 1 {
			t.Errorf("%d requests without tails, logged %s", requests, log.String())
		}
		hour := func() (map[string]int, int) {
			m.written()
			time.Sleep(time.Hour)
			return m.written()
		}
		first := w.Tail()
		first.Watch([]string{"web"})
		time.Sleep(time.Second) // its requests are every whole four seconds
		one, requests := hour()
		if n := one["web"]; len(one) != 1 || n < 60*60/15 || n > 60*60/10 || requests > 1300 {
			t.Errorf("one tail: %v, %d requests in an hour", one, requests)
		}
		var tails []*Tail
		for range 20 {
			tail := w.Tail()
			for range 3 { // polls
				tail.Watch([]string{"web"})
			}
			tails = append(tails, tail)
		}
		if many, all := hour(); !maps.Equal(many, one) || all != requests {
			t.Errorf("21 tails: %v, %d requests in an hour, one tail: %v, %d requests", many, all, one, requests)
		}
		tails[0].Watch([]string{"db", "web"}) // a service that is new
		if both, _ := hour(); len(both) != 2 || w.Status().Services != 2 {
			t.Errorf("two services: %v, %+v", both, w.Status())
		}
		first.Close()
		for _, tail := range tails[1:] {
			tail.Close()
			tail.Close() // has no effect
		}
		if left, _ := hour(); len(left) != 2 {
			t.Errorf("one tail is left: %v", left)
		}
		tails[0].Close()
		time.Sleep(time.Second)
		m.written()
		time.Sleep(time.Hour)
		if left, requests := m.written(); requests != 0 || w.Status() != (Status{}) {
			t.Errorf("after the last tail: %v, %d requests, %+v", left, requests, w.Status())
		}
	}, nil)
}

// A tail polls often from its start on, and goes on to do so if shippers respond.
func TestInterval(t *testing.T) {
	world(t, func(t *testing.T, w *Watches, m *memory, _ *logged) {
		tail := w.Tail()
		defer tail.Close()
		want := func(want time.Duration) {
			t.Helper()
			if got := tail.Interval(5 * time.Second); got != want {
				t.Errorf("polls every %v, want %v", got, want)
			}
		}
		wantWatched := func(want bool) {
			t.Helper()
			if tail.Watched() != want {
				t.Errorf("watched: %v", !want)
			}
		}
		want(5 * time.Second)
		tail.Watch([]string{"db", "web"})
		want(time.Second)
		if got := tail.Interval(time.Millisecond); got != time.Millisecond {
			t.Errorf("polls every %v", got)
		}
		time.Sleep(responseTime)
		want(5 * time.Second)
		wantWatched(false)
		m.shipper(t, "web", "a")
		time.Sleep(5 * time.Second)
		want(time.Second)
		wantWatched(true)
		if s := w.Status(); s != (Status{Services: 2, Shippers: 1}) {
			t.Errorf("%+v", s)
		}
		time.Sleep(watch.Lifetime) // it is gone
		want(5 * time.Second)
		wantWatched(false)
	}, nil)
}

// A store that denies watches is logged once, tried again later, and used then.
func TestDenied(t *testing.T) {
	denied := &store.Error{Op: "upsert", Object: "table", Class: store.ErrAccessDenied}
	world(t, func(t *testing.T, w *Watches, m *memory, log *logged) {
		tail := w.Tail()
		defer tail.Close()
		tail.Watch([]string{"web"})
		synctest.Wait()
		if got := tail.Interval(5 * time.Second); got != 5*time.Second || w.Status().Services != 0 {
			t.Errorf("polls every %v, %+v", got, w.Status())
		}
		m.written()
		time.Sleep(time.Hour)
		if _, requests := m.written(); requests > 6*2 {
			t.Errorf("%d requests in an hour", requests)
		}
		m.fail(nil)
		time.Sleep(deniedInterval + 10*time.Second)
		if written, _ := m.written(); written["web"] == 0 || w.Status().Services != 1 || log.count(watchedLog) != 1 {
			t.Errorf("after it was allowed: %v, %+v, logged %s", written, w.Status(), log.String())
		}
		m.fail(denied)
		time.Sleep(time.Hour)
		if n := log.count(unwatchedLog); n != 1 {
			t.Errorf("%d times: %s", n, log.String())
		}
	}, func(m *memory, _ *Store) { m.fail(denied) })
}

// An outage at the start is none of permission; watches begin when it ends.
func TestOutage(t *testing.T) {
	world(t, func(t *testing.T, w *Watches, m *memory, log *logged) {
		tail := w.Tail()
		defer tail.Close()
		tail.Watch([]string{"web"})
		time.Sleep(time.Minute)
		m.fail(nil)
		time.Sleep(10 * time.Second)
		if written, _ := m.written(); written["web"] == 0 || log.count(unwatchedLog) != 0 || log.count("cannot check") != 1 {
			t.Errorf("%v, logged %s", written, log.String())
		}
	}, func(m *memory, _ *Store) {
		m.fail(&store.Error{Op: "upsert", Object: "table", Class: store.ErrUnavailable})
	})
}

// A store that does not exist is not created.
func TestMissingStore(t *testing.T) {
	var exists atomic.Bool
	world(t, func(t *testing.T, w *Watches, m *memory, log *logged) {
		tail := w.Tail()
		defer tail.Close()
		tail.Watch([]string{"web"})
		time.Sleep(10 * time.Minute)
		if _, requests := m.written(); requests != 0 || log.String() != "" {
			t.Errorf("%d requests, logged %s", requests, log.String())
		}
		exists.Store(true)
		time.Sleep(time.Minute + 10*time.Second)
		if written, _ := m.written(); written["web"] == 0 || log.count(watchedLog) != 1 {
			t.Errorf("%v, logged %s", written, log.String())
		}
	}, func(_ *memory, s *Store) {
		s.Exists = func(context.Context) (bool, error) { return exists.Load(), nil }
	})
}

// The services of a tail and of all tails are limited.
func TestLimits(t *testing.T) {
	world(t, func(t *testing.T, w *Watches, _ *memory, log *logged) {
		for i := range 6 {
			var services []string
			for j := range 200 {
				services = append(services, fmt.Sprintf("s%d-%03d", i, j))
			}
			tail := w.Tail()
			defer tail.Close()
			tail.Watch(services)
			time.Sleep(time.Second)
			if n := w.Status().Services; n != min(100*(i+1), maxServices) {
				t.Errorf("%d services of %d tails", n, i+1)
			}
		}
		if n := log.count("there are too many"); n != 1 {
			t.Errorf("logged %d times", n)
		}
	}, nil)
}

// The end of a tail does not wait for a request, that of the server does.
func TestCloseWaits(t *testing.T) {
	world(t, func(_ *testing.T, w *Watches, m *memory, _ *logged) {
		tail := w.Tail()
		tail.Watch([]string{"web"})
		synctest.Wait()
		tail.Close()
		closed := make(chan struct{})
		go func() {
			w.Close()
			close(closed)
		}()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("closed while a request is under way")
		default:
		}
		close(m.hold)
		<-closed
	}, func(m *memory, _ *Store) { m.hold = make(chan struct{}) })
}

// Tails come and go in parallel, and end with the server.
func TestParallel(t *testing.T) {
	t.Parallel()
	m := newMemory()
	w := New(t.Context(), []Store{{Name: "a", Container: "a", Tables: m}, {Name: "b", Container: "b", Tables: m}}, slog.New(slog.DiscardHandler))
	services := []string{"api", "db", "web"}
	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			for j := range 100 {
				tail := w.Tail()
				tail.Watch(services[:1+(i+j)%3])
				tail.Interval(time.Minute)
				w.Status()
				tail.Close()
			}
		})
	}
	running.Wait()
	if s := w.Status(); s != (Status{}) {
		t.Errorf("%+v after all ended", s)
	}
	late := w.Tail()
	late.Watch(services)
	w.Close()
	if written, _ := m.written(); !slices.Equal(slices.Sorted(maps.Keys(written)), services) {
		t.Errorf("written %v", written)
	}
	late.Watch([]string{"late"})
	late.Close()
	w.Tail().Watch(services)
	if _, requests := m.written(); requests != 0 {
		t.Errorf("%d requests after the end", requests)
	}
}
