package check

import (
	"encoding/json"
	"log/slog"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// known are the metrics that a shipper and a run of compaction have; those of every process and of
// kube-state-metrics beside them.
func known(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{"up": true, "process_start_time_seconds": true, "process_resident_memory_bytes": true,
		"process_cpu_seconds_total": true, "process_open_fds": true, "go_goroutines": true,
		"kube_cronjob_status_last_successful_time": true}
	golden := slices.Concat(read(t, "..", "..", "metrics", "testdata", "metrics.txt"), read(t, "..", "..", "metrics", "testdata", "compaction.txt"))
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)`).FindAllSubmatch(golden, -1) {
		name := string(m[1])
		names[name] = true
		if string(m[2]) == "histogram" {
			names[name+"_bucket"], names[name+"_sum"], names[name+"_count"] = true, true, true
		}
	}
	return names
}

// checkQuery parses a query and looks whether its metrics exist.
func checkQuery(t *testing.T, where, query string, metrics map[string]bool) {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	for _, selectors := range parser.ExtractSelectors(expr) {
		for _, m := range selectors {
			if m.Name == labels.MetricName && !metrics[m.Value] {
				t.Errorf("%s: no metric %s", where, m.Value)
			}
		}
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	groups, errs := rulefmt.Parse(read(t, "..", "prometheus", "logstow.rules.yaml"), false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	metrics, runbook := known(t), string(read(t, "..", "..", "docs", "operations.md"))
	tests := string(read(t, "..", "prometheus", "logstow.test.yaml"))
	count := 0
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			count++
			checkQuery(t, r.Alert, r.Expr, metrics)
			if r.Annotations["summary"] == "" || r.Labels["severity"] == "" {
				t.Errorf("%s: wants a summary and a severity", r.Alert)
			}
			if r.Annotations["runbook_url"] != "docs/operations.md#"+strings.ToLower(r.Alert) || !strings.Contains(runbook, "\n### "+r.Alert+"\n") {
				t.Errorf("%s: not in the runbook", r.Alert)
			}
			if !strings.Contains(tests, "alertname: "+r.Alert+"\n") {
				t.Errorf("%s: no test", r.Alert)
			}
		}
	}
	if count < 10 {
		t.Errorf("%d rules", count)
	}
}

// Where promtool is, the alerts are tried on series.
func TestRulesFire(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not here")
	}
	test := exec.Command("promtool", "test", "rules", "logstow.test.yaml")
	test.Dir = "../prometheus"
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestDashboard(t *testing.T) {
	t.Parallel()
	var dashboard struct {
		Panels []struct {
			ID      int
			Type    string
			Title   string
			GridPos struct{ H, W, X, Y int }
			Targets []struct{ Expr string }
		}
		SchemaVersion int
		UID           string
	}
	if err := json.Unmarshal(read(t, "..", "grafana", "logstow.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	if dashboard.UID == "" || dashboard.SchemaVersion == 0 || len(dashboard.Panels) < 20 {
		t.Errorf("%+v", dashboard)
	}
	metrics, ids := known(t), map[int]bool{}
	taken := map[[2]int]string{}
	for _, p := range dashboard.Panels {
		if ids[p.ID] {
			t.Errorf("%s: its id is taken", p.Title)
		}
		ids[p.ID] = true
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if taken[at] != "" {
					t.Fatalf("%s lies on %s", p.Title, taken[at])
				}
				taken[at] = p.Title
			}
		}
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			checkQuery(t, p.Title, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"), metrics)
		}
	}
}
