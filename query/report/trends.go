package report

import (
	"io"
	"strings"

	"logstow/field"
	"logstow/query/aggregate"
)

// trends are sparklines of the first function of groups over time steps: of the groups that come first.
type trends struct {
	groups []Trend
	places map[string]int
	// starts are the steps from the first row to the last; nil if they are too many.
	starts []int64
	off    bool
}

// add adds a row, if the keys are a time step and others.
func (t *trends) add(r *aggregate.Result, row aggregate.Row, times times) {
	var at int64
	var step field.Step
	var others []string
	for i, k := range r.Keys {
		if k.Step.IsZero() {
			others = append(others, keyText(row.Keys[i], times))
		} else {
			step, at = k.Step, row.Keys[i].Int
		}
	}
	if step.IsZero() || len(others) == 0 || t.off {
		t.off = true
		return
	}
	if len(t.starts) == 0 {
		t.starts, t.places = []int64{at}, map[string]int{}
	}
	if at < t.starts[0] { // sorted otherwise
		t.off = true
		return
	}
	for at > t.starts[len(t.starts)-1] {
		if len(t.starts) == MaxSteps {
			t.off = true
			return
		}
		t.starts = append(t.starts, step.End(t.starts[len(t.starts)-1], times.zone))
	}
	name := strings.Join(others, "  ")
	place, ok := t.places[name]
	if !ok {
		if len(t.groups) == MaxTrends {
			return
		}
		place = len(t.groups)
		t.places[name] = place
		t.groups = append(t.groups, Trend{Name: name})
	}
	if x, ok := row.Values[0].Number(); ok {
		t.groups[place].Add(at, x)
	}
}

// print writes the sparklines.
func (t *trends) print(w io.Writer, columns []aggregate.Column, width int) {
	if t.off || len(t.starts) < 2 {
		return
	}
	_ = WriteTrends(w, columns[0].Header, t.groups, t.starts, width) // Flush returns the error
}
