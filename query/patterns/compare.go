package patterns

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// ChangeKind is how the rate of a template changed.
type ChangeKind uint8

// The kinds of change, in the order in which [Result.Changes] has them.
const (
	// New templates have no record in the first range.
	New ChangeKind = iota
	// Gone templates have no record in the second range.
	Gone
	// Up is a rate at least twice as high as in the first range, with minChanged records in the second.
	Up
	// Down is a rate at most half as high as in the first range, with minChanged records in the first.
	Down
)

// minChanged is how many records the range with the higher rate has if a template is Up or Down.
const minChanged = 10

// String is the kind's name: new, gone, up or down.
func (k ChangeKind) String() string {
	return [...]string{"new", "gone", "up", "down"}[k]
}

// Change is a template whose rates in two ranges differ.
type Change struct {
	Template
	Kind ChangeKind
	// Rates are the records per second in the two ranges.
	Rates [2]float64
}

// Changes returns the templates whose rate changed from the first to the second range of [NewComparison]: new ones, gone
// ones, and those at least doubled or halved with at least 10 records in the range with the higher rate. Within a kind they
// are ordered by the change of the rate in records per second, the greatest first, then as in [Result].Templates.
func (r *Result) Changes() []Change {
	var changes []Change
	for _, t := range r.Templates {
		kind, changed := r.change(t.Counts)
		if !changed {
			continue
		}
		c := Change{Template: t, Kind: kind}
		for side, n := range t.Counts {
			if n > 0 {
				c.Rates[side] = float64(n) / r.ranges[side].seconds()
			}
		}
		changes = append(changes, c)
	}
	slices.SortStableFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(b.difference(), a.difference()))
	})
	return changes
}

// difference is by how much the rate changed.
func (c *Change) difference() float64 { return math.Abs(c.Rates[1] - c.Rates[0]) }

// change is the kind of the change of a template's counts.
func (r *Result) change(counts [2]uint64) (kind ChangeKind, changed bool) {
	before, after := counts[0], counts[1]
	switch {
	case before == 0:
		return New, after > 0
	case after == 0:
		return Gone, true
	case after >= minChanged && doubled(before, after, r.ranges[0].nanos(), r.ranges[1].nanos()):
		return Up, true
	case before >= minChanged && doubled(after, before, r.ranges[1].nanos(), r.ranges[0].nanos()):
		return Down, true
	}
	return 0, false
}

// doubled reports whether the rate to/toTime is at least twice from/fromTime.
func doubled(from, to, fromTime, toTime uint64) bool {
	toHigh, toLow := bits.Mul64(to, fromTime)
	fromHigh, fromLow := bits.Mul64(2*from, toTime)
	return toHigh > fromHigh || toHigh == fromHigh && toLow >= fromLow
}
