package engine

import (
	"context"
	"math"
	"slices"

	"logstow/logql/labels"
	"logstow/logql/syntax"
)

// vectorAggregation computes a function of the series of each group.
func (ev *evaluation) vectorAggregation(ctx context.Context, agg *syntax.VectorAggregation) (*vector, error) {
	if inner, ok := agg.Inner.(*syntax.RangeAggregation); ok && mergeable(agg.Op, inner) {
		return ev.rangeAggregation(ctx, inner, grouperOf(agg.Grouping))
	}
	v, err := ev.instantVector(ctx, agg.Inner, string(agg.Op))
	if err != nil {
		return nil, err
	}
	switch agg.Op {
	case syntax.Sort, syntax.SortDesc:
		return v, nil // only the order of the outermost operator is visible
	case syntax.TopK, syntax.ApproxTopK:
		return ev.selectK(v, agg, compareDescending)
	case syntax.BottomK:
		return ev.selectK(v, agg, compareNaNLast)
	}
	out := &collector{steps: ev.steps}
	for _, g := range groups(v, agg.Grouping) {
		into := out.of(g.labels)
		for k := range ev.steps {
			if err := ev.ticker.tick(); err != nil {
				return nil, err
			}
			if value, ok := aggregateStep(agg.Op, g.members, k); ok {
				into.values[k] = value
			}
		}
	}
	return out.vector(), nil
}

// mergeable reports whether an aggregation of a range aggregation is the range aggregation of larger groups.
func mergeable(op syntax.VectorOp, inner *syntax.RangeAggregation) bool {
	if inner.Grouping != nil {
		return false
	}
	switch inner.Op {
	case syntax.CountOver, syntax.BytesOver, syntax.BytesRate, syntax.Rate, syntax.SumOver:
		return op == syntax.Sum
	case syntax.MinOver:
		return op == syntax.Min
	case syntax.MaxOver:
		return op == syntax.Max
	}
	return false
}

// group is the series of a vector with the same labels by a grouping.
type group struct {
	labels  labels.Labels
	members []*series
}

func groups(v *vector, by *syntax.Grouping) []*group {
	grouper := grouperOf(by)
	var index labels.Index[*group]
	for _, s := range v.series {
		ls := grouper.of(s.labels)
		g := index.Of(ls, func() *group { return &group{labels: ls} })
		g.members = append(g.members, s)
	}
	return index.All
}

// aggregateStep aggregates the values at a step; false if there are none.
func aggregateStep(op syntax.VectorOp, members []*series, k int) (float64, bool) {
	var all varianceCell
	var extremes extremeCell
	for _, s := range members {
		v := s.values[k]
		if !present(v) {
			continue
		}
		all.n++
		switch op {
		case syntax.Sum, syntax.Avg:
			all.sum.Add(v)
		case syntax.Stddev, syntax.Stdvar:
			all.sum.Add(v)
			all.squares.AddSquare(v)
		case syntax.Min, syntax.Max:
			extremes.add(sample{value: v})
		}
	}
	if all.n == 0 {
		return 0, false
	}
	switch op {
	case syntax.Sum:
		return all.total(), true
	case syntax.Avg:
		return all.mean(), true
	case syntax.Min:
		return extremes.min, true
	case syntax.Max:
		return extremes.max, true
	case syntax.Stdvar:
		return all.variance(), true
	case syntax.Stddev:
		return all.deviation(), true
	case syntax.Count:
		return float64(all.n), true
	}
	return math.NaN(), true
}

// selectK keeps, at each step, the first k values of each group in an order. Equal values are ordered by labels.
func (ev *evaluation) selectK(v *vector, agg *syntax.VectorAggregation, order func(a, b float64) int) (*vector, error) {
	out := &collector{steps: ev.steps}
	for _, g := range groups(v, agg.Grouping) {
		slices.SortFunc(g.members, func(a, b *series) int { return labels.Compare(a.labels, b.labels) })
		var candidates []*series
		for k := range ev.steps {
			if err := ev.ticker.tick(); err != nil {
				return nil, err
			}
			candidates = candidates[:0]
			for _, s := range g.members {
				if present(s.values[k]) {
					candidates = append(candidates, s)
				}
			}
			if len(candidates) > agg.Param {
				slices.SortStableFunc(candidates, func(a, b *series) int { return order(a.values[k], b.values[k]) })
				candidates = candidates[:max(agg.Param, 0)]
			}
			for _, s := range candidates {
				out.of(s.labels).values[k] = s.values[k]
			}
		}
	}
	return out.vector(), nil
}
