package query

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"logstow/internal/price"
	"logstow/internal/test/testrand"
)

// A query with a limit of bytes or cost reads and costs no more than that, and
// what it gives is all, or the beginning of it with an error.
func TestBudget(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	prices := price.Table{List: 10_000, Read: 10_000, Gigabyte: 1e6} // a dollar a request, one for 1000 bytes
	stopped, whole := 0, 0
	for range worlds(60) {
		w := newWorld(t, rnd, false)
		w.fill(1 + rnd.IntN(12))
		sel := Selection{From: origin(), To: origin().Add(5 * time.Hour), Newest: rnd.IntN(2) == 0}
		want := got(t, w.query(sel, Options{}))
		opts := Options{Prices: &prices}
		if rnd.IntN(2) == 0 {
			opts.MaxBytes = 1 + rnd.Int64N(8000)
		} else {
			opts.MaxCost = rnd.Float64() * 80
		}
		q := w.query(sel, opts)
		var lines []string
		p, err := q.Plan(t.Context())
		if err == nil {
			err = q.Run(t.Context(), p, func(m Match) error {
				lines = append(lines, fmt.Sprintf("%s %s", m.Segment.Name.Service, m.Line))
				return nil
			})
		}
		r := q.Report()
		switch {
		case errors.Is(err, ErrBudget):
			stopped++
			if _, err := q.Plan(t.Context()); !errors.Is(err, ErrBudget) {
				t.Errorf("second call: %v", err)
			}
		case err != nil:
			t.Fatal(err)
		default:
			whole++
			if len(lines) < len(want) {
				t.Errorf("%d of %d lines without an error", len(lines), len(want))
			}
		}
		if len(lines) > len(want) || !slices.Equal(lines, want[:len(lines)]) {
			t.Error("what is given is not the beginning of the answer")
		}
		if opts.MaxBytes > 0 && r.BytesStoredRead > opts.MaxBytes || opts.MaxCost > 0 && r.CostUSD > opts.MaxCost {
			t.Errorf("%+v: %+v", opts, r)
		}
		cost := float64(r.Requests.List+r.Requests.Get) + float64(r.BytesStoredRead)/1000
		if d := r.CostUSD - cost; d > 1e-6 || d < -1e-6 {
			t.Errorf("the cost is %v, want %v: %+v", r.CostUSD, cost, r)
		}
		if len(r.Problems) > 0 && errors.Is(r.Problems[len(r.Problems)-1], ErrBudget) {
			t.Error("the limit is a problem of a segment")
		}
	}
	if stopped == 0 || whole == 0 {
		t.Errorf("%d stopped, %d not: the test tests nothing", stopped, whole)
	}
}

// At the end everything has been passed, whatever was read of it.
func TestProgress(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	for i := range worlds(40) {
		w := newWorld(t, rnd, false)
		w.fill(1 + rnd.IntN(12))
		sel := Selection{From: origin().Add(time.Duration(rnd.IntN(100)) * time.Minute), To: origin().Add(5 * time.Hour)}
		if rnd.IntN(2) == 0 {
			sel.Levels = 1 << 3
		}
		if rnd.IntN(2) == 0 {
			sel.Sources = []string{"app/1*"}
		}
		q := w.query(sel, Options{})
		p, err := q.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		switch i % 3 {
		case 0:
			err = q.Run(t.Context(), p, func(Match) error { return nil })
		case 1:
			_, err = q.Count(t.Context(), p)
		default:
			countBy(t, q, p, []string{[]string{"level", "minute", "source"}[rnd.IntN(3)]}, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		bound, passed := q.Bound(p), q.Progress()
		if passed.Bytes != bound.Bytes {
			t.Errorf("%+v: passed %d of %d bytes", sel, passed.Bytes, bound.Bytes)
		}
		r := q.Report()
		if passed.Segments != r.SegmentsRead || bound.Segments != len(p.Segments) {
			t.Errorf("%+v, %+v, %+v", passed, bound, r)
		}
	}
	// A store that is free costs nothing.
	w := newWorld(t, rnd, false)
	w.fill(3)
	q, err := New([]Store{{Name: "memory", Blobs: w.memory, Free: true}}, Selection{From: origin(), To: origin().Add(5 * time.Hour)}, Options{MaxCost: 1e-9})
	if err != nil {
		t.Fatal(err)
	}
	if got(t, q); q.Report().CostUSD != 0 {
		t.Error(q.Report())
	}
}
