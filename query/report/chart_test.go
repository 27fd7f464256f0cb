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
		if got := utf8.RuneCountInString(report.Bar(c.x, c.most)); got != c.want {
			t.Errorf("%v of %v: %d", c.x, c.most, got)
		}
	}
	all := []report.Trend{{Name: "a"}, {Name: "none"}}
	for i, x := range []float64{0, 0.5, 1, math.Inf(1), -1, math.NaN()} {
		all[0].Add(int64(i), x)
	}
	var out strings.Builder
	if err := report.WriteTrends(&out, "value", all, []int64{0, 1, 2, 3, 4, 5, 6}); err != nil {
		t.Fatal(err)
	}
	if want := "\nvalue over time\na     ▁▅█ ▁    max 1\nnone           max 0\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
