package main

import (
	"context"
	"fmt"
	"slices"

	"logstow/correct"
	"logstow/internal/units"
	"logstow/logql/engine"
	"logstow/logql/storage"
	"logstow/logql/syntax"
	"logstow/query"
	"logstow/query/explain"
)

// printNothing prints that nothing was found, and the likely reasons.
func (r *qlRequest) printNothing(ctx context.Context, view *storage.View, stores []query.Store) error {
	from, to := r.sel.From, r.sel.To
	if r.metric() {
		if r.span.open {
			to = r.sel.Now
		}
		if r.step == 0 {
			from = to
		}
	}
	opts := storage.ExplainOptions{Defaulted: !r.ranged, Metric: r.metric(), Instant: r.metric() && r.step == 0}
	var reasons []query.Reason
	for _, sel := range engine.Selections(r.query, from.UnixNano(), to.UnixNano()) {
		found, err := view.Explain(ctx, sel, opts)
		if err != nil {
			return err
		}
		for _, reason := range found {
			if !rangeReason(reason) { // its flags are not those of ql
				reason.Text = correct.InLogQL(&reason)
			}
			if !slices.ContainsFunc(reasons, func(other query.Reason) bool { return other.Text == reason.Text }) {
				reasons = append(reasons, reason)
			}
		}
	}
	stage := func(reason query.Reason) bool { return reason.Code == explain.CodeStage }
	if others := slices.DeleteFunc(slices.Clone(reasons), stage); len(others) > 0 { // of the other operand
		reasons = others
	}
	reasons = withLayouts(ctx, r.c.String("layout"), stores, reasons)
	r.printNone(fmt.Sprintf("nothing found %s in %s", r.span, units.Count(len(stores), "store")), reasons)
	return nil
}

// rangeReason reports whether a reason is about the range, whose flags all commands have.
func rangeReason(reason query.Reason) bool {
	return slices.Contains([]string{"range-empty", "future", "index", "default-range"}, reason.Code)
}

// metric reports whether the query has numbers as its answer.
func (r *qlRequest) metric() bool {
	_, is := r.query.(syntax.SampleExpr)
	return is
}
