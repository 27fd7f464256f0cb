package query

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/effort"
	"logstow/internal/test/querytest"
	"logstow/query/merge"

	gocmp "github.com/google/go-cmp/cmp"

	"logstow/internal/test/testrand"
	"logstow/record"
)

// around is what RunContext has to give: by source, in order; "+" marks matches,
// "|" a gap. It is found by looking at all records.
func (w *world) around(sel *Selection, around ContextLines) (bySource map[string][]string, matches []string) {
	type entry struct {
		r       record.Record
		segment *built
		match   bool
	}
	segments := slices.Clone(w.segments)
	slices.SortFunc(segments, func(a, b *built) int {
		return cmp.Or(strings.Compare(a.meta.Instance, b.meta.Instance), cmp.Compare(a.meta.Seq, b.meta.Seq))
	})
	wide := Selection{From: sel.From, To: sel.To, Services: sel.Services, Sources: sel.Sources}
	var all []entry
	for _, s := range segments {
		for r := range s.records(w.t) {
			if sel.MatchesService(s.name.Service) && querytest.MatchesSlowly(w.t, &wide, s.meta.Instance, r) {
				r.Message = slices.Clone(r.Message)
				all = append(all, entry{r, s, querytest.MatchesSlowly(w.t, sel, s.meta.Instance, r)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Compare(a.r.Time, b.r.Time) })
	if sel.Newest {
		slices.Reverse(all)
		around.Before, around.After = around.After, around.Before
	}
	sources := map[string][]*entry{}
	left := sel.Limit
	for i := range all {
		e := &all[i]
		if e.match && sel.Limit > 0 {
			e.match = left > 0
			left--
		}
		if e.match {
			matches = append(matches, string(querytest.Stored(e.r)))
		}
		id := e.segment.name.Service + " " + e.segment.meta.Instance + " " + e.r.Source
		sources[id] = append(sources[id], e)
	}
	near := func(a, b *entry) bool {
		d := time.Duration(a.r.Time - b.r.Time)
		return d.Abs() <= merge.ContextReach
	}
	bySource = map[string][]string{}
	for id, list := range sources {
		for i, e := range list {
			wanted := e.match
			for j := max(0, i-around.After); j <= min(len(list)-1, i+around.Before) && !wanted; j++ {
				wanted = list[j].match && near(list[j], e)
			}
			if wanted {
				mark := ""
				if e.match {
					mark = "+"
				}
				bySource[id] = append(bySource[id], mark+string(querytest.Stored(e.r)))
			}
		}
	}
	return bySource, matches
}

func TestContextAgreesWithReference(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	for range (effort.Cases{Short: 2, Test: 5, Full: 20}).N() {
		w := newWorld(t, rnd, false)
		w.fill(rnd.IntN(25))
		for range 20 {
			sel := w.selection()
			around := ContextLines{Before: rnd.IntN(4), After: rnd.IntN(4)}
			want, wantMatches := w.around(&sel, around)
			opts := Options{TempDir: t.TempDir()}
			if rnd.IntN(2) == 0 { // through a temporary file
				opts.Memory = 1 + rnd.Int64N(3000)
			}
			q := w.query(sel, opts)
			p, err := q.Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := map[string][]string{}
			var matches []string
			err = q.RunContext(t.Context(), p, around, func(m Match) error {
				id := fmt.Sprintf("%s %s %s", m.Segment.Name.Service, m.Instance, m.Source())
				mark := "+"
				if m.Context {
					mark = ""
				} else {
					matches = append(matches, string(m.Line)+"\n")
				}
				got[id] = append(got[id], mark+string(m.Line)+"\n")
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Fatalf("%+v, %+v (-reference +context)\n%s", sel, around, diff)
			}
			if diff := gocmp.Diff(wantMatches, matches); diff != "" {
				t.Fatalf("%+v, %+v: matches (-reference +context)\n%s", sel, around, diff)
			}
		}
	}
}

// Gaps are where something was left out, or another source came between.
func TestContextGaps(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.New(rand.NewPCG(6, 6)), false)
	var records []record.Record
	for i, text := range []string{"a", "b", "HIT", "c", "d", "e", "HIT", "x HIT", "f"} {
		source := "one"
		if strings.HasPrefix(text, "x") {
			source = "two"
		}
		records = append(records, record.Record{Time: origin().Add(time.Duration(i) * time.Second).UnixNano(), Source: source, Message: []byte(text)})
	}
	w.add("svc-1", "pod", 1000, w.salt(), records)
	sel := Selection{From: origin(), To: origin().Add(time.Hour), Patterns: []string{"HIT"}}
	q := w.query(sel, Options{})
	p, err := q.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := q.RunContext(t.Context(), p, ContextLines{Before: 1, After: 1}, func(m Match) error {
		text := string(m.Message())
		if m.Gap {
			text = "|" + text
		}
		got = append(got, text)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := "|b HIT c |e HIT |x HIT |f"; strings.Join(got, " ") != want {
		t.Errorf("%s, want %s", strings.Join(got, " "), want)
	}
}

// The same source of the same instance in two stores are two sources.
func TestContextOfTwoStores(t *testing.T) {
	t.Parallel()
	var stores []Store
	for i, texts := range [][]string{{"first", "HIT", "third"}, {"other", "lines", "here"}} {
		w := newWorld(t, rand.New(rand.NewPCG(7, uint64(i))), false)
		var records []record.Record
		for j, text := range texts {
			at := origin().Add(time.Duration(2*j+i) * time.Second).UnixNano()
			records = append(records, record.Record{Time: at, Source: "app.log", Message: []byte(text)})
		}
		w.add("svc", "pod", 1000, w.salt(), records)
		stores = append(stores, Store{Name: fmt.Sprint("store", i), Blobs: w.memory})
	}
	q, err := New(stores, Selection{From: origin(), To: origin().Add(time.Hour), Patterns: []string{"HIT"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := q.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := q.RunContext(t.Context(), p, ContextLines{Before: 1, After: 1}, func(m Match) error {
		got = append(got, string(m.Message()))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := "first HIT third"; strings.Join(got, " ") != want {
		t.Errorf("%s, want %s", strings.Join(got, " "), want)
	}
}
