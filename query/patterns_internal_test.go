package query

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"logstow/internal/test/effort"
	"logstow/internal/test/querytest"
	"logstow/query/match"
	"logstow/query/patterns"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"logstow/internal/test/testrand"
	"logstow/record"
)

// The templates are those of the records that are selected, for any number of workers; and a template
// finds its records.
func TestPatternsAgreeWithReference(t *testing.T) { //nolint:paralleltest // it sets the number of workers
	rnd := testrand.New(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	templates, exact := 0, 0
	for range worlds(15) {
		w := newWorld(t, rnd, true)
		w.fill(rnd.IntN(30))
		w.indexed()
		for range 10 {
			sel := w.selection()
			if rnd.IntN(2) == 0 {
				sel.Patterns, sel.Regexps, sel.Excludes, sel.Templates, sel.Where = nil, nil, nil, nil, nil
			}
			middle := sel.From.Add(sel.To.Sub(sel.From) / 2)
			newCounter := func() *patterns.Counter {
				before := patterns.Range{From: match.Nanos(sel.From), To: match.Nanos(middle)}
				return patterns.NewComparison(before, patterns.Range{From: before.To, To: match.Nanos(sel.To)})
			}
			all := sel
			all.Limit = 0
			lines := w.want(&all)
			reference := newCounter()
			for _, line := range lines {
				service, line, _ := cutService(line)
				columns, _ := record.Split([]byte(line))
				at, err := record.ParseTime([]byte(line[:record.TimeLen]))
				if err != nil {
					t.Fatal(err)
				}
				reference.Add(service, record.Record{Time: at, Level: columns.Level, Message: record.AppendMessage(nil, columns.Raw)})
			}
			runtime.GOMAXPROCS(1 + rnd.IntN(5))
			q := w.query(sel, Options{Plan: []string{PlanList, PlanIndex}[rnd.IntN(2)]})
			p, err := q.Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			counted, err := q.PatternsOf(t.Context(), p, nil, newCounter)
			if err != nil {
				t.Fatal(err)
			}
			got, want := counted.Result(), reference.Result()
			if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(patterns.Result{})); diff != "" || got.Records[0]+got.Records[1] != uint64(len(lines)) {
				t.Fatalf("%+v: templates of %v records (-want +got):\n%s", sel, got.Records, diff)
			}
			if len(got.Templates) == 0 {
				continue
			}
			one := &got.Templates[rnd.IntN(len(got.Templates))]
			all.Templates = append(slices.Clone(all.Templates), one.Text)
			q = w.query(all, Options{})
			if p, err = q.Plan(t.Context()); err != nil {
				t.Fatal(err)
			}
			n, err := q.Count(t.Context(), p)
			slow := uint64(len(w.want(&all)))
			if err != nil || n != slow || n < one.Count() {
				t.Fatalf("%d records match %q, want %d, of which %d are counted: %v", n, one.Text, slow, one.Count(), err)
			}
			if templates++; n == one.Count() {
				exact++
			}
		}
	}
	if templates < 2*worlds(15) || exact < templates/2 {
		t.Errorf("%d templates, of which %d find their records only: the test checks too little", templates, exact)
	}
}

// More shapes than a worker keeps are merged while others are counted.
func TestPatternsOfManyShapes(t *testing.T) { //nolint:paralleltest // it sets the number of workers
	effort.Need(t, effort.Test, "many lines")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	rnd := rand.New(rand.NewPCG(1, 9))
	w := newWorld(t, rnd, false)
	reference := patterns.NewCounter(patterns.Always())
	for i := range 6 {
		var records []record.Record
		for n := range 5000 {
			message := make([]byte, 0, 64)
			for range 3 + n%4 {
				for range 5 {
					message = append(message, byte('a'+rnd.IntN(26)))
				}
				message = append(message, ' ')
			}
			r := record.Record{Time: origin().UnixNano() + int64(i*5000+n), Level: record.Info, Message: message}
			records = append(records, r)
			reference.Add("svc", r)
		}
		w.add("svc", "pod", 16<<10, w.salt(), records)
	}
	if n := reference.Shapes(); n < 3*maxWorkerShapes {
		t.Fatalf("%d shapes", n)
	}
	sel := querytest.Everything()
	sel.To = sel.To.AddDate(100, 0, 0)
	want := reference.Result()
	for _, workers := range []int{1, 3} {
		runtime.GOMAXPROCS(workers)
		q := w.query(sel, Options{})
		p, err := q.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		counted, err := q.PatternsOf(t.Context(), p, nil, func() *patterns.Counter { return patterns.NewCounter(patterns.Always()) })
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, counted.Result(), cmpopts.IgnoreUnexported(patterns.Result{})); diff != "" {
			t.Errorf("%d workers (-want +got):\n%.2000s", workers, diff)
		}
	}
}
