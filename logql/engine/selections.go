package engine

import "logstow/logql/syntax"

// Selections returns the selections that the evaluation of an expression from from to to (Unix nanoseconds) reads; for a
// metric query, the ranges of its windows.
func Selections(expr syntax.Expr, from, to int64) []Selection {
	switch e := expr.(type) {
	case *syntax.LogExpr:
		return []Selection{{Log: e, From: from, To: to}}
	case *syntax.RangeAggregation:
		r := e.Range
		return []Selection{span{from - int64(r.Range) - int64(r.Offset), to - int64(r.Offset)}.selection(r.Log)}
	case *syntax.VectorAggregation:
		return Selections(e.Inner, from, to)
	case *syntax.LabelReplace:
		return Selections(e.Inner, from, to)
	case *syntax.Binary:
		return append(Selections(e.Left, from, to), Selections(e.Right, from, to)...)
	}
	return nil
}
