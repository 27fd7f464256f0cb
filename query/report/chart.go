package report

import (
	"io"
	"math"
	"strings"

	"logstow/query/output"
)

const (
	// maxBar is the maximum length of the longest bar in characters, minBar the minimum: below it there are no bars.
	maxBar, minBar = 40, 4
	// MaxTrends is the maximum number of sparklines below a table.
	MaxTrends = 10
	// MaxSteps is the maximum length of a sparkline.
	MaxSteps = 120
)

// BarLength is the length of the longest bar after rows of so many columns on a terminal of width columns; 0 if there is no space.
func BarLength(width, columns int) int {
	if length := min(maxBar, width-columns-2); length >= minBar {
		return length
	}
	return 0
}

// Bar is the bar of a value; that of the value most has length characters. Values that are not above 0, or infinite, have none.
func Bar(x, most float64, length int) string {
	if !(x > 0) || math.IsInf(x, 0) || length == 0 {
		return ""
	}
	return strings.Repeat("█", max(1, min(length, int(float64(length)*x/most))))
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

// WriteTrends writes sparklines of what header names, of the steps with these starts, on a terminal of width columns. If there are more
// steps than columns, a character is the greatest value of several steps.
func WriteTrends(w io.Writer, header string, all []Trend, starts []int64, width int) error {
	var beside output.Alignment // of what is beside the sparklines
	for i := range all {
		beside.Add([]string{all[i].Name, "max " + rounded(all[i].most)})
	}
	space := max(minBar, width-beside.Width()-2)
	together := (len(starts) + space - 1) / space
	table := make([][]string, 0, len(all))
	for i := range all {
		table = append(table, []string{all[i].Name, all[i].sparkline(starts, together), "max " + rounded(all[i].most)})
	}
	return output.WriteLines(w, append([]string{"", header + " over time"}, output.Align(table)...))
}

// greatest is the greatest value of some steps; false if none has one.
func (t *Trend) greatest(starts []int64) (most float64, ok bool) {
	for _, at := range starts {
		if x, has := t.values[at]; has && (!ok || x > most) {
			most, ok = x, true
		}
	}
	return most, ok
}

// sparkline has a character for so many steps together: a blank for none.
func (t *Trend) sparkline(starts []int64, together int) string {
	levels := []rune("▁▂▃▄▅▆▇█")
	line := make([]rune, (len(starts)+together-1)/together)
	for i := range line {
		x, ok := t.greatest(starts[i*together : min(len(starts), (i+1)*together)])
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
