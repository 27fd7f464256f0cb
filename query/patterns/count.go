package patterns

import (
	"math"

	"logstow/record"
)

// MaxShapes is the number of shapes above which a [Counter] groups them. It never keeps more than twice as many. A shape
// takes up to 3 KiB of memory, usually less than 500 bytes.
const MaxShapes = 1 << 16

// Range is the time from From, included, to To, excluded, in Unix nanoseconds.
type Range struct{ From, To int64 }

// contains reports whether a time is in the range.
func (r Range) contains(t int64) bool { return r.From <= t && t < r.To }

// seconds is the length of the range.
func (r Range) seconds() float64 { return float64(r.nanos()) / 1e9 }

// nanos returns the length of the range, 0 if it is empty.
func (r Range) nanos() uint64 {
	if r.To <= r.From {
		return 0
	}
	return uint64(r.To) - uint64(r.From)
}

// Always is the range of all times.
func Always() Range { return Range{From: math.MinInt64, To: math.MaxInt64} }

// Counter counts records by the shapes of their messages. Not safe for concurrent use: each worker has its own, and they
// are merged.
type Counter struct {
	ranges [2]Range
	masker *masker
	texts  texts
	set    shapeSet

	ungrouped [2]uint64
	total     [2]uint64
}

// NewCounter makes a Counter of the records in a range.
func NewCounter(r Range) *Counter { return NewComparison(r, Range{}) }

// NewComparison makes a Counter of the records in two ranges, which may overlap.
func NewComparison(before, after Range) *Counter {
	return &Counter{ranges: [2]Range{before, after}, masker: newMasker(), set: shapeSet{limit: MaxShapes, most: 2 * MaxShapes}}
}

// Add counts a record of a service. Records outside of the ranges are ignored. Nothing of the
// record is retained.
func (c *Counter) Add(service string, r record.Record) {
	in := [2]bool{c.ranges[0].contains(r.Time), c.ranges[1].contains(r.Time)}
	if !in[0] && !in[1] {
		return
	}
	text := c.texts.text(r.Message)
	shape, words := c.masker.shape(text)
	t := c.set.tally(shape, words)
	for side, ok := range in {
		if !ok {
			continue
		}
		c.total[side]++
		if t != nil {
			t.counts[side]++
		} else {
			c.ungrouped[side]++
		}
	}
	if t == nil {
		return
	}
	if int(r.Level) < len(t.levels) {
		t.levels[r.Level]++
	}
	t.see(r.Time, text[:min(len(text), maxText)])
	t.last = max(t.last, r.Time)
	t.addService(service)
}

// Merge adds the counts of another Counter of the same ranges, which must not be used afterwards.
func (c *Counter) Merge(o *Counter) {
	if o.set.coarse {
		c.set.coarsen()
	}
	for side := range c.total {
		c.total[side] += o.total[side]
		c.ungrouped[side] += o.ungrouped[side]
	}
	for key, from := range o.set.groups {
		if from == nil {
			continue
		}
		if from.columns != nil {
			c.set.group(uint16(key)).adopt(&c.set, from)
		}
		for shape, tally := range from.shapes {
			c.mergeShape(uint16(key), shape, tally)
		}
	}
}

// Shapes is how many shapes are kept, which take the memory of the Counter.
func (c *Counter) Shapes() int { return c.set.shapes }

// mergeShape adds the tally of a shape of a group.
func (c *Counter) mergeShape(key uint16, shape string, from *tally) {
	to := c.set.tallyIn(key, []byte(shape))
	if to == nil {
		for side, n := range from.counts {
			c.ungrouped[side] += n
		}
		return
	}
	to.merge(from)
}
