package engine

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"logstow/logql/syntax"
)

// No window is of times whose differences overflow: a record of a year far ahead had an interval below 0, which ended the process.
func TestFarTimes(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	agg := func(length, offset time.Duration) *syntax.RangeAggregation {
		return &syntax.RangeAggregation{Op: syntax.CountOver, Range: &syntax.LogRange{Range: length, Offset: offset, Log: &syntax.LogExpr{}}}
	}
	starts := []int64{0, int64(56 * year), math.MaxInt64 - int64(year), math.MaxInt64}
	for _, start := range starts {
		for _, end := range starts {
			for _, step := range []time.Duration{year, 100 * year, 0} {
				for _, length := range []time.Duration{1, year, 100 * year} {
					for _, offset := range []time.Duration{0, -100 * year, 100 * year} {
						p := MetricParams{Start: start, End: end, Step: step}
						e := &Engine{}
						steps, err := e.steps(p)
						if err != nil || steps == 0 {
							continue
						}
						ev := &evaluation{engine: e, params: p, steps: steps, ticker: ticker{ctx: context.Background()}}
						if err := ev.checkTimes(agg(length, offset).Range); err != nil {
							if !errors.Is(err, ErrQuery) {
								t.Fatal(err)
							}
							continue
						}
						w := newWindows(p.Start-int64(offset)-int64(length), int64(step), int64(length), steps)
						if w.end() <= w.start {
							t.Fatalf("%+v: from %d to %d", p, w.start, w.end())
						}
						for _, at := range []int64{math.MinInt64, -1, 0, int64(56 * year), int64(200 * year), int64(291 * year), math.MaxInt64, w.start, w.end() - 1} {
							if i, ok := w.interval(at); ok && (i < 0 || i > 4*steps) {
								t.Errorf("%+v, range %v, offset %v: %d is in interval %d", p, length, offset, at, i)
							}
						}
					}
				}
			}
		}
	}
	ev := &evaluation{params: MetricParams{Start: 0, End: int64(290 * year), Step: year}, steps: 291}
	if err := ev.checkTimes(agg(100*year, 0).Range); err == nil {
		t.Error("390 years are no error")
	}
	ev.params = MetricParams{Start: 0, End: int64(56 * year), Step: year}
	ev.steps = 57
	if err := ev.checkTimes(agg(100*year, 0).Range); err != nil {
		t.Error(err)
	}
}
