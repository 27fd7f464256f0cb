package patterns

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"logstow/record"
)

const (
	// MaxShapes is how many shapes a [Counter] keeps before it groups them; it never keeps more than
	// twice as many. A shape takes up to 3 KiB of memory, usually less than 500 bytes.
	MaxShapes = 1 << 16
	// MaxServices is how many services a template names.
	MaxServices = 8
)

// Range is the time from From, included, to To, excluded, in Unix nanoseconds.
type Range struct{ From, To int64 }

// contains reports whether a time is in the range.
func (r Range) contains(t int64) bool { return r.From <= t && t < r.To }

// seconds is the length of the range.
func (r Range) seconds() float64 { return float64(r.nanos()) / 1e9 }

// nanos is the length of the range, 0 if it is empty.
func (r Range) nanos() uint64 {
	if r.To <= r.From {
		return 0
	}
	return uint64(r.To) - uint64(r.From)
}

// Always is the range of all times.
func Always() Range { return Range{From: math.MinInt64, To: math.MaxInt64} }

// Counter counts records by the shapes of their messages. It is for one goroutine: several workers
// have one each and merge them.
type Counter struct {
	ranges [2]Range
	// limit is MaxShapes, most is twice that.
	limit, most int
	masker      *masker
	texts       texts

	groups [groupCount]*group
	// shapes is the number of shapes in all groups.
	shapes int
	// coarse is set once there were more than limit shapes.
	coarse    bool
	ungrouped [2]uint64
	total     [2]uint64
}

// tally is what is known of the records of a shape or template.
type tally struct {
	counts      [2]uint64
	levels      record.Counts
	first, last int64
	// example is from the first of the records, the bytewise least of those of that time.
	example []byte
	// services are the bytewise first MaxServices+1 of their names.
	services []string
}

// NewCounter makes a Counter of the records in a range.
func NewCounter(r Range) *Counter { return NewComparison(r, Range{}) }

// NewComparison makes a Counter of the records in two ranges, which may overlap.
func NewComparison(before, after Range) *Counter {
	return &Counter{ranges: [2]Range{before, after}, limit: MaxShapes, most: 2 * MaxShapes, masker: newMasker()}
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
	t := c.tally(shape, words)
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

// see considers the first record of the tally, or of one that is merged into it.
func (t *tally) see(at int64, example []byte) {
	if t.example != nil && (at > t.first || at == t.first && bytes.Compare(example, t.example) >= 0) {
		return
	}
	if t.example == nil {
		t.last = at
	}
	t.first = at
	t.example = append(t.example[:0], example...)
	if t.example == nil {
		t.example = []byte{}
	}
}

// addService notes a service.
func (t *tally) addService(name string) {
	if len(t.services) == 1 && t.services[0] == name {
		return
	}
	i, found := slices.BinarySearch(t.services, name)
	if found || i > MaxServices {
		return
	}
	t.services = slices.Insert(t.services, i, strings.Clone(name))
	t.services = t.services[:min(len(t.services), MaxServices+1)]
}

// merge adds another tally.
func (t *tally) merge(o *tally) {
	if o.count() == 0 { // of a shape that is just being added
		return
	}
	t.see(o.first, o.example)
	t.last = max(t.last, o.last)
	for side, n := range o.counts {
		t.counts[side] += n
	}
	for level, n := range o.levels {
		t.levels[level] += n
	}
	for _, service := range o.services {
		t.addService(service)
	}
}

// count is the number of records of both sides.
func (t *tally) count() uint64 { return t.counts[0] + t.counts[1] }

// Merge adds what another Counter of the same ranges counted. It must not be used afterwards.
func (c *Counter) Merge(o *Counter) {
	if o.coarse {
		c.coarsen()
	}
	for side := range c.total {
		c.total[side] += o.total[side]
		c.ungrouped[side] += o.ungrouped[side]
	}
	for key, from := range o.groups {
		if from == nil {
			continue
		}
		if from.columns != nil {
			c.group(uint16(key)).adopt(c, from)
		}
		for shape, tally := range from.shapes {
			c.mergeShape(uint16(key), shape, tally)
		}
	}
}

// mergeShape adds the tally of a shape of a group.
func (c *Counter) mergeShape(key uint16, shape string, from *tally) {
	to := c.tallyIn(key, []byte(shape))
	if to == nil {
		for side, n := range from.counts {
			c.ungrouped[side] += n
		}
		return
	}
	to.merge(from)
}
