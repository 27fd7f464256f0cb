package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"logstow/internal/hint"
	"logstow/internal/jsonlines"
	"logstow/internal/units"
	"logstow/message"
	"logstow/query"
	"logstow/query/output"
	"logstow/record"
)

// notef adds a note to the report.
func (r *request) notef(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// printRange prints the resolved time range, or those that are compared.
func (r *request) printRange() {
	switch {
	case r.jsonExplain() || !r.explain && !r.env.err.terminal():
	case r.compared != nil:
		r.env.printf("before: %s", r.compared[0])
		r.env.printf("after: %s", r.compared[1])
	case r.ranged:
		r.env.printf("%s", r.span)
	}
}

// jsonExplain reports whether --explain prints JSON.
func (r *request) jsonExplain() bool { return r.explain && r.output.Format == output.JSON }

// manyProblems is the number of problems that are named without --explain.
const manyProblems = 20

// printPlan prints, with --explain, what a plan may read and cost.
func (r *request) printPlan(q *query.Query, p *query.Plan) {
	bound, planned := q.Bound(p), q.Report()
	switch {
	case !r.explain:
	case r.jsonExplain():
		r.printJSON(struct {
			Stage  string      `json:"stage"`
			From   time.Time   `json:"from"`
			To     time.Time   `json:"to"`
			AtMost query.Bound `json:"at_most"`
		}{"planned", r.sel.From.UTC(), r.sel.To.UTC(), bound})
	default:
		cost := "at no cost"
		if bound.CostUSD > 0 {
			cost = "for " + units.Dollars(bound.CostUSD)
		}
		r.env.printf("%s found, %d may match: at most %s to read, %s", units.Count(planned.SegmentsListed, "segment"),
			bound.Segments, units.FormatSize(bound.Bytes), cost)
	}
}

// printReport writes the report to standard error: problems and notes always, the rest
// with --explain.
func (r *request) printReport(report *query.Report) {
	notes := append(r.notes, report.Notes...)
	failed := make([]error, len(report.Problems))
	for i, p := range report.Problems {
		failed[i] = p
	}
	hints := hint.All(errors.Join(failed...))
	if r.jsonExplain() {
		problems := []string{}
		for _, p := range report.Problems {
			problems = append(problems, p.Error())
		}
		r.printJSON(struct {
			Stage string `json:"stage"`
			*query.Report
			Problems []string `json:"problems"`
			// Hints are what to do about the problems.
			Hints []string `json:"hints"`
			Notes []string `json:"notes"`
			// Reasons why nothing matched.
			Reasons []query.Reason `json:"reasons,omitempty"`
		}{"done", report, problems, append([]string{}, hints...), append([]string{}, notes...), r.reasons})
		return
	}
	for i, p := range report.Problems {
		if i == manyProblems && !r.explain {
			r.env.printf("and %d more that could not be read; --explain lists all", len(report.Problems)-i)
			break
		}
		r.env.printf("%v", p)
	}
	for _, advice := range hints {
		r.env.hint(advice)
	}
	for _, n := range notes {
		r.env.printf("%s", n)
	}
	if r.explain {
		fmt.Fprint(r.env.stderr, report)
	}
	if r.reasons != nil {
		r.printNone("no records match", r.reasons)
	}
}

func (r *request) printJSON(v any) {
	_ = jsonlines.Write(r.env.stderr, v) // as other notices, it is lost with standard error
}

// maxHints is the maximum number of reasons that are printed.
const maxHints = 3

// explainNone finds the likeliest reasons why a plan has no match; printReport prints
// them. If something could not be read, that is the reason.
func (r *request) explainNone(ctx context.Context, q *query.Query, p *query.Plan) error {
	if report := q.Report(); len(report.Problems) > 0 {
		return nil
	}
	reasons, err := q.Explain(ctx, p, query.ExplainOptions{Defaulted: !r.ranged && !r.files})
	if r.files {
		reasons = fileReasons(reasons, r.sel.Patterns)
	}
	r.reasons = append([]query.Reason{}, withLayouts(ctx, r.c.String("layout"), q.Stores(), reasons)...)
	return err
}

// printNone prints that nothing matched, the likeliest reasons, and the command line with the first correction.
func (r *request) printNone(none string, reasons []query.Reason) {
	r.env.printNone(none, reasons)
	command := commandOf(r.c)
	for i := range reasons {
		for _, correction := range reasons[i].Corrections {
			if corrected, ok := command.Apply(correction); ok {
				r.env.printf("try: %s", &corrected)
				return
			}
		}
	}
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

// noteMissing notes fields that do not occur in the records read: fields in named, whose columns are empty, and
// fields of --where.
func (r *request) noteMissing(q *query.Query, named []string) {
	for _, reason := range q.MissingFields(named) {
		r.notef("%s", reason.Text)
	}
}

// noteMissingServices notes selected services that do not exist.
func (r *request) noteMissingServices(ctx context.Context, q *query.Query) {
	for _, reason := range q.MissingServices(ctx) {
		r.notef("%s", reason.Text)
	}
}

// missingOrder returns the field that records are sorted by if the first one does not have it: then none has, because
// records without the field are last.
func (r *request) missingOrder(q *query.Query, first *query.Match) []string {
	name, ok := r.sort.Field()
	if !ok {
		return nil
	}
	splitter := q.Parser(first.Segment).Splitter(name)
	splitter.Split(first.Attributes(), record.AppendMessage(nil, first.Message()))
	if k := splitter.Value(0).Kind; k != message.Missing {
		return nil
	}
	return []string{name}
}

// unseen returns the fields of the message that no record of a table has.
func unseen(t *query.Table) (names []string) {
	for _, f := range t.Unseen {
		names = append(names, f.Field)
	}
	return names
}
