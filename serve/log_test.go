package serve

import (
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"logstow/serve/tailwatch"
)

// logged are the lines of requests, after the server ended.
func logged(t *testing.T, s *running) (all []map[string]any) {
	t.Helper()
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	for text := range strings.Lines(s.log.String()) {
		var l map[string]any
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		if l["msg"] == "request" {
			all = append(all, l)
		}
	}
	return all
}

// A line has the token, the path, the range and what the request took.
func TestLog(t *testing.T) {
	t.Parallel()
	s := start(t, withTokens(t))
	s.ask(t, http.MethodGet, prefix+"query_range?query=shop&start=needle", bearer(shopSecret))
	s.ask(t, http.MethodPost, prefix+"query", bearer(allSecret), form("query=shop&time=needle"))
	s.ask(t, http.MethodGet, prefix+"format_query?start=needle", bearer(shopSecret)) // reads nothing
	lines := logged(t, s)
	if len(lines) != 3 {
		t.Fatalf("%v", lines)
	}
	for i, want := range []map[string]any{
		{
			"method": "GET", "path": prefix + "query_range", "token": "shop", "services": "shop", "status": 200., "bytes": 36.,
			"start": "2025-11-20T00:00:00Z", "end": "2025-11-20T01:00:00Z", "read_bytes": 1000., "cost_dollars": 0.25, "level": "INFO",
		},
		{"method": "POST", "path": prefix + "query", "token": "all", "services": "*", "start": "2025-11-20T00:00:00Z", "status": 200.},
		{"path": prefix + "format_query", "start": nil, "end": nil, "status": 200.},
	} {
		for key, value := range want {
			if got := lines[i][key]; got != value {
				t.Errorf("line %d: %s is %v, want %v", i, key, got, value)
			}
		}
		if d, ok := lines[i]["duration"].(float64); !ok || d <= 0 {
			t.Errorf("line %d: took %v", i, lines[i]["duration"])
		}
	}
}

// Neither the text of a query nor a secret is in the log, nor in the answer to a failure, whatever way they come.
func TestLogSecrets(t *testing.T) {
	t.Parallel()
	s := start(t, withTokens(t))
	query := "query=" + secretText
	for _, do := range []string{"", "panic", "fault"} {
		path := prefix + "query_range?do=" + do
		for _, change := range []func(*http.Request){bearer(shopSecret), basic(shopSecret), bearer(noSecret), header("Cookie", "logstow="+base64.RawURLEncoding.EncodeToString([]byte(shopSecret)))} {
			_, get := s.ask(t, http.MethodGet, path+"&"+query, change)
			_, post := s.ask(t, http.MethodPost, path, form(query+"&token="+shopSecret), change)
			if strings.Contains(get+post, secretText) {
				t.Errorf("%s\n%s", get, post)
			}
		}
	}
	s.ask(t, http.MethodPost, "/login", form("token="+shopSecret))
	s.ask(t, http.MethodPost, "/login", form("token="+noSecret))
	s.ask(t, http.MethodGet, "/login?token="+shopSecret+"&"+query)
	s.ask(t, http.MethodGet, prefix+"query?query=%zz"+secretText, bearer(shopSecret))
	s.ask(t, http.MethodGet, prefix+"query?start="+secretText+"&end="+secretText+"&time="+secretText, bearer(shopSecret))
	c, _, err := s.dial(t, http.Header{"Authorization": {"Bearer " + shopSecret}})
	if err != nil {
		t.Fatal(err)
	}
	c.CloseNow()
	if n := len(logged(t, s)); n != 30 {
		t.Errorf("%d lines", n)
	}
	text := s.log.String()
	for _, secret := range []string{secretText, shopSecret, noSecret, base64.RawURLEncoding.EncodeToString([]byte(shopSecret)), base64.StdEncoding.EncodeToString([]byte("anyone:" + shopSecret))} {
		if i := strings.Index(text, secret); i >= 0 {
			t.Errorf("the log has %s: …%s", secret, text[max(0, i-200):i+len(secret)])
		}
	}
}

// A panic is status 500 with an id that the log has with the stack; the client gets no more.
func TestPanic(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, do := range []string{"panic", "fault"} {
		resp, body := s.ask(t, http.MethodGet, prefix+"query?do="+do)
		id := strings.TrimSuffix(strings.TrimPrefix(body, "internal error "), "; see the server's log\n")
		if resp.StatusCode != http.StatusInternalServerError || len(id) != 12 || strings.Contains(body, ".go") {
			t.Errorf("%d %s", resp.StatusCode, body)
		}
		if log := s.log.String(); !strings.Contains(log, `"id":"`+id+`"`) || !strings.Contains(log, "harness_test.go") {
			t.Errorf("the log has no %s: %s", id, log)
		}
	}
	if !strings.Contains(s.log.String(), "index out of range") {
		t.Error("the cause is not logged")
	}
	// A response that has begun ends the connection, so that the client finds it incomplete.
	for _, do := range []string{"panic+late", "abort"} {
		resp, err := client().Get(s.url + prefix + "query?do=" + do) //nolint:noctx // a test
		if err != nil {
			t.Fatal(err)
		}
		n, err := resp.Body.Read(make([]byte, 100))
		for err == nil {
			_, err = resp.Body.Read(make([]byte, 100))
		}
		if n != 5 || err.Error() != "unexpected EOF" {
			t.Errorf("%s: %d bytes, %v", do, n, err)
		}
		resp.Body.Close()
	}
	incomplete := 0
	for _, l := range logged(t, s) {
		if l["incomplete"] == true {
			incomplete++
		}
	}
	if incomplete != 2 {
		t.Errorf("%d lines of incomplete responses", incomplete)
	}
	if n := strings.Count(s.log.String(), `"panic in a request"`); n != 3 {
		t.Errorf("%d panics logged", n)
	}
}

// The metrics need a token like everything else, and name neither services nor tokens.
func TestMetrics(t *testing.T) {
	t.Parallel()
	watched := tailwatch.New(t.Context(), nil, slog.New(slog.DiscardHandler))
	t.Cleanup(watched.Close)
	s := start(t, withTokens(t), func(o *Options) { o.Watches = watched })
	s.ask(t, http.MethodGet, prefix+"query_range?query=shop", bearer(shopSecret))
	s.ask(t, http.MethodGet, prefix+"label/shop/values", bearer(webSecret))
	s.ask(t, http.MethodGet, "/shop", bearer(webSecret))
	s.ask(t, http.MethodGet, "/shop")
	_, body := s.ask(t, http.MethodGet, "/metrics", bearer(webSecret))
	for _, want := range []string{
		`logstow_http_requests_total{code="200",endpoint="query_range"} 1`, `logstow_http_requests_total{code="200",endpoint="label/values"} 1`,
		`logstow_http_requests_total{code="404",endpoint="other"} 1`, `logstow_http_rejected_requests_total{reason="token"} 1`,
		`logstow_query_read_bytes_total 3000`, `logstow_query_cost_dollars_total 0.75`, `logstow_query_cost_today_dollars 0.75`,
		`logstow_queries_running 0`, `logstow_queries_waiting 0`, `logstow_tails 0`, `logstow_watched_services 0`, `logstow_watch_shippers 0`, `logstow_watch_cost_dollars_total 0`, `logstow_build_info{`, `version="test"} 1`,
		`logstow_http_request_duration_seconds_count{endpoint="query_range"} 1`, `process_start_time_seconds`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s", want)
		}
	}
	for _, name := range []string{"shop", "web", "service="} {
		if strings.Contains(body, name) {
			t.Errorf("has %s", name)
		}
	}
	page, err := os.ReadFile(filepath.Join("..", "docs", "reference.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Metrics of logq serve\n")
	section, _, _ = strings.Cut(section, "\n## ")
	documented, served := map[string]bool{"logstow_build_info": true}, map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(logstow_\\w+)").FindAllStringSubmatch(section, -1) {
		documented[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (logstow_\w+) `).FindAllStringSubmatch(body, -1) {
		served[m[1]] = true
	}
	if diff := cmp.Diff(documented, served); diff != "" {
		t.Error(diff)
	}
	without := start(t, func(o *Options) { o.Metrics = false })
	if resp, _ := without.ask(t, http.MethodGet, "/metrics"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("without: %d", resp.StatusCode)
	}
}

// Each endpoint that docs/serve-api.md lists has a name of its own in metrics.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "docs", "serve-api.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## Endpoints\n")
	text, _, _ = strings.Cut(text, "\n## Parameters\n")
	table, own, _ := strings.Cut(text, "\n## ")
	paths := 0
	for start, rows := range map[string]string{prefix: table, ownPrefix: own} {
		for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*`) \\|").FindAllStringSubmatch(rows, -1) {
			for name := range strings.SplitSeq(row[1], ", ") {
				paths++
				if path := start + strings.Trim(name, "`"); endpointOf(path) == "other" {
					t.Errorf("%s is another path", path)
				}
			}
		}
	}
	if paths != 21 {
		t.Errorf("%d endpoints documented", paths)
	}
}

// A tail is a websocket through the server: its messages pass, and its bytes are logged.
func TestTail(t *testing.T) {
	t.Parallel()
	s := start(t)
	c, _, err := s.dial(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a", strings.Repeat("b", 20000)} {
		if err := c.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, got, err := c.Read(t.Context()); err != nil || string(got) != text {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
	c.CloseNow()
	receive(t, s.api.ended, "the end of the tail")
	lines := logged(t, s)
	if n, _ := lines[0]["bytes"].(float64); lines[0]["status"] != 101. || n < 20000 {
		t.Errorf("%v", lines)
	}
}
