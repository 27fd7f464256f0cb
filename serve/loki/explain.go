package loki

import (
	"time"

	"logstow/correct"
	"logstow/logql/engine"
	"logstow/logql/storage"
	"logstow/logql/syntax"
)

// reasonJSON is a reason in the response of explain.
type reasonJSON struct {
	Code        string       `json:"code"`
	Text        string       `json:"text"`
	Start       int          `json:"start"`
	End         int          `json:"end"`
	Corrections []changeJSON `json:"corrections"`
}

// changeJSON is a correction in the response of explain.
type changeJSON struct {
	Label      string `json:"label"`
	Query      string `json:"query,omitempty"`
	IgnoreCase bool   `json:"ignore_case,omitempty"`
	From       string `json:"from,omitempty"`
	To         string `json:"to,omitempty"`
}

// explain is /logstow/api/v1/explain: what is wrong with the text of a query bar, or why it finds nothing, and how to correct it.
func (q *request) explain() error {
	if q.bounds(querySince); q.bad != nil {
		return q.bad
	}
	typed := correct.Read(q.get("query"), q.get("case") == "1")
	var reasons []correct.Reason
	if mistake := typed.Mistake(); mistake != nil {
		reasons = append(reasons, *mistake)
	} else {
		found, err := q.reasons(&typed)
		if err != nil {
			return err
		}
		reasons = found
	}
	return q.json(struct {
		Query   string       `json:"query"`
		Reasons []reasonJSON `json:"reasons"`
	}{typed.Query, reasonsJSON(reasons)})
}

// reasons explains why the selections of a query find nothing.
func (q *request) reasons(typed *correct.Typed) (reasons []correct.Reason, err error) {
	expr, err := syntax.Parse(typed.Query)
	if err != nil {
		return nil, err
	}
	if braces := typed.Braces(); braces != nil {
		return []correct.Reason{*braces}, nil
	}
	_, metric := expr.(syntax.SampleExpr)
	found, err := q.view().Explain(q.ctx, engine.Selections(expr, q.from, q.to), storage.ExplainOptions{Metric: metric})
	for i := range found {
		reasons = append(reasons, typed.Explain(found[i]))
	}
	return reasons, err
}

func reasonsJSON(reasons []correct.Reason) []reasonJSON {
	all := []reasonJSON{}
	for _, r := range reasons {
		one := reasonJSON{r.Code, r.Text, r.Start, r.End, []changeJSON{}}
		for _, c := range r.Changes {
			change := changeJSON{Label: c.Label, Query: c.Query, IgnoreCase: c.IgnoreCase}
			switch {
			case c.Since != "":
				change.From, change.To = "now-"+c.Since, "now"
			case !c.From.IsZero():
				change.From, change.To = c.From.UTC().Format(time.RFC3339), "now"
				if !c.To.IsZero() {
					change.To = c.To.UTC().Format(time.RFC3339)
				}
			}
			one.Corrections = append(one.Corrections, change)
		}
		all = append(all, one)
	}
	return all
}
