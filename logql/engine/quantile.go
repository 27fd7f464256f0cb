package engine

import (
	"context"
	"math"
	"math/bits"
	"slices"
)

// valuesCell keeps values, or, once there is no memory for all, estimates.
type valuesCell struct {
	values []float64
	rough  *estimates
}

func (c *valuesCell) add(s sample) { c.addValues([]float64{s.value}) }

func (c *valuesCell) addValues(values []float64) {
	if c.rough == nil {
		c.values = append(c.values, values...)
		return
	}
	for _, v := range values {
		c.rough.add(v)
	}
}

func (c *valuesCell) merge(o *valuesCell) {
	if o.rough != nil {
		c.estimate()
		c.rough.merge(o.rough)
	}
	c.addValues(o.values)
}

func (c *valuesCell) empty() bool { return len(c.values) == 0 && c.rough == nil }

func (c *valuesCell) size() int {
	if c.rough != nil {
		return c.rough.size
	}
	return 8 * cap(c.values)
}

// estimate replaces the values by estimates.
func (c *valuesCell) estimate() {
	if c.rough == nil {
		values := c.values
		*c = valuesCell{rough: newEstimates()}
		c.addValues(values)
	}
}

// quantile is a quantile of the values, which it puts into another order.
func (c *valuesCell) quantile(q float64) float64 {
	if c.rough != nil {
		return quantile(q, c.rough.count(), c.rough.value)
	}
	return quantile(q, len(c.values), (&ranker{values: c.values}).value)
}

// evalQuantiles computes quantiles.
func evalQuantiles(ctx context.Context, ev *evaluation, p *rangePlan) (*vector, error) {
	all, taken, err := accumulate[valuesCell](ctx, ev, p)
	if err != nil {
		return nil, err
	}
	defer ev.memory.release(taken)
	w := &p.windows
	return slideAll(ctx, ev, all, func(s *cellSeries[valuesCell], out []float64) error {
		if w.n == 1 || w.length <= w.step { // no sample is in two windows
			for k := range w.n {
				from, _ := w.of(k) // one interval is all of the window
				if c := s.at(from); c != nil && !c.empty() {
					out[k] = c.quantile(p.agg.Param)
				}
			}
			return nil
		}
		emit := func(k int, c *valuesCell) { out[k] = c.quantile(p.agg.Param) }
		size := int64(rankedSize * numberOfValues(s))
		if !isRough(s) {
			if ev.memory.take(size) == nil {
				defer ev.memory.release(size)
				return slideRanks(w, s, &ev.ticker, func(k int, in *ranks) {
					out[k] = quantile(p.agg.Param, in.n, in.value)
				})
			}
			ev.memory.release(size) // a failure counts it, too
		}
		return slideEstimates(ev, w, s, emit)
	})
}

// slideEstimates calls emit with estimates of each window that has values. Those of a window take at most as much memory as those of all.
func slideEstimates(ev *evaluation, w *windows, s *cellSeries[valuesCell], emit func(k int, c *valuesCell)) error {
	ev.estimated.Store(true)
	all, size := newEstimates(), 0
	for c := range s.cells() {
		if !c.empty() {
			before := c.size()
			c.estimate()
			all.merge(c.rough)
			size += c.size() - before
		}
	}
	from, to := w.of(0)
	more := int64(size + (to-from+2)*all.size)
	defer ev.memory.release(more)
	if err := ev.memory.take(more); err != nil {
		return err
	}
	slide(w, s.at, emit)
	return nil
}

// isRough reports whether a cell of a series has estimates.
func isRough(s *cellSeries[valuesCell]) bool {
	for c := range s.cells() {
		if c.rough != nil {
			return true
		}
	}
	return false
}

// numberOfValues returns the number of values in all cells.
func numberOfValues(s *cellSeries[valuesCell]) (n int) {
	for c := range s.cells() {
		n += len(c.values)
	}
	return n
}

// quantile interpolates between the two nearest of n values in order, as Prometheus does.
func quantile(q float64, n int, value func(i int) float64) float64 {
	switch {
	case n == 0 || math.IsNaN(q):
		return math.NaN()
	case q < 0:
		return math.Inf(-1)
	case q > 1:
		return math.Inf(1)
	}
	rank := q * float64(n-1)
	low := math.Floor(rank)
	weight := rank - low
	i := int(low)
	return value(i)*(1-weight) + value(min(i+1, n-1))*weight
}

// ranker selects values by their rank. It puts them into another order.
type ranker struct {
	values []float64
	// sorted is the number of leading values that are known not to exceed any later value.
	sorted int
}

// value is the i-th of the values in order, from 0. The next of the one before takes little time.
func (r *ranker) value(i int) float64 {
	if i == r.sorted && i > 0 {
		return least(r.values[i:])
	}
	low, high := 0, len(r.values)
	for rounds := 0; high-low > 1; rounds++ {
		part := r.values[low:high]
		if rounds > 2*bits.Len(uint(len(r.values))) { // the pivots are bad
			slices.SortFunc(part, compareValues)
			break
		}
		a, b := divide(part, pivot(part, i-low))
		switch {
		case i < low+a:
			high = low + a
		case i >= low+b:
			low += b
		default:
			low, high = i, i+1
		}
	}
	r.sorted = i + 1
	return r.values[i]
}

// least is the first of values in order.
func least(values []float64) float64 {
	first := values[0]
	for _, v := range values[1:] {
		if !(v > first) && compareValues(v, first) < 0 {
			first = v
		}
	}
	return first
}

// divide partitions values: those less than the pivot come before [a, b), those greater after it.
func divide(values []float64, pivot float64) (a, b int) {
	b = len(values)
	for k := 0; k < b; {
		v := values[k]
		order := -1
		if !(v < pivot) { // NaN is less
			order = compareValues(v, pivot)
		}
		switch {
		case order < 0:
			values[k], values[a] = values[a], v
			a, k = a+1, k+1
		case order > 0:
			b--
			values[k], values[b] = values[b], v
		default:
			k++
		}
	}
	return a, b
}

// pivotSample is the number of values from which a pivot is chosen, pivotMargin the distance of its rank from the wanted
// rank in the sample.
const (
	pivotSample = 31
	pivotMargin = 2
)

// pivot returns a value near rank i, such that few values are likely between both.
func pivot(values []float64, i int) float64 {
	if len(values) < 10*pivotSample {
		return values[len(values)/2]
	}
	var sample [pivotSample]float64
	for k := range sample {
		sample[k] = values[k*(len(values)/pivotSample)]
	}
	slices.SortFunc(sample[:], compareValues)
	at := i * pivotSample / len(values)
	if at < pivotSample/2 {
		return sample[min(at+pivotMargin, pivotSample-1)]
	}
	return sample[max(at-pivotMargin, 0)]
}

// ranks are a multiset of some known values: a Fenwick tree of how often each is in it.
type ranks struct {
	values []float64 // different, in order
	counts []int32   // counts[i] is of the values that end with number i, from 1; as many as the lowest bit of i
	n      int
}

// rankedSize is the memory that slideRanks takes for a sample, at most: its value twice, its rank and a count.
const rankedSize = 8 + 8 + 4 + 4

// change adds the value of a rank d times.
func (r *ranks) change(rank, d int32) {
	r.n += int(d)
	for i := int(rank) + 1; i < len(r.counts); i += i & -i {
		r.counts[i] += d
	}
}

// value is the i-th of the values in order, from 0.
func (r *ranks) value(i int) float64 {
	at, before := 0, int32(i)
	for bit := 1 << (bits.Len(uint(len(r.counts)-1)) - 1); bit > 0; bit >>= 1 {
		if next := at + bit; next < len(r.counts) && r.counts[next] <= before {
			at, before = next, before-r.counts[next]
		}
	}
	return r.values[at]
}

// slideRanks calls emit with the values of each window that has some. Each value is added and removed once.
func slideRanks(w *windows, s *cellSeries[valuesCell], t *ticker, emit func(k int, in *ranks)) error {
	all := make([]float64, 0, numberOfValues(s))
	ends := make([]int, len(s.pages)*pageCells+1) // of the values of interval i-1 in all
	for i := range len(ends) - 1 {
		if c := s.at(i); c != nil {
			all = append(all, c.values...)
		}
		ends[i+1] = len(all)
	}
	in := &ranks{values: slices.Clone(all)}
	slices.SortFunc(in.values, compareValues)
	in.values = slices.CompactFunc(in.values, func(a, b float64) bool { return compareValues(a, b) == 0 })
	in.counts = make([]int32, len(in.values)+1)
	rank := make([]int32, len(all))
	for i, v := range all {
		if err := t.tick(); err != nil {
			return err
		}
		at, _ := slices.BinarySearchFunc(in.values, v, compareValues)
		rank[i] = int32(at)
	}
	of := func(interval int) []int32 {
		return rank[ends[min(interval, len(ends)-1)]:ends[min(interval+1, len(ends)-1)]]
	}
	begin, end := 0, 0 // the intervals of the values in the set
	for k := range w.n {
		if err := t.tick(); err != nil {
			return err
		}
		from, to := w.of(k)
		for ; end < to; end++ {
			for _, r := range of(end) {
				in.change(r, 1)
			}
		}
		for ; begin < from; begin++ {
			for _, r := range of(begin) {
				in.change(r, -1)
			}
		}
		if in.n > 0 {
			emit(k, in)
		}
	}
	return nil
}
