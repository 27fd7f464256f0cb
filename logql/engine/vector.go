package engine

import (
	"math"
	"slices"

	"logstow/logql/labels"
)

// missing is the bit pattern of no value at a step: a NaN that neither arithmetic nor parsing produces.
const missing = 0x7ff8_0000_1065_7040

// present reports whether there is a value.
func present(v float64) bool { return math.Float64bits(v) != missing }

// series is a value, or a missing one, for each step. It does not change once an operator has returned it.
type series struct {
	labels labels.Labels
	values []float64
}

func newSeries(ls labels.Labels, steps int) *series {
	return &series{labels: ls, values: slices.Repeat([]float64{math.Float64frombits(missing)}, steps)}
}

func (s *series) empty() bool { return !slices.ContainsFunc(s.values, present) }

// vector is the result of an expression: series with distinct labels. If scalar is set it is a number: one series without
// labels.
type vector struct {
	scalar bool
	series []*series
}

// constant is a series without labels with one value at all steps.
func constant(v float64, steps int, scalar bool) *vector {
	return &vector{scalar: scalar, series: []*series{{values: slices.Repeat([]float64{v}, steps)}}}
}

// collector makes a vector of values by labels.
type collector struct {
	steps int
	index labels.Index[*series]
}

// of is the series of labels.
func (c *collector) of(ls labels.Labels) *series {
	return c.index.Of(ls, func() *series { return newSeries(ls, c.steps) })
}

// vector is the series that have a value.
func (c *collector) vector() *vector {
	return &vector{series: slices.DeleteFunc(c.index.All, (*series).empty)}
}
