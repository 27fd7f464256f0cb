package check

import (
	"encoding/json"
	"log/slog"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

// logMetric is a metric from logs of the configuration for the rules.
type logMetric struct {
	Name, Type string
	Labels     []string
}

func logMetrics(t *testing.T) []logMetric {
	t.Helper()
	var file struct {
		LogMetrics []logMetric `json:"log-metrics"`
	}
	if err := yaml.Unmarshal(read(t, "..", "prometheus", "log-metrics.shipper.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	return file.LogMetrics
}

// known are the metrics that a shipper, a run of compaction and one of export have; those of every process and of
// kube-state-metrics beside them.
func known(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{
		"up": true, "process_start_time_seconds": true, "process_resident_memory_bytes": true,
		"process_cpu_seconds_total": true, "process_open_fds": true, "go_goroutines": true,
		"kube_cronjob_status_last_successful_time": true,
	}
	golden := slices.Concat(read(t, "..", "..", "metrics", "testdata", "metrics.txt"), read(t, "..", "..", "metrics", "testdata", "compaction.txt"),
		read(t, "..", "..", "metrics", "testdata", "export.txt"))
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)`).FindAllSubmatch(golden, -1) {
		name := string(m[1])
		names[name] = true
		if string(m[2]) == "histogram" {
			names[name+"_bucket"], names[name+"_sum"], names[name+"_count"] = true, true, true
		}
	}
	for _, m := range logMetrics(t) {
		names[m.Name] = true
		if m.Type == "histogram" {
			names[m.Name+"_bucket"], names[m.Name+"_sum"], names[m.Name+"_count"] = true, true, true
		}
	}
	return names
}

// checkQuery parses a query, checks that its metrics exist, and returns the matchers of its selectors.
func checkQuery(t *testing.T, where, query string, metrics map[string]bool) [][]*labels.Matcher {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return nil
	}
	all := parser.ExtractSelectors(expr)
	for name := range metricsOf(all) {
		if !metrics[name] {
			t.Errorf("%s: no metric %s", where, name)
		}
	}
	return all
}

// metricsOf are the names of the metrics of selectors.
func metricsOf(selectors [][]*labels.Matcher) map[string]bool {
	names := map[string]bool{}
	for _, matchers := range selectors {
		for _, m := range matchers {
			if m.Name == model.MetricNameLabel {
				names[m.Value] = true
			}
		}
	}
	return names
}

// parseRules are the rules for Prometheus in a file.
func parseRules(t *testing.T, name string) (rules []rulefmt.Rule) {
	t.Helper()
	groups, errs := rulefmt.Parse(read(t, "..", "prometheus", name+".rules.yaml"), false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	for _, g := range groups.Groups {
		rules = append(rules, g.Rules...)
	}
	return rules
}

// ruleFiles are the files of rules, each with the page that is about them and the least number of rules.
var ruleFiles = map[string]struct {
	page  string
	least int
}{"logstow": {"operations.md", 10}, "log-metrics": {"log-metrics.md", 4}}

func TestRules(t *testing.T) {
	t.Parallel()
	for name := range ruleFiles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkRules(t, name)
		})
	}
}

func checkRules(t *testing.T, name string) {
	of := ruleFiles[name]
	metrics, runbook := known(t), string(read(t, "..", "..", "docs", of.page))
	tests := string(read(t, "..", "prometheus", name+".test.yaml"))
	rules := parseRules(t, name)
	for _, r := range rules {
		checkQuery(t, r.Alert, r.Expr, metrics)
		if r.Annotations["summary"] == "" || r.Labels["severity"] == "" {
			t.Errorf("%s: wants a summary and a severity", r.Alert)
		}
		if r.Annotations["runbook_url"] != "docs/"+of.page+"#"+strings.ToLower(r.Alert) || !strings.Contains(runbook, "\n### "+r.Alert+"\n") {
			t.Errorf("%s: not in the runbook", r.Alert)
		}
		if !strings.Contains(tests, "alertname: "+r.Alert+"\n") {
			t.Errorf("%s: no test", r.Alert)
		}
	}
	if len(rules) < of.least {
		t.Errorf("%d rules", len(rules))
	}
}

// The alerts that the tests for promtool expect are those of the rules: their labels match a
// selector, and their annotations are those of the rule. The values need promtool.
func TestExpectedAlerts(t *testing.T) {
	t.Parallel()
	for name := range ruleFiles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkExpectedAlerts(t, name)
		})
	}
}

func checkExpectedAlerts(t *testing.T, name string) {
	var file struct {
		Tests []struct {
			AlertRuleTest []struct {
				Alertname string
				ExpAlerts []struct {
					ExpLabels      map[string]string `json:"exp_labels"`
					ExpAnnotations map[string]string `json:"exp_annotations"`
				} `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		}
	}
	if err := yaml.Unmarshal(read(t, "..", "prometheus", name+".test.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	rules, metrics, fired := parseRules(t, name), known(t), map[string]bool{}
	for _, test := range file.Tests {
		for _, a := range test.AlertRuleTest {
			i := slices.IndexFunc(rules, func(r rulefmt.Rule) bool { return r.Alert == a.Alertname })
			if i < 0 {
				t.Errorf("%s: no rule", a.Alertname)
				continue
			}
			selectors := checkQuery(t, a.Alertname, rules[i].Expr, metrics)
			for _, want := range a.ExpAlerts {
				fired[a.Alertname] = true
				if !slices.ContainsFunc(selectors, func(m []*labels.Matcher) bool { return matches(m, want.ExpLabels) }) {
					t.Errorf("%s: no selector finds %v", a.Alertname, want.ExpLabels)
				}
				if want.ExpLabels["severity"] != rules[i].Labels["severity"] {
					t.Errorf("%s: severity %s", a.Alertname, want.ExpLabels["severity"])
				}
				for name, text := range rules[i].Annotations {
					if !annotation(text, want.ExpLabels).MatchString(want.ExpAnnotations[name]) {
						t.Errorf("%s: %s: %q, want %q", a.Alertname, name, want.ExpAnnotations[name], text)
					}
				}
			}
		}
	}
	if len(fired) != len(rules) {
		t.Errorf("of %d alerts %d fire in a test: %v", len(rules), len(fired), fired)
	}
}

// matches reports whether those of the labels that matchers name match.
func matches(matchers []*labels.Matcher, have map[string]string) bool {
	return !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool {
		value, ok := have[m.Name]
		return ok && !m.Matches(value)
	})
}

// annotation matches what a template can become with labels: $value may be anything.
func annotation(text string, have map[string]string) *regexp.Regexp {
	pattern := regexp.QuoteMeta(text)
	for name, value := range have {
		pattern = strings.ReplaceAll(pattern, regexp.QuoteMeta("{{ $labels."+name+" }}"), regexp.QuoteMeta(value))
	}
	pattern = regexp.MustCompile(`\\{\\{ \\\$value .*?\\}\\}`).ReplaceAllString(pattern, ".+")
	return regexp.MustCompile("^" + pattern + "$")
}

// Where promtool is, the alerts are tried on series.
func TestRulesFire(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not here")
	}
	for name := range ruleFiles {
		test := exec.Command("promtool", "test", "rules", name+".test.yaml")
		test.Dir = "../prometheus"
		if out, err := test.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
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
	shown, damage := map[string]bool{}, false
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
			selectors := checkQuery(t, p.Title, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"), metrics)
			maps.Copy(shown, metricsOf(selectors))
			damage = damage || strings.Contains(target.Expr, `reason="buffer-damaged"`)
		}
	}
	if !damage { // increase() does not see them
		t.Error("records lost by damage of the buffer are not shown")
	}
	for _, r := range parseRules(t, "logstow") {
		for name := range metricsOf(checkQuery(t, r.Alert, r.Expr, metrics)) {
			if strings.HasPrefix(name, "logstow_") && !shown[name] {
				t.Errorf("%s of alert %s is not shown", name, r.Alert)
			}
		}
	}
}
