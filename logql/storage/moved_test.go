package storage_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"logstow/internal/test/testrand"
	"logstow/logql/engine"
	"logstow/logql/labels"
	"logstow/logql/storage"
	"logstow/logql/syntax"
	"logstow/query"
	"logstow/store"
)

// compactingAt is a world's blobs that are compacted before the n-th read.
func compactingAt(w *world, n int) query.Store {
	var mu sync.Mutex
	s := w.reading
	s.Blobs = faulty{BlobReader: s.Blobs, fail: func(op, _ string) error {
		mu.Lock()
		defer mu.Unlock()
		if op == "read" {
			if n--; n == 0 {
				w.compact()
			}
		}
		return nil
	}}
	return s
}

// Records that move to an output of compaction under way are found once.
func TestMovedRecords(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	restarts := 0
	for range 6 {
		w := newWorld(t, rnd)
		w.fill(25, 30)
		from, to := origin().UnixNano(), origin().Add(4*time.Hour).UnixNano()
		reference := w.reference()
		moving := compactingAt(w, 1+rnd.IntN(20))
		v := storage.New([]query.Store{moving}, query.Options{}, w.clock).View(storage.Access{})
		switch selector := pick(rnd, []string{`{service_name=~".+"}`, `{service_name="api"}`, `{instance="a-0"}`, `{instance!="b",level="error"}`}); rnd.IntN(3) {
		case 0:
			log, p := parse(t, selector+` | logfmt`), engine.LogParams{From: from, To: to}
			want, err := answer(t.Context(), reference.Source, log, p)
			if err != nil {
				t.Fatal(err)
			}
			got, err := answer(t.Context(), v, log, p)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %v\n%s\nwant\n%s", selector, err, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		case 1:
			expr, err := syntax.Parse(`sum by (instance, service_name, user) (bytes_over_time(` + selector + ` | logfmt [4h]))`)
			if err != nil {
				t.Fatal(err)
			}
			p := engine.MetricParams{Start: to, End: to}
			want, err := reference.Metric(t.Context(), expr.(syntax.SampleExpr), p)
			if err != nil {
				t.Fatal(err)
			}
			got, err := (&engine.Engine{Source: v, Limits: engine.DefaultLimits()}).Metric(t.Context(), expr.(syntax.SampleExpr), p)
			if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %v\n%v\nwant\n%v", selector, err, got, want)
			}
		default:
			restarts += eachOnce(t, w, v, parse(t, selector))
		}
	}
	t.Log(restarts, "restarts")
}

// eachOnce checks that Each adds each record once, and returns the number of restarts.
func eachOnce(t *testing.T, w *world, v *storage.View, log *syntax.LogExpr) (restarts int) {
	t.Helper()
	var workers []*collecting
	sel := engine.Selection{Log: log, From: origin().UnixNano(), To: origin().Add(4 * time.Hour).UnixNano()}
	err := v.Each(t.Context(), sel, func() { restarts, workers = restarts+1, nil }, func() engine.Worker {
		workers = append(workers, &collecting{})
		return workers[len(workers)-1]
	})
	var got, want []string
	for _, one := range workers {
		got = append(got, one.records...)
	}
	for _, r := range w.all {
		if r.selectedBy(log.Matchers) {
			want = append(want, fmt.Sprintf("%d %q %s", r.Time, r.Message, r.labels()))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%s: %v: %d records, want %d", log, err, len(got), len(want))
	}
	return restarts
}

// collecting is a worker that keeps records as text. That it is used by one goroutine at a time, the race detector shows.
type collecting struct{ records []string }

func (c *collecting) Add(r *engine.Record) error {
	c.records = append(c.records, fmt.Sprintf("%d %q %s", r.Time, r.Line, labels.New(slices.Concat(r.Stream.Labels, r.Stream.Metadata)...)))
	return nil
}

func (c *collecting) AddFields(*engine.FieldBlock) (bool, error) { return false, nil }

// Each begins again with new workers if records have moved.
func TestEachRestarts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	for i := range 20 {
		w.ship("api", pick(w.rnd, instances()), minuteRecords(i, 20, "line")...)
	}
	v := storage.New([]query.Store{compactingAt(w, 1)}, query.Options{}, w.clock).View(storage.Access{})
	if eachOnce(t, w, v, parse(t, `{service_name="api",instance!="b"}`)) == 0 {
		t.Error("it did not begin again")
	}
}

// An error of a worker, and the end of the context, end Each with it.
func TestEachEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	w.fill(20, 30)
	sel := engine.Selection{Log: parse(t, `{service_name=~".+"}`), From: origin().UnixNano(), To: origin().Add(4 * time.Hour).UnixNano()}
	full := errors.New("full")
	err := w.view(storage.Access{}).Each(t.Context(), sel, func() {}, func() engine.Worker { return failingAt{full} })
	if !errors.Is(err, full) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	err = w.view(storage.Access{}).Each(ctx, sel, func() {}, func() engine.Worker {
		cancel(full)
		return &collecting{}
	})
	if !errors.Is(err, full) {
		t.Error(err)
	}
}

type failingAt struct{ err error }

func (f failingAt) Add(*engine.Record) error { return f.err }

func (f failingAt) AddFields(*engine.FieldBlock) (bool, error) { return false, nil }

// Copies of segments in several stores are found once, with compaction in one of them too.
func TestSeveralStores(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	a, b := newWorld(t, rnd), newWorld(t, rnd)
	a.fill(20, 20)
	for _, part := range a.parts {
		blob, err := a.store.Blobs().Read(t.Context(), store.BlobRef{Name: part.Name}, 0, part.Size)
		if err != nil {
			t.Fatal(err)
		}
		for page, err := range a.store.Blobs().List(t.Context(), part.Name) {
			if err != nil {
				t.Fatal(err)
			}
			if rnd.IntN(3) > 0 {
				if _, err := b.store.Blobs().Create(t.Context(), part.Name, blob, store.CreateOptions{Metadata: page[0].Metadata}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	check := func(what string) {
		t.Helper()
		stores := []query.Store{a.reading, b.reading}
		if rnd.IntN(2) == 0 {
			slices.Reverse(stores)
		}
		all := storage.New(stores, query.Options{}, a.clock)
		for _, selector := range []string{`{service_name=~".+"}`, `{instance="a-1"}`} {
			eachOnce(t, a, all.View(storage.Access{}), parse(t, selector))
			n := uint64(0)
			sel := engine.Selection{Log: parse(t, selector), From: origin().UnixNano(), To: origin().Add(4 * time.Hour).UnixNano()}
			ok, err := all.View(storage.Access{}).Counts(t.Context(), sel, []string{"instance"}, false, 0, func(_ labels.Labels, _ int64, more uint64) error {
				n += more
				return nil
			})
			streams, streamsErr := streamsOf(t.Context(), all.View(storage.Access{}), selectors(t, selector), sel.From, sel.To)
			records, want := uint64(0), uint64(0)
			for _, s := range streams {
				records += s.Records
			}
			for _, r := range a.all {
				if r.selectedBy(sel.Log.Matchers) {
					want++
				}
			}
			if err = errors.Join(err, streamsErr); !ok || err != nil || n != want || records != want {
				t.Errorf("%s: %s: %v: %d counted, %d in streams, want %d", what, selector, err, n, records, want)
			}
		}
	}
	check("copies")
	b.compact()
	check("copies, compacted in the second")
	a.compact()
	check("both compacted")
}
