package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"logstow/internal/hint"
	"logstow/internal/progress"
	"logstow/internal/test/effort"
	"logstow/query"
	"logstow/query/follow"
	"logstow/query/output"
	"logstow/store"
	"logstow/watch"
)

// tablesInMemory are tables whose clock is another than that of this process.
type tablesInMemory struct {
	mu       sync.Mutex
	entities map[store.Key]store.Entity // nil before the table is created
	requests int
	denied   error
}

// deny makes all requests from now on fail with err; nil ends that.
func (m *tablesInMemory) deny(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.denied = err
}

const storageAhead = 7 * time.Hour

func (m *tablesInMemory) request() error {
	m.requests++
	return m.denied
}

func (m *tablesInMemory) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.requests
}

func (m *tablesInMemory) Tables(context.Context, string) iter.Seq2[[]string, error] {
	panic("not needed")
}
func (m *tablesInMemory) DropTable(context.Context, string) error           { panic("not needed") }
func (m *tablesInMemory) Remove(context.Context, string, []store.Key) error { panic("not needed") }

func (m *tablesInMemory) CreateTable(context.Context, string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entities == nil {
		m.entities = map[store.Key]store.Entity{}
	}
	return m.request()
}

func (m *tablesInMemory) Upsert(_ context.Context, _ string, entities []store.Entity) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.request(); err != nil {
		return err
	}
	if m.entities == nil {
		return store.ErrNoTable
	}
	for _, e := range entities {
		e.Written = time.Now().Add(storageAhead)
		m.entities[e.Key] = e
	}
	return nil
}

func (m *tablesInMemory) Query(_ context.Context, _ string, q store.Query) iter.Seq2[[]store.Entity, error] {
	return func(yield func([]store.Entity, error) bool) {
		m.mu.Lock()
		err, page := m.request(), []store.Entity(nil)
		if err == nil && m.entities == nil {
			err = store.ErrNoTable
		}
		for k, e := range m.entities {
			if (k.Partition == q.Partition || k.Partition > q.Partition && k.Partition < q.PartitionTo) && k.Row >= q.RowFrom && k.Row < q.RowTo {
				e.Read = time.Now().Add(storageAhead).Truncate(time.Second)
				page = append(page, e)
			}
		}
		m.mu.Unlock()
		yield(page, err)
	}
}

// shipping is a shipper of service a: a buffer whose records are in the container once they are flushed.
type shipping struct {
	store.Store
	t      *testing.T
	tables *tablesInMemory
	shelf  *shelf
	mu     sync.Mutex
	waits  []string
	stuck  bool
	// flushed are the times of the segments.
	flushed []time.Time
}

func (s *shipping) Tables() store.Tables { return s.tables }
func (s *shipping) Container() string    { return "logs" }
func (s *shipping) String() string       { return "memory" }
func (s *shipping) Services() []string   { return []string{"a"} }

func (s *shipping) log(message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits = append(s.waits, message)
}

func (s *shipping) FlushService(context.Context, string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.waits)
	for _, message := range s.waits {
		s.shelf.add(s.t, time.Now(), message)
		s.flushed = append(s.flushed, time.Now())
	}
	s.waits = nil
	return min(1, n)
}

func (s *shipping) SetFollowed(string, bool) {}

func (s *shipping) WaitStored(ctx context.Context, _ string, _ time.Time) error {
	if s.stuck {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return nil
}

// printed is an output with the times of its lines.
type printed struct {
	mu    sync.Mutex
	lines []string
	times []time.Time
}

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for line := range strings.Lines(string(b)) {
		p.lines = append(p.lines, strings.TrimSuffix(line, "\n"))
		p.times = append(p.times, time.Now())
	}
	return len(b), nil
}

// watchedWorld is a store with a shipper.
type watchedWorld struct {
	t      *testing.T
	shelf  *shelf
	tables *tablesInMemory
	from   *shipping
	errs   bytes.Buffer
	out    printed
	stop   func()
}

func newWatchedWorld(t *testing.T) *watchedWorld {
	w := &watchedWorld{t: t, shelf: &shelf{bodies: map[string][]byte{}}, tables: &tablesInMemory{}}
	w.from = &shipping{t: t, tables: w.tables, shelf: w.shelf}
	time.Sleep(10 * time.Minute)
	w.shelf.add(t, time.Now(), "before")
	return w
}

// ship runs the shipper until the world ends.
func (w *watchedWorld) ship() {
	f := watch.NewFlusher(watch.FlusherOptions{
		Instance: "i", Settings: watch.Settings{Interval: watch.DefaultInterval, IdleInterval: watch.IdleInterval, MaxFlushes: watch.DefaultMaxFlushes}, Log: slog.New(slog.DiscardHandler),
		Stores: func(context.Context) []store.Store { return []store.Store{w.from} },
	})
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); f.Run(ctx, w.from) }()
	w.stop = func() { cancel(); <-ended }
}

func (w *watchedWorld) stores() []query.Store {
	opened := w.shelf.store()
	opened.Tables = w.tables
	return []query.Store{opened}
}

func (w *watchedWorld) request() *request {
	return &request{
		env: environment{stdout: &w.out, stderr: &w.errs, line: progress.New(&w.errs, 0), now: time.Now}, window: follow.DefaultWindow,
		sel: query.Selection{Services: []string{"a*"}, From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)},
	}
}

// follow follows while during runs.
func (w *watchedWorld) follow(r *request, during func()) {
	w.t.Helper()
	out, err := output.New(&w.out, output.Options{Format: output.Raw})
	if err != nil {
		w.t.Fatal(err)
	}
	q, err := query.New(w.stores(), r.sel, r.opts)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.followNew(ctx, w.stores(), q, out) }()
	during()
	cancel()
	if err := errors.Join(<-ended, out.Close()); !errors.Is(err, context.Canceled) {
		w.t.Error(err)
	}
}

// While something is followed its shipper flushes early: the first line comes within 15 s, after an hour in which no one followed a
// minute later, each later one within 5 s, each once.
// It is reported what that costs; afterwards nothing is flushed.
func TestFollowWatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWatchedWorld(t)
		w.ship()
		defer func() { w.stop() }()
		w.from.log("waiting")
		time.Sleep(time.Hour + 10*time.Second) // almost a minute before the next poll
		if len(w.from.flushed) != 0 {
			t.Fatal("flushed without a watch")
		}
		began := time.Now()
		logged := []time.Time{began}
		w.follow(w.request(), func() {
			time.Sleep(90 * time.Second)
			for i := range 300 {
				logged = append(logged, time.Now())
				w.from.log(fmt.Sprint(i))
				time.Sleep(1700 * time.Millisecond)
			}
			time.Sleep(5 * time.Second)
		})
		if len(w.out.lines) != 301 || w.out.times[0].Sub(began) > 75*time.Second {
			t.Fatalf("%d lines, the first after %v", len(w.out.lines), w.out.times[0].Sub(began))
		}
		for i, line := range w.out.lines[1:] {
			if took := w.out.times[1+i].Sub(logged[1+i]); line != fmt.Sprint(i) || took > 5*time.Second {
				t.Fatalf("line %d is %s, after %v", i, line, took)
			}
		}
		w.from.log("after")
		time.Sleep(watch.Lifetime + 10*time.Second)
		w.from.mu.Lock()
		flushes := len(w.from.flushed)
		w.from.mu.Unlock()
		w.from.log("much later")
		time.Sleep(time.Hour)
		if len(w.from.flushed) != flushes {
			t.Error("flushed after following has ended")
		}
		for _, want := range []string{
			"logq: watching 1 service: flushed every 2s by 1 shipper while this runs, which costs at most $0.01 per hour; --no-watch avoids this\n",
			"logq: no one has followed for an hour: shippers respond within a minute\n",
			"logq: polling every 1s costs about $0.08 per hour; a longer --follow-interval or a shorter --follow-window costs less\n",
		} {
			if n := strings.Count(w.errs.String(), want); n != 1 {
				t.Errorf("%d times %q in %q", n, want, w.errs.String())
			}
		}
	})
}

// Nothing is missed while the first listing is under way: what shippers flush for a watch is not taken for what was there before, and
// records since the start are printed.
func TestFollowSlowListing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWatchedWorld(t)
		w.shelf.slow = time.Minute
		w.follow(w.request(), func() {
			time.Sleep(50 * time.Second)
			if n := w.tables.count(); n != 0 {
				t.Errorf("%d requests for watches before the listing", n)
			}
			w.shelf.add(t, time.Now(), "meanwhile")
			time.Sleep(time.Minute)
			w.shelf.add(t, time.Now(), "new")
			time.Sleep(10 * time.Second)
		})
		if !slices.Equal(w.out.lines, []string{"meanwhile", "new"}) || w.tables.count() == 0 {
			t.Errorf("printed %q, %d requests for watches", w.out.lines, w.tables.count())
		}
	})
}

// Without a watch nothing is written; without permission, or a shipper that responds, that is printed once and following goes on.
func TestFollowUnwatched(t *testing.T) {
	t.Parallel()
	denied := hint.Wrap(&store.Error{
		Op: "upsert into", Object: "table watches", Class: store.ErrAccessDenied, Hint: "assign the role Storage Table Data Contributor",
	}, "assign the role Storage Table Data Contributor")
	for name, c := range map[string]struct {
		noWatch  bool
		denied   error
		want     string
		requests func(n int) bool
	}{
		"not wanted": {noWatch: true, requests: func(n int) bool { return n == 0 }},
		"denied": {
			denied: denied, want: "logq: shelf: not watched: cannot read watches: cannot upsert into table watches: access denied; its records are printed after the flush interval of their shippers\n",
			requests: func(n int) bool { return n > 0 && n < 5 },
		},
		"no response": {
			want:     "logq: no shipper responds to the watches: records are printed after the flush interval of their shippers; see docs/query.md#following\n",
			requests: func(n int) bool { return n > 200 && n < 500 },
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWatchedWorld(t)
			w.tables.deny(c.denied)
			r := w.request()
			r.noWatch = c.noWatch
			w.follow(r, func() {
				time.Sleep(5 * time.Minute)
				w.shelf.add(t, time.Now(), "new")
				time.Sleep(10 * time.Minute)
			})
			errs := w.errs.String()
			if !slices.Equal(w.out.lines, []string{"new"}) || strings.Count(errs, c.want) != 1 && c.want != "" || c.want == "" && strings.Contains(errs, "watch") ||
				strings.Contains(errs, "Contributor") || !c.requests(w.tables.count()) || !strings.Contains(errs, "polling every 2s") {
				t.Errorf("%s: printed %q, %d requests, standard error %q", name, w.out.lines, w.tables.count(), errs)
			}
		})
	}
}

// Records that are stored later than the window are reported, by the time at which storage wrote them: none of before, none that
// was printed, each once.
func TestFollowOverdue(t *testing.T) {
	effort.Need(t, effort.Test, "takes seconds")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWatchedWorld(t)
		time.Sleep(30 * time.Hour)
		for age := range 20 {
			w.shelf.add(t, time.Now().Add(-time.Duration(age)*time.Hour), "before")
		}
		r := w.request()
		r.noWatch, r.window, r.interval = true, 30*time.Minute, 15*time.Second
		w.follow(r, func() {
			for i := range 100 { // none is late
				time.Sleep(time.Minute)
				w.shelf.add(t, time.Now().Add(-time.Duration(i%29)*time.Minute), "in the window")
			}
			if strings.Contains(w.errs.String(), "not printed") {
				t.Errorf("standard error %q", w.errs.String())
			}
			time.Sleep(30 * time.Second) // it does not look now
			w.shelf.add(t, time.Now().Add(-time.Hour), "late")
			w.shelf.add(t, time.Now().Add(-5*time.Hour), "later")
			time.Sleep(5 * time.Hour)
			w.shelf.add(t, time.Now().Add(-time.Hour), "late again")
			time.Sleep(time.Hour)
		})
		if n := strings.Count(strings.Join(w.out.lines, "|"), "in the window"); n != 100 || len(w.out.lines) != 100 {
			t.Errorf("%d lines, %d of them in the window", len(w.out.lines), n)
		}
		for _, want := range []string{
			"logq: not printed: 2 records of 2 segments, stored more than 30m after their time (counted before conditions on records)\nhint: logq query --from 2000-01-02T02:50:30Z --to 2000-01-02T06:50:31Z finds them; a longer --follow-window prints such records\n",
			"logq: not printed: 1 record of 1 segment, stored more than 30m after their time (counted before conditions on records)\n",
		} {
			if strings.Count(w.errs.String(), want) != 1 || strings.Count(w.errs.String(), "not printed") != 2 {
				t.Errorf("no %q in %q", want, w.errs.String())
			}
		}
	})
}

// --fresh waits for what shippers have, and reports who does not respond in time, and why nothing is waited for.
func TestFresh(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ships, stuck bool
		denied       error
		want         string
	}{
		"flushed": {ships: true},
		"late":    {ships: true, stuck: true, want: "1 of 1 shipper did not flush within 1m15s and their newest records may be missing: a on i"},
		"none":    {want: "no shipper responded to --fresh: records that are not flushed yet are missing; see docs/query.md#fresh-answers"},
		"denied": {
			denied: &store.Error{Op: "read", Object: "table watches", Class: store.ErrAccessDenied},
			want:   "shelf: not watched: cannot read watches: cannot read table watches: access denied; records that its shippers have not flushed are missing",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWatchedWorld(t)
			w.from.stuck = c.stuck
			if c.ships {
				w.ship()
				defer func() { w.stop() }()
				w.from.log("waiting")
				time.Sleep(time.Hour)
			}
			w.tables.deny(c.denied)
			r := w.request()
			r.explain = true
			began := time.Now()
			if err := r.awaitFlush(t.Context(), w.stores()); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > watch.IdleInterval+watch.FreshTimeout+time.Second {
				t.Errorf("%s: %v", name, took)
			}
			explained := map[string]string{
				"denied": "logq: --fresh: 0 shippers of 0 services responded; until the watches expire they cost at most $0.0000\n",
				"none":   "logq: --fresh: 0 shippers of 1 service responded; until the watches expire they cost at most $0.0000\n",
			}[name]
			if explained == "" {
				explained = "logq: --fresh: 1 shipper of 1 service responded; until the watches expire they cost at most $0.0001\n"
			}
			if w.errs.String() != explained {
				t.Errorf("%s: standard error %q, want %q", name, w.errs.String(), explained)
			}
			w.tables.deny(nil)
			if stored := len(w.from.flushed); strings.Join(r.notes, "|") != c.want || (stored == 1) != c.ships {
				t.Errorf("%s: notes %q, %d segments", name, r.notes, stored)
			}
		})
	}
}

// hangingTables answer no request that reads.
type hangingTables struct{ *tablesInMemory }

func (hangingTables) Query(ctx context.Context, _ string, _ store.Query) iter.Seq2[[]store.Entity, error] {
	return func(yield func([]store.Entity, error) bool) {
		<-ctx.Done()
		yield(nil, context.Cause(ctx))
	}
}

// writing calls a function for each write, before that returns.
type writing func()

func (w writing) Write(b []byte) (int, error) {
	w()
	return len(b), nil
}

// An interrupt is no reason that a store is not watched.
func TestFollowInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWatchedWorld(t)
		r := w.request()
		r.ranged = true
		ctx, cancel := context.WithCancel(t.Context())
		out, err := output.New(writing(func() {
			cancel()
			synctest.Wait() // for the end of the request that the watch makes
		}), output.Options{Format: output.Raw})
		if err != nil {
			t.Fatal(err)
		}
		stores := w.stores()
		stores[0].Tables = hangingTables{w.tables}
		q, err := query.New(stores, r.sel, r.opts)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(r.followNew(ctx, stores, q, out), out.Close()); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if strings.Contains(w.errs.String(), "not watched") {
			t.Errorf("standard error %q", w.errs.String())
		}
	})
}
