package main

import (
	"errors"
	"fmt"
	"time"

	"logstow/internal/hint"
	"logstow/internal/jsonlines"
	"logstow/internal/units"
	"logstow/query"
	"logstow/query/output"
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
		r.env.printf("%s found, %d may match: at most %s to read, %s", units.Count(planned.SegmentsListed, "segment"), bound.Segments, units.FormatSize(bound.Bytes), cost)
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
		r.env.printNone("no records match", r.reasons)
	}
}

func (r *request) printJSON(v any) {
	_ = jsonlines.Write(r.env.stderr, v) // as other notices, it is lost with standard error
}

// overBudget explains a query that stopped at --max-bytes or --max-cost.
func (r *request) overBudget(err error) error {
	if !errors.Is(err, query.ErrBudget) {
		return err
	}
	limit := fmt.Sprintf("--max-bytes %s", units.FormatSize(r.opts.MaxBytes))
	switch {
	case r.opts.MaxBytes > 0 && r.opts.MaxCost > 0:
		limit += fmt.Sprintf(" or --max-cost %g", r.opts.MaxCost)
	case r.opts.MaxCost > 0:
		limit = fmt.Sprintf("--max-cost %g", r.opts.MaxCost)
	}
	return fmt.Errorf("stopped, incomplete: %w (%s)", err, limit)
}
