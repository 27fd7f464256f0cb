package engine_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/logql/engine"
	"logstow/logql/syntax"
)

// Quantiles of more samples than fit into memory are estimates within 1%, and the result says so, whether windows overlap or not.
func TestQuantileEstimates(t *testing.T) {
	effort.Need(t, effort.Test, "one goroutine, which takes seconds under the race detector")
	t.Parallel()
	rnd := testrand.New(t)
	m := &memory{workers: 3}
	for i := range 30_000 {
		v := fmt.Sprint(math.Round(rnd.ExpFloat64()*1e6) / 100)
		switch rnd.IntN(200) {
		case 0:
			v = "-" + v
		case 1:
			v = "+Inf"
		}
		m.add(float64(i)/5, fmt.Sprintf("service_name=s%d,v=%s", i%2, v), "")
	}
	for _, c := range []struct {
		query  string
		params engine.MetricParams
		memory int64
	}{
		{`quantile_over_time(%v, {service_name=~".+"} | unwrap v [6000s]) by (service_name)`, engine.MetricParams{Start: at(6000), End: at(6000)}, 256 << 10},
		{`quantile_over_time(%v, {service_name=~".+"} | unwrap v [3000s]) by ()`, engine.MetricParams{Start: at(3000), End: at(6000), Step: 3000e9}, 256 << 10},
		{`quantile_over_time(%v, {service_name=~".+"} | unwrap v [3000s]) by ()`, engine.MetricParams{Start: at(1000), End: at(6000), Step: 1000e9}, 256 << 10},
		{`quantile_over_time(%v, {service_name=~".+"} | unwrap v [1000s]) by (service_name)`, engine.MetricParams{Start: at(500), End: at(6000), Step: 500e9}, 512 << 10},
	} {
		for _, q := range []float64{0, 0.5, 0.99, 1} {
			expr, err := syntax.Parse(fmt.Sprintf(c.query, q))
			if err != nil {
				t.Fatal(err)
			}
			evaluate := func(memory int64) *engine.Value {
				e := &engine.Engine{Source: m, Limits: engine.Limits{Memory: memory}}
				v, err := e.Metric(t.Context(), expr.(syntax.SampleExpr), c.params)
				if err != nil {
					t.Fatalf("%s with %d bytes: %v", expr, memory, err)
				}
				return v
			}
			exact, rough := evaluate(64<<20), evaluate(c.memory)
			if len(exact.Warnings) != 0 || len(rough.Warnings) != 1 || !strings.Contains(rough.Warnings[0], "estimates within 1%") {
				t.Errorf("%s: warnings %q of exact values, %q of estimates", expr, exact.Warnings, rough.Warnings)
			}
			if len(exact.Series) != len(rough.Series) || len(exact.Series) == 0 {
				t.Fatalf("%s: %d series, want %d", expr, len(rough.Series), len(exact.Series))
			}
			for i, s := range exact.Series {
				for k, p := range s.Points {
					got := rough.Series[i].Points[k].Value
					if got != p.Value && !(math.IsNaN(got) && math.IsNaN(p.Value)) && !(math.Abs(got-p.Value) <= 0.01*math.Abs(p.Value)) {
						t.Errorf("%s at %d: %v, want about %v", expr, p.Time/1e9, got, p.Value)
					}
				}
			}
		}
	}
}
