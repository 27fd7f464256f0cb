package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"logstow/logql/engine"
	"logstow/logql/syntax"
)

// replay is a source that has a million records of a few lines.
type replay struct {
	memory
	n int
}

func (r *replay) Each(_ context.Context, sel engine.Selection, _ func(), newWorker func() engine.Worker) error {
	w := newWorker()
	var record engine.Record
	for i := range r.n {
		record = r.records[i%len(r.records)]
		record.Time = sel.From + int64(i)*((sel.To-sel.From)/int64(r.n))
		if err := w.Add(&record); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkMetric is a day of a million records, in steps of a minute.
func BenchmarkMetric(b *testing.B) {
	src := &replay{n: 1_000_000}
	for i := range 100 {
		src.add(0, fmt.Sprintf("service_name=web,level=%s", []string{"info", "error"}[i%10/9]), fmt.Sprintf(
			`{"time":"2026-01-02T03:04:05Z","level":"info","method":"GET","route":"/api/orders/%d","status":%d,"took_ms":%d.5,"message":"request completed"}`, i%20, 200+i%3*100, i*7%40))
	}
	// Records of a stream share it, as a source's do.
	for i := range src.records {
		src.records[i].Stream = src.records[i%10].Stream
	}
	for _, c := range []struct{ name, query string }{
		{"count", `sum by (level) (count_over_time({service_name="web"}[5m]))`},
		{"json", `sum by (status) (count_over_time({service_name="web"} | json [5m]))`},
		{"jsonall", `count_over_time({service_name="web"} | json | keep route [5m])`},
		{"sum", `sum by (status) (sum_over_time({service_name="web"} | json | unwrap took_ms [5m]))`},
		{"quantile", `quantile_over_time(0.99, {service_name="web"} | json | unwrap took_ms [5m]) by (status)`},
	} {
		b.Run(c.name, func(b *testing.B) {
			query := parse(b, c.query).(syntax.SampleExpr)
			e := &engine.Engine{Source: src, Limits: engine.DefaultLimits()}
			b.ReportAllocs()
			for b.Loop() {
				v, err := e.Metric(b.Context(), query, engine.MetricParams{Start: at(0), End: at(86_400), Step: time.Minute})
				if err != nil || len(v.Series) == 0 {
					b.Fatal(v, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*src.n), "ns/record")
		})
	}
}
