package report_test

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"logstow/query/report"
)

// Bars and sparklines of any numbers, also those that are none.
func TestChart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		x, most float64
		want    int
	}{
		{1, 4, 10},
		{4, 4, 40},
		{5, 4, 40},
		{1e-9, 4, 1},
		{0, 4, 0},
		{-1, 4, 0},
		{0, 0, 0},
		{math.NaN(), 4, 0},
		{math.Inf(1), 4, 0},
		{math.Inf(-1), 4, 0},
	} {
		if got := utf8.RuneCountInString(report.Bar(c.x, c.most, 40)); got != c.want {
			t.Errorf("%v of %v: %d", c.x, c.most, got)
		}
	}
	all := []report.Trend{{Name: "a"}, {Name: "none"}}
	for i, x := range []float64{0, 0.5, 1, math.Inf(1), -1, math.NaN()} {
		all[0].Add(int64(i), x)
	}
	var out strings.Builder
	if err := report.WriteTrends(&out, "value", all, []int64{0, 1, 2, 3, 4, 5, 6}, 80); err != nil {
		t.Fatal(err)
	}
	if want := "\nvalue over time\na     ▁▅█ ▁    max 1\nnone           max 0\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// Bars and sparklines fit the terminal.
func TestWidth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ width, columns, want int }{{80, 20, 40}, {80, 58, 20}, {80, 74, 4}, {80, 75, 0}, {80, 200, 0}, {0, 10, 0}} {
		if got := report.BarLength(c.width, c.columns); got != c.want {
			t.Errorf("%d columns of %d: %d, want %d", c.columns, c.width, got, c.want)
		}
	}
	all := []report.Trend{{Name: "a"}}
	starts := make([]int64, 100)
	for i := range starts {
		starts[i] = int64(i)
		all[0].Add(int64(i), float64(i%50))
	}
	var out strings.Builder
	if err := report.WriteTrends(&out, "value", all, starts, 80); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(line) - 1; n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if n := strings.Count(out.String(), "█"); n < 2 {
		t.Errorf("%d peaks, want those of the 50 and of the 100 steps: %s", n, &out)
	}
}
