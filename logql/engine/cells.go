package engine

import (
	"cmp"
	"math"
	"slices"

	"logstow/exact"
)

// sample is a number that a range aggregation is computed of.
type sample struct {
	at    int64
	value float64
	// n is the number of records that the sample stands for; if it is more than one, value is 0.
	n uint64
}

// compareValues orders floats: NaN first, -0 before 0. Only equal bits are equal, but for the bits of NaN.
func compareValues(a, b float64) int {
	if a == 0 && b == 0 {
		return cmp.Compare(b2i(math.Signbit(b)), b2i(math.Signbit(a)))
	}
	return cmp.Compare(a, b)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// merging is the aggregate of the samples of an interval. The zero value has no samples.
type merging[T any] interface {
	*T
	// merge adds the samples of another cell, which does not change and shares no memory.
	merge(o *T)
	empty() bool
}

// cell is an aggregate to which samples are added. The result does not depend on the order of samples or on how cells are merged.
type cell[T any] interface {
	merging[T]
	add(s sample)
	// size returns the memory in bytes in addition to that of T.
	size() int
}

// countCell counts records.
type countCell struct{ n uint64 }

func (c *countCell) add(s sample)       { c.n += s.n }
func (c *countCell) merge(o *countCell) { c.n += o.n }
func (c *countCell) empty() bool        { return c.n == 0 }
func (c *countCell) size() int          { return 0 }

// sumCell sums values.
type sumCell struct {
	n   uint64
	sum exact.FloatSum
}

func (c *sumCell) add(s sample) { c.n += s.n; c.sum.Add(s.value) }
func (c *sumCell) addValues(values []float64) {
	c.n += uint64(len(values))
	c.sum.AddValues(values)
}

func (c *sumCell) merge(o *sumCell) { c.n += o.n; c.sum.Merge(&o.sum) }
func (c *sumCell) empty() bool      { return c.n == 0 }
func (c *sumCell) size() int        { return c.sum.Size() }
func (c *sumCell) total() float64   { return c.sum.Float() }
func (c *sumCell) mean() float64    { return c.sum.Float() / float64(c.n) }

// varianceCell sums values and squares.
type varianceCell struct {
	sumCell
	squares exact.FloatSum
}

func (c *varianceCell) add(s sample) { c.sumCell.add(s); c.squares.AddSquare(s.value) }
func (c *varianceCell) addValues(values []float64) {
	c.sumCell.addValues(values)
	c.squares.AddSquares(values)
}

func (c *varianceCell) merge(o *varianceCell) {
	c.sumCell.merge(&o.sumCell)
	c.squares.Merge(&o.squares)
}

func (c *varianceCell) size() int          { return c.sum.Size() + c.squares.Size() }
func (c *varianceCell) variance() float64  { return exact.Variance(&c.sum, &c.squares, c.n) }
func (c *varianceCell) deviation() float64 { return math.Sqrt(c.variance()) }

// extremeCell has the least and the greatest value. It ignores NaN unless all values are NaN.
type extremeCell struct {
	some     bool
	min, max float64
}

func (c *extremeCell) add(s sample) { c.merge(&extremeCell{true, s.value, s.value}) }

func (c *extremeCell) addValues(values []float64) {
	for _, v := range values {
		if c.min < v && v < c.max { // as most are
			continue
		}
		c.add(sample{value: v})
	}
}

func (c *extremeCell) merge(o *extremeCell) {
	switch {
	case !o.some || c.some && math.IsNaN(o.min):
	case !c.some || math.IsNaN(c.min):
		*c = *o
	default:
		c.min = math.Min(c.min, o.min)
		c.max = math.Max(c.max, o.max)
	}
}

func (c *extremeCell) empty() bool { return !c.some }
func (c *extremeCell) size() int   { return 0 }

// edgeCell has the first and the last sample. Of several at one time the least is the first and the greatest is the last.
type edgeCell struct{ first, last sample }

func (c *edgeCell) add(s sample) { c.merge(&edgeCell{s, s}) }

func (c *edgeCell) merge(o *edgeCell) {
	switch {
	case o.empty():
	case c.empty():
		*c = *o
	default:
		if compareSamples(o.first, c.first) < 0 {
			c.first = o.first
		}
		if compareSamples(o.last, c.last) > 0 {
			c.last = o.last
		}
	}
}

func (c *edgeCell) empty() bool { return c.first.n == 0 }
func (c *edgeCell) size() int   { return 0 }

func compareSamples(a, b sample) int {
	if c := cmp.Compare(a.at, b.at); c != 0 {
		return c
	}
	return compareValues(a.value, b.value)
}

// samplesCell keeps samples; they are in order after sort.
type samplesCell struct{ samples []timedValue }

type timedValue struct {
	at    int64
	value float64
}

func (c *samplesCell) add(s sample)         { c.samples = append(c.samples, timedValue{s.at, s.value}) }
func (c *samplesCell) merge(o *samplesCell) { c.samples = append(c.samples, o.samples...) }
func (c *samplesCell) empty() bool          { return len(c.samples) == 0 }
func (c *samplesCell) size() int            { return 16 * cap(c.samples) }

func (c *samplesCell) sort() {
	slices.SortFunc(c.samples, func(a, b timedValue) int {
		return compareSamples(sample{at: a.at, value: a.value}, sample{at: b.at, value: b.value})
	})
}

// counter is the increase of a counter over the samples of the cell, which are in order.
func (c *samplesCell) counter() counterCell {
	var all counterCell
	for _, s := range c.samples {
		all.merge(&counterCell{n: 1, first: s, last: s})
	}
	return all
}

// counterCell is the increase of a counter. A value less than the previous one is a reset to 0. Cells must be merged in
// order of time.
type counterCell struct {
	n           int
	first, last timedValue
	lost        exact.FloatSum // the values before resets
}

func (c *counterCell) merge(o *counterCell) {
	switch {
	case o.n == 0:
		return
	case c.n == 0:
		c.first = o.first
	case o.first.value < c.last.value:
		c.lost.Add(c.last.value)
	}
	c.n += o.n
	c.lost.Merge(&o.lost)
	c.last = o.last
}

func (c *counterCell) empty() bool { return c.n == 0 }

func (c *counterCell) increase() float64 {
	var total exact.FloatSum
	total.Merge(&c.lost)
	total.Add(c.last.value)
	total.Add(-c.first.value)
	return total.Float()
}

// rate is the increase per second in the window (from, to], extrapolated as Prometheus documents for its rate: to the
// boundaries, or to where the counter was 0, if samples are near them, otherwise by half of the mean distance of samples.
// It is 0 for samples of one time, as in Loki.
func (c *counterCell) rate(from, to int64) float64 {
	sampled := float64(c.last.at - c.first.at)
	if sampled == 0 {
		return 0
	}
	increase := c.increase()
	mean := sampled / float64(c.n-1)
	margin := func(distance float64) float64 {
		if distance >= 1.1*mean {
			return mean / 2
		}
		return distance
	}
	before := float64(c.first.at - from)
	if increase > 0 && c.first.value >= 0 {
		before = min(before, sampled*(c.first.value/increase))
	}
	before = margin(before)
	after := margin(float64(to - c.last.at))
	return increase * ((sampled + before + after) / sampled) / (float64(to-from) / 1e9)
}
