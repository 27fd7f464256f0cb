package report

import (
	"bufio"
	"fmt"
	"strings"

	"logstow/field"
	"logstow/query/aggregate"
	"logstow/query/output"
)

const (
	// maxTrends and maxSteps limit the sparklines: their number and their lengths.
	maxTrends = 10
	maxSteps  = 120
)

// trends are sparklines of the first function of groups over time steps: of the groups that come first.
type trends struct {
	groups []trend
	places map[string]int
	// starts are the steps from the first row to the last; nil if they are too many.
	starts []int64
	off    bool
}

// trend is a sparkline; values are by step.
type trend struct {
	name   string
	values map[int64]float64
	most   float64
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
		if len(t.starts) == maxSteps {
			t.off = true
			return
		}
		t.starts = append(t.starts, step.End(t.starts[len(t.starts)-1], times.zone))
	}
	name := strings.Join(others, "  ")
	place, ok := t.places[name]
	if !ok {
		if len(t.groups) == maxTrends {
			return
		}
		place = len(t.groups)
		t.places[name] = place
		t.groups = append(t.groups, trend{name: name, values: map[int64]float64{}})
	}
	if x, ok := row.Values[0].Number(); ok {
		g := &t.groups[place]
		g.values[at], g.most = x, max(g.most, x)
	}
}

// print writes the sparklines.
func (t *trends) print(w *bufio.Writer, columns []aggregate.Column) {
	if t.off || len(t.starts) < 2 {
		return
	}
	fmt.Fprintf(w, "\n%s over time\n", columns[0].Header)
	var table [][]string
	for _, g := range t.groups {
		table = append(table, []string{g.name, g.sparkline(t.starts), "max " + rounded(g.most)})
	}
	_ = output.WriteLines(w, output.Align(table)) // Flush returns the error
}

// sparkline has a character for each step: a blank for none.
func (g *trend) sparkline(starts []int64) string {
	levels := []rune("▁▂▃▄▅▆▇█")
	line := make([]rune, len(starts))
	for i, at := range starts {
		x, ok := g.values[at]
		switch {
		case !ok:
			line[i] = ' '
		case g.most <= 0:
			line[i] = levels[0]
		default:
			line[i] = levels[max(0, min(len(levels)-1, int(x/g.most*float64(len(levels)))))]
		}
	}
	return string(line)
}
