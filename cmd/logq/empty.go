package main

import (
	"context"
	"time"

	"logstow/query"
)

// maxHints is the maximum number of reasons that are printed.
const maxHints = 3

// explainNone finds the likeliest reasons why a plan has no match; printReport prints
// them. If something could not be read, that is the reason.
func (r *request) explainNone(ctx context.Context, q *query.Query, p *query.Plan) error {
	if report := q.Report(); len(report.Problems) > 0 {
		return nil
	}
	reasons, err := q.Explain(ctx, p, !r.ranged && !r.files)
	if r.files {
		reasons = fileReasons(reasons, r.sel.Patterns)
	}
	r.reasons = append([]query.Reason{}, reasons...)
	return err
}

// printNone prints that nothing matched, and the likeliest reasons.
func (e *environment) printNone(none string, reasons []query.Reason) {
	e.printf("%s", none)
	for _, reason := range reasons[:min(len(reasons), maxHints)] {
		e.hint(reason.Text)
	}
}

// warnFuture warns if a range that includes now has records only in the future.
func (r *request) warnFuture(p *query.Plan) {
	now := r.sel.Now
	if r.files || len(p.Segments) == 0 || r.sel.From.After(now) {
		return
	}
	first := p.Segments[0].Meta.Start
	for _, s := range p.Segments {
		first = min(first, s.Meta.Start)
	}
	if at := time.Unix(0, first).In(now.Location()); at.After(now) {
		r.notef("all records of the range are in the future, the first at %s: the clock or time zone of their source is wrong",
			at.Format(time.RFC3339))
	}
}
