package match_test

import (
	"fmt"
	"testing"

	"logstow/internal/test/querytest"
	"logstow/query/match"
	"logstow/record"
)

// sampled are the numbers of those of 10,000 records that a sample has.
func sampled(t *testing.T, share float64) (numbers []int) {
	t.Helper()
	sel := querytest.Everything()
	sel.Sample = share
	m, err := match.Compile(sel)
	if err != nil {
		t.Fatal(err)
	}
	if share > 0 && (m.TimeAndLevelOnly() || m.ColumnsSuffice() || !m.WithoutConditions().TimeAndLevelOnly()) {
		t.Error("a sample is decided without reading text")
	}
	s := match.NewScanner(m)
	for i := range 10_000 {
		line := record.AppendText(nil, record.Record{Time: int64(i), Source: "app.log", Message: []byte("the same text")})
		if _, ok := s.Match(line[:len(line)-1], m.AllChecks("api", fmt.Sprint(i%3)), false); ok {
			numbers = append(numbers, i)
		}
	}
	if rejected := s.TakeRejections(); int(rejected[match.StageSample]) != 10_000-len(numbers) {
		t.Errorf("%d rejected by the sample of %v", rejected[match.StageSample], share)
	}
	return numbers
}

// A sample has about its share of the records, always the same ones, and those of every smaller sample.
func TestSample(t *testing.T) {
	t.Parallel()
	larger := map[int]bool{}
	for _, i := range sampled(t, 0) {
		larger[i] = true
	}
	if len(larger) != 10_000 {
		t.Errorf("%d records without a sample", len(larger))
	}
	for _, c := range []struct {
		share float64
		want  int
	}{{0.5, 5000}, {0.1, 1000}, {0.01, 100}, {1e-30, 0}} {
		numbers := sampled(t, c.share)
		if n := len(numbers); n < c.want*7/10 || n > c.want*13/10 {
			t.Errorf("%v: %d records, want about %d", c.share, n, c.want)
		}
		here := map[int]bool{}
		for _, i := range numbers {
			if here[i] = true; !larger[i] {
				t.Errorf("%v: record %d is not in the larger sample", c.share, i)
			}
		}
		larger = here
	}
	if numbers := sampled(t, 0.001); fmt.Sprint(numbers) != "[155 1630 2599 3067 4822 6525 8597 9249 9366]" {
		t.Errorf("it differs from that of other machines: %v", numbers)
	}
	for _, share := range []float64{-0.1, 1, 2} {
		sel := querytest.Everything()
		if sel.Sample = share; matchError(sel) == nil {
			t.Errorf("a share of %v", share)
		}
	}
}

func matchError(sel match.Selection) error {
	_, err := match.Compile(sel)
	return err
}
