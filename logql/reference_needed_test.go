package logql_test

import (
	"slices"

	"logstow/logql/syntax"
)

// grouping is what groups the samples of a range aggregation: its own grouping or that of a sum; ok is false if all their labels
// are kept.
func (e *evaluator) grouping(a *syntax.RangeAggregation) (g *syntax.Grouping, ok bool) {
	sum := e.sums[a]
	switch {
	case a.Op == syntax.AbsentOver:
		return nil, true
	case a.Grouping != nil:
		return a.Grouping, true
	case sum != nil:
		return sum.Grouping, true
	}
	return nil, false
}

// isSum reports whether a vector aggregation groups the samples of its range aggregation.
func isSum(x *syntax.VectorAggregation) (*syntax.RangeAggregation, bool) {
	inner, ok := x.Inner.(*syntax.RangeAggregation)
	if !ok || x.Op != syntax.Sum {
		return nil, false
	}
	return inner, slices.Contains([]syntax.RangeOp{syntax.CountOver, syntax.Rate, syntax.BytesOver, syntax.BytesRate, syntax.SumOver}, inner.Op)
}

// neededStages are those of a range aggregation without the parsers whose labels nothing behind them reads.
func (e *evaluator) neededStages(a *syntax.RangeAggregation) (needed []syntax.Stage) {
	g, grouped := e.grouping(a)
	read := a.Range.Unwrap != nil || !grouped || g != nil && (g.Without || len(g.Labels) > 0)
	lineRead := false
	for _, stage := range slices.Backward(a.Range.Log.Stages) {
		switch stage.(type) {
		case *syntax.JSONParser, *syntax.LogfmtParser, *syntax.RegexpParser, *syntax.PatternParser:
			if !read {
				continue
			}
		case *syntax.UnpackParser:
			if !read && !lineRead {
				continue
			}
		case *syntax.LineFilter:
			lineRead = true
		case *syntax.LabelFilter, *syntax.LineFormat, *syntax.LabelFormat:
			found := map[string]bool{}
			names(stage, found)
			delete(found, "")
			read = read || len(found) > 0
		}
		needed = append(needed, stage)
	}
	slices.Reverse(needed)
	return needed
}

// wanted are the labels that a range aggregation reads, nil if they are all.
func (e *evaluator) wanted(a *syntax.RangeAggregation, stages []syntax.Stage) map[string]bool {
	g, grouped := e.grouping(a)
	if !grouped || g != nil && g.Without {
		return nil
	}
	wanted := map[string]bool{}
	if g != nil {
		for _, name := range g.Labels {
			wanted[name] = true
		}
	}
	for _, stage := range stages {
		if keep, ok := stage.(*syntax.KeepLabels); ok {
			stage = &syntax.DropLabels{Items: keep.Items}
		}
		if drop, ok := stage.(*syntax.DropLabels); ok {
			for _, item := range drop.Items {
				if item.Matcher != nil {
					wanted[item.Name] = true
				}
			}
		}
		names(stage, wanted)
	}
	if u := a.Range.Unwrap; u != nil {
		wanted[u.Label] = true
		for _, f := range u.Filters {
			names(f, wanted)
		}
	}
	delete(wanted, "")
	return wanted
}
