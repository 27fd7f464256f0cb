package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"logstow/config"
	"logstow/internal/test/testrand"
	"logstow/logmetrics"
	"logstow/process"
)

// Over graceful restarts at any moment, with reloads meanwhile, the metrics of all lives add up to what is stored.
func TestLogMetricsOverRestarts(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	w := newWorld(t)
	specs := []logmetrics.Spec{
		{Name: "lines_total", Type: logmetrics.Counter, Where: "n >= 0"},
		{Name: "n_total", Type: logmetrics.Counter, Where: "n < 900 and method == 'GET'", Value: "n"},
		{Name: "n", Type: logmetrics.Histogram, Value: "n", Buckets: []string{"100", "500"}},
	}
	w.settings.LogMetrics = specs
	sums := map[string]uint64{}
	for range 6 {
		p, stop := w.start()
		var writing sync.WaitGroup
		lines := rnd.Perm(400)
		writing.Go(func() {
			for i, n := range lines {
				w.append("a.log", fmt.Sprintf(`{"n":%d,"method":%q}`+"\n", n*3, []string{"GET", "POST"}[i%2]))
			}
		})
		for range 3 {
			again := w.settings
			again.LogMetrics = append(specs[:3:3], logmetrics.Spec{Name: fmt.Sprintf("other_%d", rnd.IntN(5)), Type: logmetrics.Counter})
			changed := w.files("a.log")
			changed.Process.Drop = []process.Rule{{Contains: []string{fmt.Sprintf(`"n":%d`, rnd.IntN(10))}}}
			again.Inputs = []config.Input{changed}
			reload(p, again, again)
		}
		if rnd.IntN(2) == 0 {
			writing.Wait()
		}
		if log, err := stop(); err != nil {
			t.Fatalf("%v\n%s", err, log)
		}
		writing.Wait()
		for _, s := range p.logMetrics.Summaries() {
			sums[s.Name] += s.Records
		}
	}
	want := map[string]uint64{}
	for line := range strings.Lines(w.stored("s")) {
		var record struct {
			N      int
			Method string
		}
		if err := json.Unmarshal([]byte(line[strings.IndexByte(line, '{'):]), &record); err != nil {
			t.Fatal(err)
		}
		want["lines_total"]++
		want["n"]++
		if record.N < 900 && record.Method == "GET" {
			want["n_total"]++
		}
	}
	for name, n := range want {
		if sums[name] != n {
			t.Errorf("%s: %d in the metrics, %d stored", name, sums[name], n)
		}
	}
	if want["lines_total"] == 0 {
		t.Error("nothing is stored")
	}
	t.Logf("%v", want)
}
