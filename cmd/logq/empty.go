package main

import (
	"context"
	"fmt"
	"time"

	"logstow/query"
)

// maxHints is the number of reasons that are printed for people.
const maxHints = 3

// explainNone finds out why a plan that was read has no match; tell prints it. Where
// something could not be read, that is the reason.
func (r *request) explainNone(ctx context.Context, q *query.Query, p *query.Plan) error {
	if report := q.Report(); len(report.Problems) > 0 {
		return nil
	}
	reasons, err := q.Explain(ctx, p, !r.ranged)
	r.reasons = append([]query.Reason{}, reasons...)
	return err
}

// printNone prints that there are none, and the likeliest reasons.
func (e *environment) printNone(none string, reasons []query.Reason) {
	e.say("%s", none)
	for _, reason := range reasons[:min(len(reasons), maxHints)] {
		e.hint(reason.Text)
	}
}

// noteFuture warns of a range that reaches from the past into the future and has records
// only there.
func (r *request) noteFuture(p *query.Plan) {
	now := r.sel.Now
	if len(p.Segments) == 0 || r.sel.From.After(now) {
		return
	}
	first := p.Segments[0].Meta.Start
	for _, s := range p.Segments {
		first = min(first, s.Meta.Start)
	}
	if at := time.Unix(0, first).In(now.Location()); at.After(now) {
		r.notes = append(r.notes, fmt.Sprintf("all records of the range are dated after now, the first %s: a clock or time zone where they were logged is wrong",
			at.Format(time.RFC3339)))
	}
}
