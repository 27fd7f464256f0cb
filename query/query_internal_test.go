package query

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"logstow/internal/test/effort"
	"logstow/internal/test/querytest"
	"logstow/query/plan"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/testrand"
	"logstow/record"
	"logstow/store"
)

// selection is a random selection over a world.
func (w *world) selection() Selection {
	sel := querytest.RandomSelection(w.rnd, querytest.Messages("a1b", "bA\n1", "1123", "\t\n"))
	sel.From, sel.To = origin().Add(-time.Hour), origin().Add(9*time.Hour)
	if w.rnd.IntN(2) == 0 {
		sel.From = origin().Add(time.Duration(w.rnd.IntN(240)) * time.Minute)
		sel.To = sel.From.Add(time.Duration(1+w.rnd.IntN(100)) * time.Minute)
	}
	if w.rnd.IntN(3) == 0 {
		sel.To = sel.To.Add(1)
	}
	if w.rnd.IntN(3) == 0 {
		sel.Services = []string{[]string{"svc-0", "svc-*", "none", "svc-[12]"}[w.rnd.IntN(4)]}
	}
	if w.rnd.IntN(4) == 0 {
		sel.Sources = [][]string{{"app/[01]*"}, {"app/0*", "none", "app/2*"}}[w.rnd.IntN(2)]
	}
	sel.Newest = w.rnd.IntN(3) == 0
	if w.rnd.IntN(3) == 0 {
		sel.Limit = 1 + w.rnd.IntN(40)
	}
	return sel
}

// Every query over every store answers as reading everything does, by both
// plans, with and without the temporary file, and counts the same.
func TestQueryAgreesWithReference(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "many queries")
	rnd := testrand.New(t)
	for round := range rounds(40) {
		plans := []string{PlanList}
		w := newWorld(t, rnd, round < 2)
		if round%2 == 1 { // the same segments are read again and again
			w.keep()
		}
		w.fill(rnd.IntN(40))
		if w.tables != nil {
			w.indexed()
			plans = append(plans, PlanIndex)
		}
		for range 30 / len(plans) {
			sel := w.selection()
			opts := Options{TempDir: t.TempDir()}
			if rnd.IntN(2) == 0 {
				opts.Memory = 1 + rnd.Int64N(3000)
			}
			want := w.want(&sel)
			for _, opts.Plan = range plans {
				q := w.query(sel, opts)
				if diff := cmp.Diff(want, got(t, q)); diff != "" {
					t.Fatalf("round %d, %+v, %+v (-reference +query)\n%s\n%v", round, sel, opts, diff, q.Report().Problems)
				}
				if p := q.Report().Problems; len(p) > 0 {
					t.Fatalf("%+v: %v", sel, p)
				}
			}
			sel.Limit = 0
			q := w.query(sel, opts)
			p, err := q.Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if n, err := q.Count(t.Context(), p); err != nil || n != uint64(len(w.want(&sel))) {
				t.Fatalf("%+v: count %d, %v; want %d", sel, n, err, len(w.want(&sel)))
			}
		}
	}
}

// The union of sub-ranges is the range.
func TestSubRanges(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 3))
	w := newWorld(t, rnd, false)
	w.fill(30)
	sel := querytest.Everything()
	sel.From, sel.To = origin(), origin().Add(5*time.Hour)
	whole := got(t, w.query(sel, Options{}))
	if len(whole) < 100 {
		t.Fatalf("%d records", len(whole))
	}
	for range 30 {
		cuts := []time.Time{origin(), origin().Add(5 * time.Hour)}
		for range rnd.IntN(6) {
			cuts = append(cuts, origin().Add(time.Duration(rnd.Int64N(300))*time.Minute))
		}
		slices.SortFunc(cuts, time.Time.Compare)
		cuts = slices.CompactFunc(cuts, time.Time.Equal)
		parts := []string{}
		for i := range len(cuts) - 1 {
			sel.From, sel.To = cuts[i], cuts[i+1]
			parts = append(parts, got(t, w.query(sel, Options{}))...)
		}
		if diff := cmp.Diff(whole, parts); diff != "" {
			t.Fatalf("cut at %v\n%s", cuts, diff)
		}
	}
}

// A segment without a whole copy is named, block by block; the rest is there.
func TestDamage(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	for range worlds(60) {
		w := newWorld(t, rnd, false)
		w.fill(5)
		var b *built
		for b == nil || len(b.bodies) > 1 {
			b = w.segments[rnd.IntN(len(w.segments))]
			if len(b.bodies) > 1 {
				b = w.add("svc-1", "pod-1", 200, w.salt(), []record.Record{{Time: origin().UnixNano(), Level: record.Info, Source: "a", Message: []byte("m")}})
			}
		}
		body := slices.Clone(b.bodies[0])
		at := rnd.IntN(len(body))
		for int64(at) >= b.meta.Filter.Offset-8 && int64(at) < b.meta.Footer { // the token filter is not used
			at = rnd.IntN(len(body))
		}
		body[at] ^= 1 << rnd.IntN(8)
		b.bodies[0] = body
		w.memory.put(b.name.String(), body, b.meta.Encode())
		sel := querytest.Everything()
		sel.From, sel.To = origin(), origin().Add(5*time.Hour)
		q := w.query(sel, Options{})
		if diff := cmp.Diff(w.want(&sel), got(t, q)); diff != "" {
			t.Fatal(diff)
		}
		p := q.Report().Problems
		if len(p) == 0 || p[0].Object != b.name.String() {
			t.Fatalf("problems %v, want %s named", p, b.name)
		}
	}
}

func small(at time.Time, messages ...string) []record.Record {
	var r []record.Record
	for i, m := range messages {
		r = append(r, record.Record{Time: at.UnixNano() + int64(i), Level: record.Info, Source: "a", Message: []byte(m)})
	}
	return r
}

func wholeDay() Selection {
	return Selection{From: origin().Truncate(24 * time.Hour), To: origin().Truncate(24 * time.Hour).Add(48 * time.Hour)}
}

func TestForeignBlobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), false)
	w.add("a", "i", 0, w.salt(), small(origin(), "one"))
	w.memory.put("a/2025/12/31/2200/notes.txt", []byte("x"), nil)
	w.memory.put("a/2025/12/31/2200/000007.log", []byte("x"), map[string]string{"logversion": "logstow/1-output"})
	sel := wholeDay()
	q := w.query(sel, Options{})
	if lines := got(t, q); len(lines) != 1 {
		t.Errorf("%q", lines)
	}
	r := q.Report()
	if len(r.Problems) != 1 || !errors.Is(r.Problems[0], plan.ErrForeign) || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "notes.txt") {
		t.Errorf("problems %v, notes %v", r.Problems, r.Notes)
	}
	// Out of the range it does not matter.
	sel.From, sel.To = sel.To, sel.To.Add(time.Hour)
	q = w.query(sel, Options{})
	if got(t, q); len(q.Report().Problems) > 0 {
		t.Errorf("problems %v", q.Report().Problems)
	}
}

// A stale index entry is a note, whatever is under its name now; a damaged segment is a problem.
func TestStaleIndex(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), true)
	gone := w.add("a", "i", 0, w.salt(), small(origin(), "gone"))
	replaced := w.add("a", "i", 0, w.salt(), small(origin(), "replaced"))
	damaged := w.add("a", "i", 0, w.salt(), small(origin(), "damaged"))
	w.add("a", "i", 0, w.salt(), small(origin(), "there"))
	other := w.add("a", "i", 0, w.salt(), small(origin(), "something else"))
	w.indexed()
	delete(w.memory.blobs, gone.name.String())
	delete(w.memory.bodies, gone.name.String())
	w.memory.put(replaced.name.String(), other.bodies[0], other.meta.Encode())
	body := slices.Clone(damaged.bodies[0])
	body[len(body)-1] ^= 1
	w.memory.put(damaged.name.String(), body, damaged.meta.Encode())
	q := w.query(wholeDay(), Options{Plan: PlanIndex})
	if lines := got(t, q); len(lines) != 2 {
		t.Errorf("%q", lines)
	}
	r := q.Report()
	if len(r.Notes) != 2 || len(r.Problems) != 1 || r.Problems[0].Object != damaged.name.String() {
		t.Errorf("notes %v, problems %v", r.Notes, r.Problems)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), false)
	w.add("a", "i", 0, w.salt(), small(origin(), "one"))
	w.add("b", "i", 0, w.salt(), small(origin(), "two"))
	refused := func(on string) func(op, object string) error {
		return func(op, object string) error {
			if op+" "+object == on {
				return &store.Error{Op: op, Object: object, Class: store.ErrAccessDenied}
			}
			return nil
		}
	}
	for _, c := range []struct {
		on    string
		lines int
	}{{"list ", 0}, {"list a/2025/12/31/", 1}, {"read a/2025/12/31/2200/000001.log", 1}} {
		w.memory.fail = refused(c.on)
		q := w.query(wholeDay(), Options{})
		lines := got(t, q)
		p := q.Report().Problems
		if len(lines) != c.lines || len(p) != 1 || !errors.Is(p[0], store.ErrAccessDenied) {
			t.Errorf("%s: %q, problems %v", c.on, lines, p)
		}
	}
	// What may pass is tried again.
	var n atomic.Int64
	w.memory.fail = func(op, object string) error {
		if i := n.Add(1); i == 1 || i == 5 {
			return &store.Error{Op: op, Object: object, Class: store.ErrThrottled}
		}
		return nil
	}
	sel := wholeDay()
	sel.Services = []string{"a"}
	q := w.query(sel, Options{})
	if lines := got(t, q); len(lines) != 1 || len(q.Report().Problems) > 0 {
		t.Errorf("%q, problems %v", lines, q.Report().Problems)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), false)
	w.fill(30)
	sel := querytest.Everything()
	sel.From, sel.To = origin(), origin().Add(5*time.Hour)
	for after := range 60 {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		w.memory.fail = func(string, string) error {
			return nil
		}
		q := w.query(sel, Options{})
		p, err := q.Plan(ctx)
		if err != nil {
			t.Fatal(err)
		}
		err = q.Run(ctx, p, func(Match) error {
			if n++; n == after+1 {
				cancel()
			}
			return nil
		})
		if !errors.Is(err, context.Canceled) || len(q.Report().Problems) > 0 {
			t.Fatalf("cancelled after %d: %v, problems %v", after, err, q.Report().Problems)
		}
		if _, err := q.Plan(ctx); !errors.Is(err, context.Canceled) {
			t.Fatalf("plan: %v", err)
		}
		if _, err := q.Count(ctx, p); !errors.Is(err, context.Canceled) {
			t.Fatalf("count: %v", err)
		}
		cancel()
	}
}

// A range of a century costs few requests; a limit reads little.
func TestRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), false)
	for i := range 200 {
		w.add("a", "i", 0, w.salt(), small(origin().Add(time.Duration(i)*time.Hour), "one", "two"))
	}
	sel := Selection{From: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), Services: []string{"a"}}
	for _, sel.Newest = range []bool{false, true} {
		sel.Limit = 5
		q := w.query(sel, Options{})
		if lines := got(t, q); len(lines) != 5 {
			t.Errorf("%q", lines)
		}
		// The years in both containers, two months of pages of three, and those of the compacted container.
		if r := q.Report().Requests; r.List > 2+2+200/3+2 || r.Get > 3 {
			t.Errorf("%+v", r)
		}
	}
	sel.Limit = 0
	q := w.query(sel, Options{})
	p, err := q.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n, err := q.Count(t.Context(), p)
	if r := q.Report().Requests; err != nil || n != 400 || r.Get != 0 {
		t.Errorf("%d, %v, %+v", n, err, r)
	}
	r := q.Report()
	if r.SegmentsListed != 200 || r.Prefixes != 1 || r.CostUSD <= 0 {
		t.Errorf("%+v", r)
	}
}

func TestSelectionErrors(t *testing.T) {
	t.Parallel()
	ok := wholeDay()
	for i, change := range []func(*Selection){
		func(s *Selection) { s.To = s.From },
		func(s *Selection) { s.Limit = -1 },
		func(s *Selection) { s.Services = []string{"[a"} },
		func(s *Selection) { s.Sources = []string{"{a"} },
		func(s *Selection) { s.Regexps = []string{"("} },
	} {
		sel := ok
		change(&sel)
		if _, err := New(nil, sel, Options{}); !errors.Is(err, ErrSelection) {
			t.Errorf("%d: %v", i, err)
		}
	}
	if _, err := New(nil, ok, Options{Plan: "guess"}); !errors.Is(err, ErrSelection) {
		t.Errorf("plan: %v", err)
	}
}
