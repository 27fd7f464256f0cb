package engine

import (
	"math"

	"logstow/internal/sketch"
)

// estimates are how many values there are of about each: within 1%.
type estimates struct {
	// NaN and -Inf come before the values of finite, +Inf after them.
	nan, low, high int
	finite         *sketch.Sketch
	size           int // memory
}

func newEstimates() *estimates { return &estimates{finite: sketch.New(), size: sketch.Overhead} }

func (e *estimates) add(v float64) {
	switch {
	case math.IsNaN(v):
		e.nan++
	case math.IsInf(v, -1):
		e.low++
	case math.IsInf(v, 1):
		e.high++
	default:
		e.size += int(e.finite.Add(v))
	}
}

func (e *estimates) merge(o *estimates) {
	e.nan, e.low, e.high = e.nan+o.nan, e.low+o.low, e.high+o.high
	e.size += int(e.finite.Merge(o.finite))
}

func (e *estimates) count() int { return e.nan + e.low + int(e.finite.Count()) + e.high }

// value is the i-th of the values in order, from 0.
func (e *estimates) value(i int) float64 {
	switch n := int(e.finite.Count()); {
	case i < e.nan:
		return math.NaN()
	case i < e.nan+e.low:
		return math.Inf(-1)
	case i < e.nan+e.low+n:
		return e.finite.Rank(uint64(i-e.nan-e.low) + 1)
	}
	return math.Inf(1)
}

// estimator is a cell that can do with less memory, at the cost of accuracy.
type estimator interface {
	estimate()
	size() int
}

// minEstimated is the memory of a cell from which on estimates take less.
const minEstimated = 16 << 10

// estimate makes the cells estimates if the memory of the query runs out.
func (a *accumulator[T, C]) estimate() error {
	if _, can := any(C(nil)).(estimator); !can || a.taken < a.estimateAt || !a.ev.memory.scarce() {
		return nil
	}
	freed := 0
	for _, s := range a.series {
		for c := range s.cells() {
			e, _ := any(C(c)).(estimator)
			if before := e.size(); before >= minEstimated {
				e.estimate()
				freed += before - e.size()
			}
		}
	}
	if freed > 0 {
		a.ev.estimated.Store(true)
	}
	err := a.take(-freed)
	a.estimateAt = a.taken + max(a.taken/4, minEstimated) // so that cells are seldom looked through
	return err
}
