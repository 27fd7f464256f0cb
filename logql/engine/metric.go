package engine

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"logstow/logql/labels"
	"logstow/logql/syntax"
)

// Metric computes a metric query.
//
// Its errors wrap [ErrLimit], [ErrQuery], or are those of the source or of ctx.
func (e *Engine) Metric(ctx context.Context, query syntax.SampleExpr, p MetricParams) (*Value, error) {
	steps, err := e.steps(p)
	if err != nil || steps == 0 {
		return &Value{Series: []Series{}}, err
	}
	names := namedLabels(query)
	ev := &evaluation{
		engine: e, params: p, steps: steps, memory: memory{limit: e.Limits.Memory},
		hidden: names.hiddenMetadata(), fields: names.fields(), ranges: map[string]*vector{}, ticker: ticker{ctx: ctx},
		maxSeries: e.Limits.inner(steps),
	}
	if isRange(query) { // its series are the result: fail before everything is read
		ev.maxSeries = e.Limits.Series
	}
	v, err := ev.eval(ctx, query)
	if err == nil {
		err = checkSeries(len(v.series), e.Limits.Series)
	}
	if err != nil {
		return nil, err
	}
	value := ev.value(query, v)
	if ev.estimated.Load() {
		value.Warnings = append(value.Warnings,
			fmt.Sprintf("quantile_over_time: the samples take more than half of the memory of a query (%d MiB), so quantiles are estimates within 1%%; narrow the range or the selector for exact ones",
				ev.memory.limit>>20))
	}
	return value, nil
}

func (e *Engine) steps(p MetricParams) (int, error) {
	if p.Step < 0 || p.Step == 0 && p.Start != p.End {
		return 0, fmt.Errorf("%w: the step of a range query must be positive", ErrQuery)
	}
	if p.End < p.Start {
		return 0, nil
	}
	steps := int64(0)
	if p.Step > 0 {
		steps = (p.End - p.Start) / int64(p.Step)
	}
	return int(steps + 1), checkSteps(steps, int64(e.Limits.Points))
}

// evaluation is of one query.
type evaluation struct {
	engine *Engine
	params MetricParams
	steps  int
	memory memory
	ticker ticker
	// hidden are the names of structured metadata that the query does not name: series do not have these labels.
	hidden []string
	// fields are the labels that the query names, which may be fields of text.
	fields []string
	// maxSeries is the maximum number of series of each operator.
	maxSeries int
	// ranges are the results of range aggregations.
	ranges map[string]*vector
	// estimated is set if quantiles are estimates.
	estimated atomic.Bool
}

// at is the time of a step.
func (ev *evaluation) at(step int) int64 { return ev.params.Start + int64(step)*int64(ev.params.Step) }

func (ev *evaluation) eval(ctx context.Context, expr syntax.SampleExpr) (*vector, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v, err := ev.operator(ctx, expr)
	if err != nil {
		return nil, err
	}
	return v, checkSeries(len(v.series), ev.maxSeries)
}

// isRange reports whether a query is one range aggregation.
func isRange(query syntax.SampleExpr) bool {
	switch x := query.(type) {
	case *syntax.RangeAggregation:
		return true
	case *syntax.VectorAggregation:
		inner, ok := x.Inner.(*syntax.RangeAggregation)
		return ok && mergeable(x.Op, inner)
	}
	return false
}

func (ev *evaluation) operator(ctx context.Context, expr syntax.SampleExpr) (*vector, error) {
	switch x := expr.(type) {
	case *syntax.Literal:
		return constant(x.Value, ev.steps, true), nil
	case *syntax.Vector:
		return constant(x.Value, ev.steps, false), nil
	case *syntax.RangeAggregation:
		return ev.rangeAggregation(ctx, x, nil)
	case *syntax.VectorAggregation:
		return ev.vectorAggregation(ctx, x)
	case *syntax.Binary:
		return ev.binary(ctx, x)
	case *syntax.LabelReplace:
		return ev.labelReplace(ctx, x)
	}
	return nil, fmt.Errorf("%w: cannot evaluate %T", ErrQuery, expr)
}

// instantVector is the value of an expression that must not be a number.
func (ev *evaluation) instantVector(ctx context.Context, expr syntax.SampleExpr, operator string) (*vector, error) {
	v, err := ev.eval(ctx, expr)
	if err == nil && v.scalar {
		err = fmt.Errorf("%w: %s needs a vector, not a number; use vector(…)", ErrQuery, operator)
	}
	return v, err
}

// value is the result as callers get it.
func (ev *evaluation) value(query syntax.SampleExpr, v *vector) *Value {
	result := &Value{Scalar: v.scalar, Series: []Series{}}
	all := slices.Clone(v.series)
	slices.SortStableFunc(all, func(a, b *series) int { return labels.Compare(a.labels, b.labels) })
	if a, ok := query.(*syntax.VectorAggregation); ok && ev.params.Step == 0 {
		switch a.Op {
		case syntax.Sort, syntax.BottomK:
			slices.SortStableFunc(all, func(a, b *series) int { return compareNaNLast(a.values[0], b.values[0]) })
		case syntax.SortDesc, syntax.TopK, syntax.ApproxTopK:
			slices.SortStableFunc(all, func(a, b *series) int { return compareDescending(a.values[0], b.values[0]) })
		}
	}
	for _, s := range all {
		points := make([]Point, 0, len(s.values))
		for k, v := range s.values {
			if present(v) {
				points = append(points, Point{ev.at(k), v})
			}
		}
		if len(points) > 0 {
			result.Series = append(result.Series, Series{s.labels, points})
		}
	}
	return result
}

// compareNaNLast and compareDescending order values; NaN is last in both.
func compareNaNLast(a, b float64) int {
	if math.IsNaN(a) || math.IsNaN(b) {
		return cmp.Compare(b2i(math.IsNaN(a)), b2i(math.IsNaN(b)))
	}
	return cmp.Compare(a, b)
}

func compareDescending(a, b float64) int {
	if math.IsNaN(a) || math.IsNaN(b) {
		return compareNaNLast(a, b)
	}
	return cmp.Compare(b, a)
}
