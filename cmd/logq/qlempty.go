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
	opts := storage.ExplainOptions{Defaulted: !r.ranged, Metric: r.metric(), Instant: r.metric() && r.step == 0}
	reasons, err := view.Explain(ctx, r.selections(), opts)
	if err != nil {
		return err
	}
	inLogQL(reasons)
	reasons = withLayouts(ctx, r.c.String("layout"), stores, reasons)
	r.printNone(fmt.Sprintf("nothing found %s in %s", r.span, units.Count(len(stores), "store")), reasons)
	return nil
}

// noteMissingServices notes services that selectors name and that do not exist, although others have records.
func (r *qlRequest) noteMissingServices(ctx context.Context, view *storage.View) {
	reasons := view.MissingServices(ctx, r.selections())
	inLogQL(reasons)
	for _, reason := range reasons {
		r.notef("%s", reason.Text)
	}
}

// selections are what the query reads.
func (r *qlRequest) selections() []engine.Selection {
	from, to := r.sel.From, r.sel.To
	if r.metric() {
		if r.span.open {
			to = r.sel.Now
		}
		if r.step == 0 {
			from = to
		}
	}
	return engine.Selections(r.query, from.UnixNano(), to.UnixNano())
}

// inLogQL words reasons for LogQL, except those about the range: other flags than its are not those of ql.
func inLogQL(reasons []query.Reason) {
	for i := range reasons {
		if !rangeReason(reasons[i]) {
			reasons[i].Text = correct.InLogQL(&reasons[i])
		}
	}
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
