package engine

import (
	"cmp"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
)

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// randomWindows have boundaries of all kinds: windows that overlap, touch and leave gaps.
func randomWindows(r *rand.Rand) windows {
	n, longest := 1+r.IntN(30), []int{20, 60, 400}[r.IntN(3)]
	return newWindows(int64(r.IntN(100)-50), int64(1+r.IntN(20)), int64(1+r.IntN(longest)), n)
}

// randomSamples have equal times, equal values, zeros of both signs and values that sums of floats lose.
func randomSamples(r *rand.Rand, w *windows) []sample {
	values := []float64{0, math.Copysign(0, -1), 1, 2.5, -3, 0.1, 0.2, 1e17, -1e17, 1e-9, 7}
	special := r.IntN(10) == 0
	if special {
		values = append(values, math.NaN(), math.Inf(1), math.Inf(-1), 1e308, -1e308, 1e200)
	}
	all := make([]sample, r.IntN(80))
	for i := range all {
		at := w.start - 20 + r.Int64N(w.end()-w.start+40)
		all[i] = sample{at: at, value: values[r.IntN(len(values))], n: 1}
	}
	return all
}

// windowOf are the samples of a window, by its definition, in order.
func windowOf(w *windows, all []sample, k int) []sample {
	from := w.start + int64(k)*w.step
	var in []sample
	for _, s := range all {
		if s.at > from && s.at <= from+w.length {
			in = append(in, s)
		}
	}
	slices.SortFunc(in, compareSamples)
	return in
}

// gather makes cells of samples that several workers add in any order.
func gather[T any, C cell[T]](r *rand.Rand, w *windows, all []sample) *cellSeries[T] {
	parts := make([]*cellSeries[T], 1+r.IntN(4))
	for i := range parts {
		parts[i] = &cellSeries[T]{}
	}
	for _, i := range r.Perm(len(all)) {
		if interval, ok := w.interval(all[i].at); ok {
			c, _ := parts[r.IntN(len(parts))].grow(interval)
			C(c).add(all[i])
		}
	}
	for _, part := range parts[1:] {
		mergeSeries[T, C](parts[0], part)
	}
	return parts[0]
}

func sameFloat(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b) || a == 0 && b == 0
}

// checkWindows compares a function of all windows with its definition.
func checkWindows[T any, C cell[T]](t *testing.T, r *rand.Rand, w *windows, all []sample, name string, got func(C) float64, want func([]sample) float64) {
	t.Helper()
	series := gather[T, C](r, w, all)
	results := map[int]float64{}
	slide[T, C](w, series.at, func(k int, c *T) { results[k] = got(C(c)) })
	checkResults(t, w, all, name, results, want)
}

func checkResults(t *testing.T, w *windows, all []sample, name string, results map[int]float64, want func([]sample) float64) {
	t.Helper()
	for k := range w.n {
		in := windowOf(w, all, k)
		result, ok := results[k]
		if ok != (len(in) > 0) {
			t.Fatalf("%s: windows %+v, window %d of samples %v: has a result: %v", name, *w, k, in, ok)
		}
		if ok && !sameFloat(result, want(in)) {
			t.Fatalf("%s: windows %+v, window %d of samples %v: %v, want %v", name, *w, k, in, result, want(in))
		}
	}
}

// TestWindows compares windows with their definition: random steps, ranges and samples, any order and number of workers.
func TestWindows(t *testing.T) {
	effort.Need(t, effort.Test, "one goroutine, which takes seconds under the race detector")
	t.Parallel()
	r := testrand.New(t)
	for range 1500 {
		w := randomWindows(r)
		all := randomSamples(r, &w)
		checkWindows(t, r, &w, all, "count", func(c *countCell) float64 { return float64(c.n) }, func(in []sample) float64 { return float64(len(in)) })
		checkWindows(t, r, &w, all, "sum", (*sumCell).total, slowSum)
		checkWindows(t, r, &w, all, "mean", (*sumCell).mean, func(in []sample) float64 { return slowSum(in) / float64(len(in)) })
		checkWindows(t, r, &w, all, "variance", (*varianceCell).variance, slowVariance)
		checkWindows(t, r, &w, all, "min", func(c *extremeCell) float64 { return c.min }, func(in []sample) float64 { return slowExtreme(in, -1) })
		checkWindows(t, r, &w, all, "max", func(c *extremeCell) float64 { return c.max }, func(in []sample) float64 { return slowExtreme(in, 1) })
		checkWindows(t, r, &w, all, "first", func(c *edgeCell) float64 { return c.first.value }, func(in []sample) float64 { return in[0].value })
		checkWindows(t, r, &w, all, "last", func(c *edgeCell) float64 { return c.last.value }, func(in []sample) float64 { return in[len(in)-1].value })
		checkQuantiles(t, r, &w, all)
		checkCounters(t, r, &w, all)
	}
}

func checkQuantiles(t *testing.T, r *rand.Rand, w *windows, all []sample) {
	t.Helper()
	series, q, results := gather[valuesCell](r, w, all), r.Float64(), map[int]float64{}
	if err := slideRanks(w, series, &ticker{}, func(k int, in *ranks) { results[k] = quantile(q, in.n, in.value) }); err != nil {
		t.Fatal(err)
	}
	checkResults(t, w, all, "quantile", results, func(in []sample) float64 {
		values := make([]float64, len(in))
		for i := range in {
			values[i] = in[i].value
		}
		slices.SortFunc(values, cmp.Compare)
		rank := q * float64(len(in)-1)
		low, high := values[int(math.Floor(rank))], values[int(min(math.Floor(rank)+1, float64(len(in)-1)))]
		return low*(1-(rank-math.Floor(rank))) + high*(rank-math.Floor(rank))
	})
}

func checkCounters(t *testing.T, r *rand.Rand, w *windows, all []sample) {
	t.Helper()
	if slices.ContainsFunc(all, func(s sample) bool { return math.IsNaN(s.value) || math.Abs(s.value) > 1e100 }) {
		return
	}
	series, results := gather[samplesCell](r, w, all), map[int]float64{}
	counters := counterSeries(series)
	slide(w, counters.at, func(k int, c *counterCell) { results[k] = c.increase() })
	checkResults(t, w, all, "counter", results, func(in []sample) float64 {
		sum := new(big.Float).SetPrec(5000)
		for i := 1; i < len(in); i++ {
			sum.Add(sum, big.NewFloat(in[i].value))
			if in[i].value >= in[i-1].value {
				sum.Sub(sum, big.NewFloat(in[i-1].value))
			}
		}
		x, _ := sum.Float64()
		return x
	})
}

func slowSum(in []sample) float64 {
	sum, special, finite := new(big.Float).SetPrec(5000), 0.0, true
	for _, s := range in {
		if math.IsNaN(s.value) || math.IsInf(s.value, 0) {
			finite = false
			special += s.value
			continue
		}
		sum.Add(sum, big.NewFloat(s.value))
	}
	if !finite {
		return special
	}
	x, _ := sum.Float64()
	return x
}

func slowVariance(in []sample) float64 {
	n := new(big.Rat).SetInt64(int64(len(in)))
	sum, squares := new(big.Rat), new(big.Rat)
	if slices.ContainsFunc(in, func(s sample) bool { return math.IsNaN(s.value - s.value) }) {
		return math.NaN()
	}
	for _, s := range in {
		if math.Abs(s.value) > 1e160 {
			return math.Inf(1) // the square is
		}
		x := new(big.Rat).SetFloat64(s.value)
		sum.Add(sum, x)
		squares.Add(squares, new(big.Rat).Mul(x, x))
	}
	mean := new(big.Rat).Quo(sum, n)
	x, _ := new(big.Rat).Sub(squares.Quo(squares, n), mean.Mul(mean, mean)).Float64()
	return x
}

func slowExtreme(in []sample, sign float64) float64 {
	best := math.NaN()
	for _, s := range in {
		if !math.IsNaN(s.value) && (math.IsNaN(best) || s.value*sign > best*sign) {
			best = s.value
		}
	}
	return best
}

// TestIntervals checks that there are few intervals, however long windows are.
func TestIntervals(t *testing.T) {
	t.Parallel()
	r := testrand.New(t)
	for range 10_000 {
		w := randomWindows(r)
		if r.IntN(4) == 0 {
			w = newWindows(0, int64(1+r.IntN(20)), 1<<55, 1+r.IntN(30))
		}
		last, ok := w.interval(w.end())
		if _, to := w.of(w.n - 1); !ok || last != to-1 || to > 4*w.n {
			t.Fatalf("%+v: last interval %d, %v; the last window ends with %d", w, last, ok, to)
		}
	}
}

// TestMergesPerWindow checks that windows which overlap a lot cost a few merges each.
func TestMergesPerWindow(t *testing.T) {
	t.Parallel()
	w := newWindows(0, 1, 1000, 1001)
	series := &cellSeries[mergeCounter]{}
	merges := 0
	for i := range 2001 {
		c, _ := series.grow(i)
		*c = mergeCounter{1, &merges}
	}
	slide(&w, series.at, func(k int, c *mergeCounter) {
		if c.n != 1000 {
			t.Fatalf("window %d: %d cells", k, c.n)
		}
	})
	if limit := 6 * w.n; merges > limit {
		t.Errorf("%d merges, limit %d", merges, limit)
	}
}

type mergeCounter struct {
	n      int
	merges *int
}

func (c *mergeCounter) add(sample) {}
func (c *mergeCounter) merge(o *mergeCounter) {
	if c.n += o.n; o.merges != nil {
		c.merges = o.merges
		*c.merges++
	}
}
func (c *mergeCounter) empty() bool { return c.n == 0 }
func (c *mergeCounter) size() int   { return 0 }

// TestSpans checks that windows far apart are read one by one, and that all are read.
func TestSpans(t *testing.T) {
	t.Parallel()
	w := newWindows(-10, 100, 10, 3)
	if got := w.spans(); !slices.Equal(got, []span{{-10, 0}, {90, 100}, {190, 200}}) {
		t.Error(got)
	}
	for _, w := range []windows{newWindows(0, 20, 10, 3), newWindows(0, 5, 10, 3), newWindows(0, 0, 10, 1), newWindows(0, 100, 10, 1000)} {
		if got := w.spans(); !slices.Equal(got, []span{{w.start, w.end()}}) {
			t.Error(w, got)
		}
	}
}

// TestCommonWidth checks the width of intervals that windows are made of.
func TestCommonWidth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		start, step, length int64
		n                   int
		want                int64
	}{{600, 60, 300, 5, 60}, {630, 60, 300, 5, 30}, {0, 60, 60, 2, 60}, {601, 60, 300, 5, 1}, {-600, 0, 300, 1, 300}} {
		w := newWindows(c.start, c.step, c.length, c.n)
		if got := w.commonWidth(); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// TestRanker compares ranks with those of sorted values.
func TestRanker(t *testing.T) {
	t.Parallel()
	r := testrand.New(t)
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1, 2}
	for range 2000 {
		values := make([]float64, 1+r.IntN(pick(r, []int{3, 40, 3000})))
		kind := r.IntN(5)
		for i := range values {
			switch values[i] = r.NormFloat64(); kind {
			case 0:
				values[i] = float64(r.IntN(5))
			case 1:
				values[i] = pick(r, special)
			case 2: // the pivots are bad
				values[i] = float64(i * i % 997)
			case 3:
				values[i] = float64(i)
			}
		}
		want := slices.Clone(values)
		slices.SortFunc(want, compareValues)
		in := ranker{values: values}
		for range 4 {
			for i := r.IntN(len(values)); i < len(values); i++ {
				if got := in.value(i); compareValues(got, want[i]) != 0 {
					t.Fatalf("kind %d: value %d of %d is %v, want %v", kind, i, len(values), got, want[i])
				}
				if r.IntN(2) == 0 {
					break
				}
			}
		}
	}
}

// TestQuantile checks the edges of quantiles.
func TestQuantile(t *testing.T) {
	t.Parallel()
	values := []float64{1, 2, 4}
	for _, c := range []struct{ q, want float64 }{{-0.1, math.Inf(-1)}, {1.1, math.Inf(1)}, {math.NaN(), math.NaN()}, {0, 1}, {1, 4}, {0.5, 2}, {0.75, 3}} {
		if got := quantile(c.q, 3, func(i int) float64 { return values[i] }); !sameFloat(got, c.want) {
			t.Errorf("%v: %v, want %v", c.q, got, c.want)
		}
	}
	if got := quantile(0.5, 0, nil); !math.IsNaN(got) {
		t.Error(got)
	}
}
