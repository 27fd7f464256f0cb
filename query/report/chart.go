package report

import (
	"io"
	"math"
	"strings"

	"logstow/query/output"
)

const (
	// barWidth is the length of the longest bar in characters.
	barWidth = 40
	// MaxTrends is the maximum number of sparklines below a table.
	MaxTrends = 10
	// MaxSteps is the maximum length of a sparkline.
	MaxSteps = 120
)

// Bar is the bar of a value; that of the value most is the longest. Values that are not above 0, or infinite, have none.
func Bar(x, most float64) string {
	if !(x > 0) || math.IsInf(x, 0) {
		return ""
	}
	return strings.Repeat("█", max(1, min(barWidth, int(barWidth*x/most))))
}

// Trend is the sparkline of a group over time.
type Trend struct {
	// Name is the text before it.
	Name   string
	values map[int64]float64 // by the start of the step
	most   float64
}

// Add sets the value of a step. One that is infinite or not a number is left out.
func (t *Trend) Add(at int64, x float64) {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return
	}
	if t.values == nil {
		t.values = map[int64]float64{}
	}
	t.values[at], t.most = x, max(t.most, x)
}

// WriteTrends writes sparklines of what header names, of the steps with these starts.
func WriteTrends(w io.Writer, header string, all []Trend, starts []int64) error {
	table := make([][]string, 0, len(all))
	for i := range all {
		table = append(table, []string{all[i].Name, all[i].sparkline(starts), "max " + rounded(all[i].most)})
	}
	return output.WriteLines(w, append([]string{"", header + " over time"}, output.Align(table)...))
}

// sparkline has a character for each step: a blank for none.
func (t *Trend) sparkline(starts []int64) string {
	levels := []rune("▁▂▃▄▅▆▇█")
	line := make([]rune, len(starts))
	for i, at := range starts {
		x, ok := t.values[at]
		switch {
		case !ok:
			line[i] = ' '
		case t.most <= 0:
			line[i] = levels[0]
		default:
			line[i] = levels[max(0, min(len(levels)-1, int(x/t.most*float64(len(levels)))))]
		}
	}
	return string(line)
}
