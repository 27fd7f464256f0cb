package engine_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"logstow/logql/engine"
	"logstow/logql/syntax"
)

// parsed has lines of several formats, some of them broken.
func parsed() *memory {
	m := &memory{filters: true}
	for i := range 40 {
		line := []string{
			fmt.Sprintf(`{"route":"/%d","took":%d,"a":{"b":"%d"},"service":"s%d"}`, i%3, i, i%5, i%2),
			fmt.Sprintf(`route=/%d took=%dms size=%dKB`, i%3, i, i), `{"took":"NaN"`, "plain text 10.0.0.1",
		}[i%7%4]
		m.add(float64(i*3), fmt.Sprintf("service_name=%s,level=%s,instance=i%d|detected_level=%s,source=f%d", []string{"web", "db"}[i%2], []string{"info", "error"}[i%3/2], i%2, []string{"info", "error"}[i%3/2], i%2), line)
	}
	return m
}

// points are the points of a result by labels and time.
func points(v *engine.Value) map[string]float64 {
	all := map[string]float64{}
	for _, s := range v.Series {
		for _, p := range s.Points {
			all[fmt.Sprint(s.Labels, p.Time)] = p.Value
		}
	}
	return all
}

// FuzzMetric evaluates queries in several ways, which must agree: a range is the instants at its steps, with one worker or three, any
// order of records, and with counts of the source.
func FuzzMetric(f *testing.F) {
	for _, query := range []string{
		`sum by (route) (rate({service_name=~".+"} | json | __error__="" [10s]))`,
		`count_over_time({service_name="web"} |= "1" | level="info" | drop __error__ [7s] offset 3s)`,
		`count_over_time({service_name="web"} | drop level, source [7s]) or on (instance) rate({level="error"}[25s])`,
		`quantile_over_time(0.3, {service_name=~".+"} | logfmt | unwrap duration(took) | __error__="" [45s]) by (route)`,
		`rate_counter({service_name=~".+"} | json | unwrap took | __error__="" [45s])`,
		`topk(1, sum by (level, service) (bytes_rate({service_name=~"web|db"}[20s])))`,
		`sum without (instance) (count_over_time({service_name=~".+"}[20s])) / ignoring (source) group_left count by (service_name, level) (count_over_time({service_name=~".+"}[20s]))`,
		`stddev_over_time({service_name=~".+"} | regexp "(?P<n>[0-9]+)" | unwrap n [30s]) by (level) > bool 3`,
		`absent_over_time({service_name="web"} |= "plain" [10s]) unless vector(1)`,
		`label_replace(last_over_time({service_name="db"} | json | unwrap took | drop __error__ [1m]) by (level), "x", "$1", "level", "(.).*") ^ 2 % 7`,
		`bottomk(2, avg by (source) (first_over_time({instance=~".+"} | pattern "<_>took=<t>ms<_>" | unwrap t [13s])))`,
		`sum(sum_over_time({service_name=~".+"} | logfmt | label_format t="{{.size}}" | unwrap bytes(t) [50s])) == max(max_over_time({service_name=~".+"} | logfmt | unwrap bytes(size) [50s]))`,
		`stdvar(count_over_time({detected_level="error"} | source="f1" [15s])) and on () vector(3)`,
		`count_over_time({service_name="web"}[7y]) or on () rate({level="error"}[25s])`,
		`1 + 2 * 3`, `sort_desc(min_over_time({service_name="web"} | json | unwrap took | __error__="" [5s]))`,
	} {
		f.Add(query, int64(0), int64(12), uint64(1))
		f.Add(query, int64(7), int64(20), uint64(2))
		f.Add(query, int64(-30), int64(45), uint64(3))
	}
	f.Fuzz(func(t *testing.T, query string, start, step int64, seed uint64) {
		expr, err := syntax.Parse(query)
		if err != nil || strings.Contains(query, "now") || start < -1000 || start > 1000 || step < 1 || step > 1000 {
			t.Skip()
		}
		sample, ok := expr.(syntax.SampleExpr)
		if !ok {
			t.Skip()
		}
		p := engine.MetricParams{Start: start * 1e9, End: (start + 7*step) * 1e9, Step: time.Duration(step) * time.Second}
		plain := parsed()
		want, wantErr := (&engine.Engine{Source: plain}).Metric(t.Context(), sample, p)
		if wantErr != nil && !errors.Is(wantErr, engine.ErrQuery) {
			t.Fatal(wantErr)
		}

		other := parsed()
		other.workers, other.shuffle, other.counts = 3, rand.New(rand.NewPCG(seed, 0)), true
		got, err := (&engine.Engine{Source: other}).Metric(t.Context(), sample, p)
		if (err != nil) != (wantErr != nil) || err == nil && text(got) != text(want) {
			t.Fatalf("%s with three workers and counts:\n%v, %v\nwant\n%v, %v", query, got, err, want, wantErr)
		}

		all := map[string]float64{}
		for at := p.Start; at <= p.End; at += int64(p.Step) {
			v, err := (&engine.Engine{Source: plain}).Metric(t.Context(), sample, engine.MetricParams{Start: at, End: at})
			if err != nil {
				if wantErr == nil {
					t.Fatalf("%s: instant: %v", query, err)
				}
				return
			}
			for key, value := range points(v) {
				all[key] = value
			}
		}
		if wantErr != nil {
			t.Fatalf("%s: no instant has the error %v", query, wantErr)
		}
		ranged := points(want)
		if len(ranged) != len(all) {
			t.Fatalf("%s: %v, want %v", query, ranged, all)
		}
		for key, value := range all {
			if v, ok := ranged[key]; !ok || cmp.Compare(v, value) != 0 && math.Float64bits(v) != math.Float64bits(value) {
				t.Fatalf("%s: %s is %v, want %v", query, key, v, value)
			}
		}
	})
}
