package audit_test

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/audit"
	"logstow/internal/test/effort"
	"logstow/internal/test/storetest"
	"logstow/retention"
	"logstow/store"
)

// settled is a store of which a listing waits for the changes under way: a test may be stopped for longer than
// any time that a difference is given to settle.
type settled struct {
	store.Store
	changes []*sync.Mutex // each is held from the first to the last request of a change
	wrote   *sync.Map     // the names of segments whose entities were written
}

func (s settled) Blobs() store.Blobs     { return settledBlobs{s.Store.Blobs(), s} }
func (s settled) Compacted() store.Blobs { return settledBlobs{s.Store.Compacted(), s} }
func (s settled) Tables() store.Tables   { return settledTables{s.Store.Tables(), s} }

type settledBlobs struct {
	store.Blobs
	s settled
}

func (b settledBlobs) List(ctx context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) {
		for _, c := range b.s.changes {
			c.Lock()
			c.Unlock() //nolint:staticcheck // the change is done
		}
		b.Blobs.List(ctx, prefix)(yield)
	}
}

type settledTables struct {
	tables
	s settled
}

func (x settledTables) Upsert(ctx context.Context, table string, entities []store.Entity) error {
	for _, e := range entities {
		x.s.wrote.Store(e.Properties["Blob"], true)
	}
	return x.tables.Upsert(ctx, table, entities)
}

// Beside a shipper, which indexes a moment after it stores, one that deletes, and retention nothing
// is found and nothing spoilt.
func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, s store.Store) {
		const lag = 100 * time.Millisecond
		today := time.Now().UTC().Truncate(24 * time.Hour)
		first := newSegment(t, "api", "", today, 1, 5)
		first.whole(t, s)
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		defer wg.Wait()
		defer stop()
		audited := settled{Store: s, wrote: new(sync.Map)}
		repeat := func(change func(n uint64)) {
			var mu sync.Mutex
			audited.changes = append(audited.changes, &mu)
			wg.Go(func() {
				for n := uint64(2); ctx.Err() == nil; n++ {
					func() {
						mu.Lock()
						defer mu.Unlock()
						change(n)
					}()
				}
			})
		}
		repeat(func(n uint64) { // a shipper, and a process that deletes some
			m := newSegment(t, "api", "", today, n, 5)
			create(t, s, &m, m.entity.Meta.Encode())
			time.Sleep(lag)
			index(t, s, m.entity)
			if n%3 == 0 {
				remove(t, s, m.entity.Name.String())
				unindex(t, s, m.entity)
			}
		})
		repeat(func(n uint64) { // late records of past days, and retention
			for age := range 2 {
				m := newSegment(t, "late", "", today.AddDate(0, 0, -10-age), n, 5)
				m.whole(t, s)
			}
			if r, err := retention.Run(t.Context(), s, retention.Policy{Keep: map[string]time.Duration{"": 48 * time.Hour}}, retention.Options{}); err != nil || r.Err() != nil {
				t.Error(err, r.Err())
			}
		})
		for range (effort.Cases{Test: 1, Full: 4}).N() {
			for _, run := range []runner{audit.Verify, audit.Reindex} {
				o := audit.Options{Settle: 2 * time.Second, OnDifference: func(d audit.Difference) {
					if _, wrote := audited.wrote.Load(d.Object); !wrote || d.Kind != audit.StrayEntity { // reindex wrote it while the segment was deleted
						t.Errorf("found %v", d)
					}
				}}
				if r, err := run(t.Context(), audited, o); err != nil || r.Err() != nil {
					t.Error(err, r.Err())
				}
			}
		}
		stop()
		wg.Wait()
		reindex(t, s, audit.Options{}) // what reindex wrote of a segment while retention deleted it
		if got := verify(t, s, audit.Options{Depth: audit.Blocks}); len(got) != 0 {
			t.Error(got)
		}
	})
}

// hooked calls functions before the n-th listing of blobs, and before and after the n-th query.
type hooked struct {
	store.Store
	lists, queries          atomic.Int64
	list, query, afterQuery map[int64]func()
	// fail ends the n-th query, after what it finds.
	fail map[int64]error
}

func (h *hooked) Blobs() store.Blobs   { return hookedBlobs{h.Store.Blobs(), h} }
func (h *hooked) Tables() store.Tables { return hookedTables{h.Store.Tables(), h} }

func call(f func()) {
	if f != nil {
		f()
	}
}

type hookedBlobs struct {
	store.Blobs
	h *hooked
}

func (b hookedBlobs) List(ctx context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) {
		call(b.h.list[b.h.lists.Add(1)])
		b.Blobs.List(ctx, prefix)(yield)
	}
}

type tables = store.Tables // which has a method of that name

type hookedTables struct {
	tables
	h *hooked
}

func (x hookedTables) Query(ctx context.Context, table string, q store.Query) iter.Seq2[[]store.Entity, error] {
	return func(yield func([]store.Entity, error) bool) {
		n := x.h.queries.Add(1)
		call(x.h.query[n])
		ended := false
		x.tables.Query(ctx, table, q)(func(page []store.Entity, err error) bool {
			ended = !yield(page, err)
			return !ended
		})
		call(x.h.afterQuery[n])
		if err := x.h.fail[n]; err != nil && !ended {
			yield(nil, err)
		}
	}
}

// What is written or deleted between any two requests is no difference; what differs all the while is.
func TestBetweenRequests(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "changes a store between many requests")
	type point struct {
		name string
		set  func(h *hooked, f func())
	}
	points := []point{
		{"before the first listing", func(h *hooked, f func()) { h.list[1] = f }},
		{"before the first query", func(h *hooked, f func()) { h.query[2] = f }}, // the first is the search for services
		{"after the first query", func(h *hooked, f func()) { h.afterQuery[2] = f }},
		{"before the second listing", func(h *hooked, f func()) { h.list[2] = f }},
		{"before the second query", func(h *hooked, f func()) { h.query[3] = f }},
		{"after the second query", func(h *hooked, f func()) { h.afterQuery[3] = f }},
	}
	// Each step of storing and deleting a segment comes at a point of its own, in order.
	for i, first := range points {
		for _, second := range points[i:] {
			for _, repair := range []bool{false, true} {
				t.Run(first.name+", "+second.name, func(t *testing.T) {
					t.Parallel()
					s := storetest.OpenLocal(t)
					there := newSegment(t, "api", "", hour(), 1, 5)
					there.whole(t, s)
					lost := newSegment(t, "api", "", hour(), 2, 5) // a blob that no repair can index
					lost.body = []byte("damaged")
					create(t, s, &lost, lost.entity.Meta.Encode())
					deleted := newSegment(t, "api", "", hour(), 3, 5)
					deleted.whole(t, s)
					stored := newSegment(t, "api", "", hour(), 4, 5)
					h := &hooked{Store: s, list: make(map[int64]func()), query: make(map[int64]func()), afterQuery: make(map[int64]func())}
					begin := func() {
						create(t, s, &stored, stored.entity.Meta.Encode())
						remove(t, s, deleted.entity.Name.String())
					}
					end := func() {
						index(t, s, stored.entity)
						unindex(t, s, deleted.entity)
					}
					first.set(h, begin)
					second.set(h, end)
					if first.name == second.name {
						first.set(h, func() { begin(); end() })
					}
					run, want := audit.Verify, []string{"missing-entity " + lost.entity.Name.String()}
					if repair {
						run, want = audit.Reindex, []string{"bad-segment " + lost.entity.Name.String()}
					}
					got := lines(t, h, run, audit.Options{})
					if half := first.name != second.name && i < 2 && (second.name == "after the second query"); half && !repair {
						return // half done at both comparisons cannot be distinguished from a difference
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Error(diff)
					}
					reindex(t, s, audit.Options{})
					if diff := cmp.Diff([]string{"missing-entity " + lost.entity.Name.String()}, lines(t, s, audit.Verify, audit.Options{})); diff != "" {
						t.Errorf("afterwards: %s", diff)
					}
				})
			}
		}
	}
}

// later is a store whose clock is ahead.
type later struct {
	store.Store
	by time.Duration
}

func (l later) Now(context.Context) (time.Time, error) { return time.Now().Add(l.by), nil }

// A segment that was stored a moment ago is given time, since shippers collect entities; for others there is no wait.
func TestSettles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		age, indexedAfter, took time.Duration
		found                   int
	}{
		"young, and indexed soon": {10 * time.Second, 7 * time.Second, 10 * time.Second, 0},
		"young, and not indexed":  {10 * time.Second, time.Hour, 10 * time.Second, 1},
		"old":                     {2 * time.Minute, time.Hour, 2 * time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := storetest.OpenLocal(t)
				m := newSegment(t, "api", "", hour(), 1, 5)
				create(t, s, &m, m.entity.Meta.Encode())
				var created time.Time
				for page := range s.Blobs().List(t.Context(), "") {
					created = page[0].Created
				}
				timer := time.AfterFunc(c.indexedAfter, func() { index(t, s, m.entity) })
				defer timer.Stop()
				began := time.Now()
				report, err := audit.Verify(t.Context(), later{s, created.Sub(began) + c.age}, audit.Options{})
				if took := time.Since(began); err != nil || int(report.Differences) != c.found || took != c.took {
					t.Errorf("%v, %d differences after %v", err, report.Differences, took)
				}
			})
		})
	}
}

// A query that fails in the end is sent again, and its earlier results are discarded.
func TestRetriedRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := storetest.OpenLocal(t)
		m, other := newSegment(t, "api", "", hour(), 1, 5), newSegment(t, "api", "", hour(), 2, 5)
		m.whole(t, s)
		other.whole(t, s)
		h := &hooked{
			Store: s, fail: map[int64]error{1: store.ErrThrottled, 3: store.ErrUnavailable},
			afterQuery: map[int64]func(){3: func() { unindex(t, s, m.entity) }}, // the two before it search for services
		}
		if diff := cmp.Diff([]string{"missing-entity " + m.entity.Name.String()}, lines(t, h, audit.Verify, audit.Options{})); diff != "" {
			t.Error(diff)
		}
	})
}

// A part in which more differs at the second look than at the first is divided then, and nothing of it forgotten.
func TestDividedLater(t *testing.T) {
	t.Parallel()
	s := storetest.OpenLocal(t)
	midnight := hour().Truncate(24 * time.Hour)
	var want []string
	for _, h := range []int{1, 20} {
		m := newSegment(t, "api", "", midnight.Add(time.Duration(h)*time.Hour), 1, 5)
		create(t, s, &m, m.entity.Meta.Encode())
		want = append(want, "missing-entity "+m.entity.Name.String())
	}
	alike := newSegment(t, "api", "", midnight, 1, 5)
	alike.whole(t, s) // so that there is a table
	h := &hooked{Store: s, list: map[int64]func(){2: func() {
		for n := range 20 {
			index(t, s, newSegment(t, "api", "", midnight.Add(time.Duration(n)*time.Hour), 7, 5).entity)
		}
	}}}
	if diff := cmp.Diff(want, lines(t, h, audit.Verify, audit.Divide(audit.Options{}, 1000, 3))); diff != "" {
		t.Error(diff)
	}
}
