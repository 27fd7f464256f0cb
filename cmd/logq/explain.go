package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"logstow/query"
	"logstow/query/output"
)

// noteRange says how the range that was asked for was understood, to people.
func (r *request) noteRange() {
	if r.ranged && !r.jsonExplain() && (r.explain || r.env.err.terminal()) {
		from, to := r.sel.From.In(r.zone), r.sel.To.In(r.zone)
		r.env.say("from %s up to %s (%v)", from.Format(time.RFC3339), to.Format(time.RFC3339), to.Sub(from).Round(time.Second))
	}
}

// jsonExplain reports whether what --explain says is for programs.
func (r *request) jsonExplain() bool { return r.explain && r.output.Format == output.JSON }

// noteNewest says where data is, after nothing was found in the last hour.
func (r *request) noteNewest(ctx context.Context, q *query.Query) {
	last, service, found, err := q.Newest(ctx)
	switch {
	case err != nil:
		r.notes = append(r.notes, "no range was given: the last hour was searched, nothing found")
	case !found:
		r.notes = append(r.notes, "no range was given: the last hour was searched; the store has no data of these services at all")
	default:
		r.notes = append(r.notes, fmt.Sprintf("no range was given: the last hour was searched, nothing found; the newest record is of %s (%s); give --since or --from",
			last.Format(time.RFC3339), service))
	}
}

// manyProblems is the number of problems that are named without being asked.
const manyProblems = 20

// tell writes the report to standard error: problems and notes always, the rest
// with --explain.
func (r *request) tell(report *query.Report) {
	notes := append(r.notes, report.Notes...)
	if r.jsonExplain() {
		problems := []string{}
		for _, p := range report.Problems {
			problems = append(problems, p.Error())
		}
		line, err := json.Marshal(struct {
			*query.Report
			Problems []string `json:"problems"`
			Notes    []string `json:"notes"`
		}{report, problems, append([]string{}, notes...)})
		if err == nil {
			fmt.Fprintf(r.env.stderr, "%s\n", line)
		}
		return
	}
	for i, p := range report.Problems {
		if i == manyProblems && !r.explain {
			r.env.say("and %d more that could not be read; --explain names all", len(report.Problems)-i)
			break
		}
		r.env.say("%v", p)
	}
	for _, n := range notes {
		r.env.say("%s", n)
	}
	if r.explain {
		fmt.Fprint(r.env.stderr, report)
	}
}
