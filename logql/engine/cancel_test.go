package engine_test

import (
	"context"
	"errors"
	"testing"

	"logstow/logql/engine"
	"logstow/logql/syntax"
)

// A template may run for a second, so a canceled query ends at the next record.
func TestCancelTemplates(t *testing.T) {
	t.Parallel()
	for _, query := range []string{
		`sum(count_over_time({s="a"} | line_format "{{range 2}}x{{end}}" [1000s]))`, `{s="a"} | label_format a="{{range 2}}x{{end}}"`,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		m := &memory{}
		for range 1000 {
			m.add(1, "s=a", "")
		}
		read := 0
		m.before = func() {
			if read++; read == 100 {
				cancel()
			}
		}
		e := &engine.Engine{Source: m}
		var err error
		switch x := parse(t, query).(type) {
		case syntax.SampleExpr:
			_, err = e.Metric(ctx, x, engine.MetricParams{Start: at(1000), End: at(1000)})
		case *syntax.LogExpr:
			err = e.Logs(ctx, x, engine.LogParams{To: at(1000)}, func(*engine.Entry) error { return nil })
		}
		if !errors.Is(err, context.Canceled) || read > 101 {
			t.Errorf("%s: %v after %d records", query, err, read)
		}
	}
}
