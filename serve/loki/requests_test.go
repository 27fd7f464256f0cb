package loki_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/serve/loki"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// clientRequest is a request as a client sends it.
type clientRequest struct {
	name   string // of the golden file
	path   string // below /loki/api/v1/
	params string // NAME=VALUE a line, not encoded
	form   bool   // POST with a form
	flags  bool   // with the header that Grafana asks for categories by
}

// Times of the requests, in the forms that clients send.
const (
	hourAgo    = "1772622000000000000" // 11:00:00Z
	halfAgo    = "1772623800000000000" // 11:30:00Z
	endNow     = "1772625600000000000" // 12:00:00Z
	hourAgoMS  = "1772622000.123"
	hourAgoRFC = "2026-03-04T11:00:00.5Z"
)

// requests are those that Grafana's data source, Logs Drilldown, alert rules, logcli and the documentation's examples send.
var requests = []clientRequest{
	// Grafana's data source: "Save & test".
	{name: "grafana-save-and-test", path: "query", params: "direction=backward\nquery=vector(1)+vector(1)\ntime=4000000000"},
	// Explore: logs, their histogram, the size of a query, live tail (tail_test.go), context.
	{name: "explore-logs", path: "query_range", flags: true, params: "direction=backward\nend=" + endNow + "\nlimit=1000\nquery={service_name=`web`} |= ``\nstart=" + hourAgo + "\nstep=2000ms"},
	{name: "explore-logs-json", path: "query_range", flags: true, params: "direction=backward\nend=" + endNow + "\nlimit=1000\nquery={service_name=\"web\"} | json | status >= 500\nstart=" + hourAgo + "\nstep=2000ms"},
	{name: "explore-logs-plain", path: "query_range", params: "direction=backward\nend=" + endNow + "\nlimit=1000\nquery={service_name=~\".+\"}\nstart=" + hourAgo + "\nstep=2000ms"},
	{name: "explore-histogram", path: "query_range", params: "direction=backward\nend=" + endNow + "\nquery=sum by (level, detected_level) (count_over_time({service_name=~\".+\"} | drop __error__ [15m]))\nstart=" + hourAgo + "\nstep=900000ms"},
	{name: "explore-stats", path: "index/stats", params: "query={service_name=\"web\"}\nstart=" + hourAgo + "\nend=" + endNow},
	{name: "explore-context-backward", path: "query_range", flags: true, params: "direction=backward\nlimit=1\nquery={service_name=\"api\", instance=\"b-1\"}\nstart=" + hourAgo + "\nend=" + endNow},
	{name: "explore-context-forward", path: "query_range", flags: true, params: "direction=FORWARD\nlimit=2\nquery={service_name=\"api\", instance=\"b-1\"}\nstart=" + halfAgo + "\nend=" + endNow},
	// The label browser and variables.
	{name: "grafana-labels", path: "labels", params: "start=" + hourAgo + "\nend=" + endNow},
	{name: "grafana-label-values", path: "label/service_name/values", params: "start=" + hourAgo + "\nend=" + endNow},
	{name: "grafana-label-values-selected", path: "label/level/values", params: "query={service_name=\"api\"}\nstart=" + hourAgo + "\nend=" + endNow},
	{name: "grafana-label-values-unknown", path: "label/pod%2Fname/values", params: "start=" + hourAgo + "\nend=" + endNow},
	{name: "grafana-series", path: "series", params: "match[]={service_name=\"web\"}\nstart=" + hourAgo + "\nend=" + endNow},
	{name: "grafana-format-query", path: "format_query", params: "query={service_name=\"web\"}|=\"a\"|json"},
	{name: "grafana-buildinfo", path: "status/buildinfo"},
	// Dashboards: a graph, a table, a stat.
	{name: "dashboard-rate", path: "query_range", params: "direction=backward\nend=" + endNow + "\nquery=sum(rate({service_name=\"web\"}[30m]))\nstart=1772622000123000000\nstep=1800000ms"},
	{name: "dashboard-quantile", path: "query_range", params: "end=" + endNow + "\nquery=quantile_over_time(0.5, {service_name=\"web\"} | json | unwrap duration(took) | __error__=`` [30m]) by (service_name)\nstart=" + hourAgo + "\nstep=1800000ms"},
	{name: "dashboard-top", path: "query", params: "direction=backward\nquery=topk(2, sum by (service_name, level) (count_over_time({service=~\".+\"}[1h])))\ntime=" + endNow},
	// Alert rules.
	{name: "alert-instant", path: "query", params: "direction=backward\nquery=sum by (service_name) (count_over_time({level=\"error\"}[1h])) > 0\ntime=" + endNow},
	{name: "alert-nothing", path: "query", params: "query=sum(count_over_time({service_name=\"none\"}[1h])) > 0\ntime=" + endNow},
	// Logs Drilldown.
	{name: "drilldown-limits", path: "drilldown-limits"},
	{name: "drilldown-volume", path: "index/volume", params: "query={service_name=~`.+`}\nstart=" + hourAgo + "\nend=" + endNow + "\nlimit=1000\ntargetLabels=service_name"},
	{name: "drilldown-labels", path: "detected_labels", params: "query={service_name=\"web\"}\nstart=" + hourAgo + "\nend=" + endNow},
	{name: "drilldown-fields", path: "detected_fields", params: "query={service_name=\"web\"} | json | logfmt | drop __error__, __error_details__\nstart=" + hourAgo + "\nend=" + endNow + "\nline_limit=1000"},
	{name: "drilldown-field-values", path: "detected_field/status/values", params: "query={service_name=\"web\"}\nstart=" + hourAgo + "\nend=" + endNow + "\nlimit=2"},
	{name: "drilldown-patterns", path: "patterns", params: "query={service_name=\"api\"}\nstart=" + hourAgo + "\nend=" + endNow + "\nstep=10s"},
	// logcli.
	{name: "logcli-query", path: "query_range", params: "direction=BACKWARD\nend=" + endNow + "\nlimit=30\nquery={service_name=\"api\"}\nstart=" + hourAgo},
	{name: "logcli-query-forward-batch", path: "query_range", params: "direction=FORWARD\nend=" + endNow + "\nlimit=2\nquery={service_name=\"api\"}\nstart=1772624400000000001"},
	{name: "logcli-metric", path: "query_range", params: "direction=BACKWARD\nend=" + endNow + "\nlimit=30\nquery=count_over_time({service_name=\"api\"}[30m])\nstart=" + hourAgo + "\nstep=1800.000000"},
	{name: "logcli-instant", path: "query", params: "direction=BACKWARD\nlimit=30\nquery=sum(bytes_over_time({service_name=\"web\"}[1h]))\ntime=" + endNow},
	{name: "logcli-labels", path: "labels", params: "start=" + hourAgo + "\nend=" + endNow},
	{name: "logcli-label-values", path: "label/instance/values", params: "start=" + hourAgo + "\nend=" + endNow},
	{name: "logcli-series", path: "series", params: "match={service_name=~\".+\"}\nstart=" + hourAgo + "\nend=" + endNow},
	{name: "logcli-stats", path: "index/stats", params: "query={}\nstart=" + hourAgo + "\nend=" + endNow},
	{name: "logcli-volume", path: "index/volume", params: "query={service_name=~\".+\", level!=\"info\"}\nstart=" + hourAgo + "\nend=" + endNow + "\nlimit=30\naggregateBy=series"},
	{name: "logcli-volume-labels", path: "index/volume", params: "query={service_name=\"web\"}\nstart=" + hourAgo + "\nend=" + endNow + "\nlimit=2\naggregateBy=labels"},
	{name: "logcli-volume-range", path: "index/volume_range", params: "query={service_name=\"web\"}\nstart=" + hourAgo + "\nend=" + endNow + "\nlimit=30\nstep=1800.000000\ntargetLabels=service_name,level"},
	{name: "logcli-fields", path: "detected_fields", params: "query={service_name=\"web\"}\nstart=" + hourAgo + "\nend=" + endNow + "\nlimit=2\nline_limit=50\nstep=10.000000"},
	// curl as in the documentation: defaults, forms, other forms of times.
	{name: "curl-defaults", path: "query_range", params: "query={service_name=\"api\"}"},
	{name: "curl-default-step", path: "query_range", params: "query=vector(1)\nstart=" + halfAgo + "\nend=1772623850000000000"},
	{name: "curl-since", path: "query_range", params: "query={service_name=\"api\"}\nsince=15m"},
	{name: "curl-since-future-end", path: "query_range", params: "query={service_name=\"api\"}\nsince=15m\nend=2026-03-05T00:00:00Z"},
	{name: "curl-float-times", path: "query_range", params: "query={service_name=\"web\"}\nstart=" + hourAgoMS + "\nend=1772624000.0"},
	{name: "curl-rfc3339", path: "query_range", params: "query={service_name=\"web\"}\nstart=" + hourAgoRFC + "\nend=2026-03-04T13:00:00+01:00"},
	{name: "curl-seconds", path: "query_range", params: "query={service_name=\"web\"}\nstart=1772622000\nend=1772625600"},
	{name: "curl-interval", path: "query_range", params: "query={service_name=~\".+\"}\ninterval=15m\nlimit=3"},
	{name: "curl-form", path: "query_range", form: true, params: "query={service_name=\"api\"}\nlimit=1"},
	{name: "curl-series-form", path: "series", form: true, params: "match[]={service_name=\"web\", level=\"error\"}\nmatch[]={instance=\"b-1\"}"},
	{name: "curl-align", path: "query_range", params: "query=vector(1)\nstart=1772622003.999\nend=1772622020.5\nstep=5"},
	{name: "curl-label", path: "label"},
	{name: "curl-scalar", path: "query", params: "query=1+1\ntime=1772625600.25"},
	{name: "curl-infinity", path: "query", params: "query=vector(1)/vector(0)"},
	{name: "curl-nan", path: "query", params: "query=vector(0)/vector(0)"},
	{name: "curl-series-all", path: "series"},
	{name: "curl-metric-limit", path: "query_range", params: "query=vector(1)\nlimit=9999\nstart=0\nend=30\nstep=30"},
	{name: "curl-volume-limit", path: "index/volume", params: "query={}\nlimit=0"},
	{name: "curl-volume-step", path: "index/volume_range", params: "query={service_name=\"web\"}\nstart=" + hourAgo + "\nend=" + endNow + "\nstep=1h"},
	{name: "curl-empty-labels", path: "labels", params: "query={service_name=\"none\"}"},
	{name: "curl-empty-values", path: "label/level/values", params: "query={service_name=\"none\"}"},
	{name: "curl-empty-series", path: "series", params: "match[]={service_name=\"none\"}"},
	{name: "curl-empty-detected-labels", path: "detected_labels", params: "query={service_name=\"none\"}"},
	{name: "curl-empty-field", path: "detected_field/none/values", params: "query={service_name=\"none\"}"},
	{name: "curl-empty-volume", path: "index/volume", params: "query={service_name=\"none\"}"},
	{name: "curl-empty-logs", path: "query_range", params: "query={service_name=\"none\"}"},
	{name: "curl-empty-matrix", path: "query_range", params: "query=rate({service_name=\"none\"}[1m])"},
	{name: "curl-volume-all", path: "index/volume", params: "query={}"},
	{name: "curl-volume-source", path: "index/volume", params: "query={}\ntargetLabels=source"},
	{name: "curl-patterns-limit", path: "patterns", params: "query={}\nlimit=1"},
	// Mistakes.
	{name: "bad-query", path: "query_range", params: "query={service_name=\"web\" |= \"a\""},
	{name: "bad-no-query", path: "query_range"},
	{name: "bad-template", path: "query_range", params: "query={service_name=\"web\"} | line_format \"{{.a\""},
	{name: "bad-template-metric", path: "query", params: "query=rate({service_name=\"web\"} | line_format \"{{.a\" [1m])"},
	{name: "bad-template-tail", path: "tail", params: "query={service_name=\"web\"} | line_format \"{{.a\""},
	{name: "bad-ip", path: "detected_fields", params: "query={service_name=\"web\"} |= ip(\"10.0.0.0/99\")"},
	{name: "bad-selector", path: "index/volume", params: "query={service_name=\"web\"} |= \"a\""},
	{name: "bad-instant-logs", path: "query", params: "query={service_name=\"web\"}"},
	{name: "bad-error-samples", path: "query", params: "query=sum(sum_over_time({service_name=\"api\"} | logfmt | unwrap path [1h]))"},
	{name: "bad-limit", path: "query_range", params: "query={service_name=~\".+\"}\nlimit=0"},
	{name: "bad-limit-text", path: "query_range", params: "query={service_name=~\".+\"}\nlimit=ten"},
	{name: "bad-limit-large", path: "query_range", params: "query={service_name=~\".+\"}\nlimit=5001"},
	{name: "bad-direction", path: "query_range", params: "query={service_name=~\".+\"}\ndirection=up"},
	{name: "bad-time", path: "query_range", params: "query={service_name=~\".+\"}\nstart=yesterday"},
	{name: "bad-time-early", path: "labels", params: "start=-1"},
	{name: "bad-step", path: "query_range", params: "query=vector(1)\nstep=0"},
	{name: "bad-step-text", path: "query_range", params: "query=vector(1)\nstep=often"},
	{name: "bad-step-small", path: "query_range", params: "query=vector(1)\nstep=100ms"},
	{name: "bad-step-tiny", path: "query_range", params: "query=vector(1)\nstep=0.0001"},
	{name: "bad-interval", path: "query_range", params: "query={service_name=~\".+\"}\ninterval=-1"},
	{name: "bad-since", path: "labels", params: "since=-1"},
	{name: "bad-order-logs", path: "query_range", params: "query=" + all + "\nstart=" + endNow + "\nend=" + hourAgo},
	{name: "bad-order-metric", path: "query_range", params: "query=vector(1)\nstart=" + endNow + "\nend=" + hourAgo},
	{name: "bad-order-labels", path: "labels", params: "start=" + endNow + "\nend=" + hourAgo},
	{name: "bad-metric-limit", path: "query_range", params: "query=vector(1)\nlimit=x"},
	{name: "bad-metric-limit-zero", path: "query_range", params: "query=vector(1)\nlimit=0"},
	{name: "bad-metric-direction", path: "query_range", params: "query=vector(1)\ndirection=up"},
	{name: "bad-metric-interval", path: "query_range", params: "query=vector(1)\ninterval=x"},
	{name: "bad-instant-limit", path: "query", params: "query=vector(1)\nlimit=x"},
	{name: "bad-instant-direction", path: "query", params: "query=vector(1)\ndirection=up"},
	{name: "bad-series", path: "series", params: "match[]={a"},
	{name: "bad-aggregate", path: "index/volume", params: "query={}\naggregateBy=size"},
	{name: "bad-volume-limit", path: "index/volume", params: "query={}\nlimit=1001"},
	{name: "bad-fields-metric", path: "detected_fields", params: "query=rate({service_name=~\".+\"}[1m])"},
	{name: "bad-tail", path: "tail", params: "query={service_name=\"web\"}"},
	{name: "bad-tail-metric", path: "tail", params: "query=rate({service_name=~\".+\"}[1m])"},
	{name: "bad-tail-delay", path: "tail", params: "query={service_name=~\".+\"}\ndelay_for=6"},
	{name: "bad-tail-start", path: "tail", params: "query={service_name=\"web\"}\nstart=x"},
	{name: "bad-tail-limit", path: "tail", params: "query={service_name=\"web\"}\nlimit=-1"},
	{name: "bad-fields-lines", path: "detected_fields", params: "query={service_name=\"web\"}\nline_limit=x"},
	{name: "bad-form", path: "query_range", form: true, params: "query={service_name=~\".+\"}\n%zz"},
	{name: "unknown-path", path: "rules"},
}

func (c *clientRequest) http() *http.Request {
	values := url.Values{}
	var raw []string
	for line := range strings.SplitSeq(c.params, "\n") {
		if name, value, ok := strings.Cut(line, "="); ok {
			values.Add(name, value)
		} else if line != "" {
			raw = append(raw, line)
		}
	}
	encoded := strings.Join(append(raw, values.Encode()), "&")
	target := "/loki/api/v1/" + c.path
	var r *http.Request
	if c.form {
		r = httptest.NewRequest(http.MethodPost, target, strings.NewReader(encoded))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	} else {
		r = httptest.NewRequest(http.MethodGet, target+"?"+encoded, nil)
	}
	r.Header.Set("X-Scope-OrgID", "fake")
	r.Header.Set("X-Query-Tags", "Source=grafana")
	if c.flags {
		r.Header.Set("X-Loki-Response-Encoding-Flags", "categorize-labels")
	}
	return r
}

// Each request has the answer of its golden file: status, type and body.
func TestRequests(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, c := range requests {
		names[c.name] = true
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			api(world(), nil).ServeHTTP(w, c.http())
			golden(t, c.name, goldenAnswer(t, &c, w))
		})
	}
	files, err := filepath.Glob("testdata/*.golden.json")
	if err != nil || len(files) == 0 && !*update {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		if !names[strings.TrimSuffix(filepath.Base(file), ".golden.json")] {
			t.Errorf("%s belongs to no request", file)
		}
	}
}

// api is an API over a fake, with changed options.
func api(f *fake, change func(*loki.Options)) *loki.API {
	opts := loki.Options{View: f.view, Now: fixedNow, Version: "v1.2.3"}
	if change != nil {
		change(&opts)
	}
	return loki.New(opts)
}

func goldenAnswer(t *testing.T, c *clientRequest, w *httptest.ResponseRecorder) []byte {
	t.Helper()
	var doc struct {
		Path   string   `json:"path"`
		Params []string `json:"params,omitempty"`
		Status int      `json:"status"`
		Type   string   `json:"type"`
		Text   string   `json:"text,omitempty"`
		Body   any      `json:"body,omitempty"`
	}
	doc.Path, doc.Status, doc.Type = c.path, w.Code, w.Header().Get("Content-Type")
	if c.params != "" {
		doc.Params = strings.Split(c.params, "\n")
	}
	body := w.Body.Bytes()
	if strings.HasPrefix(doc.Type, "application/json") {
		if !json.Valid(body) {
			t.Fatalf("invalid JSON: %s", body)
		}
		// Statistics have a test of their own.
		body = regexp.MustCompile(`,"stats":\{.*\}\}\n$`).ReplaceAll(body, []byte("}}\n"))
		body = regexp.MustCompile(`"goVersion":"[^"]*"`).ReplaceAll(body, []byte(`"goVersion":"go"`))
		doc.Body = json.RawMessage(body)
	} else {
		doc.Text = string(body)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(doc); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return out.Bytes()
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden.json")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("answer differs (-want +got):\n%s", diff)
	}
}
