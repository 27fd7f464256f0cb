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
	reasons, err := view.Explain(ctx, engine.Selections(r.query, from.UnixNano(), to.UnixNano()), opts)
	if err != nil {
		return err
	}
	for i := range reasons {
		if !rangeReason(reasons[i]) { // its flags are not those of ql
			reasons[i].Text = correct.InLogQL(&reasons[i])
		}
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
