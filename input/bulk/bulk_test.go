package bulk_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"logstow/input"
	"logstow/input/bulk"
	"logstow/input/httpserver"
	"logstow/internal/test/inputtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func handler(t testing.TB, opts httpserver.IntakeOptions) *bulk.Handler {
	t.Helper()
	opts.Service, opts.Now = "web", inputtest.Now
	h, err := bulk.NewHandler(opts)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func serve(t testing.TB, opts httpserver.IntakeOptions, server httpserver.Options) (address string) {
	t.Helper()
	return inputtest.ServeHTTP(t, server, handler(t, opts))
}

// do sends a request, whose response must be that of Elasticsearch.
func do(t testing.TB, method, address, path string, header http.Header, body []byte) inputtest.Response {
	t.Helper()
	got, head := inputtest.Do(t, method, "http://"+address+path, header, bytes.NewReader(body))
	if head.Get("X-Elastic-Product") != "Elasticsearch" || head.Get("Content-Type") != "application/json" || method != http.MethodHead && !json.Valid([]byte(got.Body)) {
		t.Errorf("%s %s: %v %s", method, path, head, got.Body)
	}
	return got
}

func post(t testing.TB, address, path, body string) inputtest.Response {
	t.Helper()
	return do(t, http.MethodPost, address, path, nil, []byte(body))
}

// items are the statuses of the items of a response, with the reasons.
func items(t *testing.T, a inputtest.Response) (errors bool, all []string) {
	t.Helper()
	var response struct {
		Errors bool
		Items  []map[string]struct {
			Index  string `json:"_index"`
			ID     string `json:"_id"`
			Status int
			Error  *struct{ Type, Reason string }
		}
	}
	if err := json.Unmarshal([]byte(a.Body), &response); err != nil || a.Status != http.StatusOK {
		t.Fatalf("%+v: %v", a, err)
	}
	for _, it := range response.Items {
		for action, r := range it {
			text := fmt.Sprintf("%s %s %d", action, r.Index, r.Status)
			if r.Error != nil {
				text += " " + r.Error.Reason
			}
			if r.ID == "" {
				t.Errorf("no id: %+v", it)
			}
			all = append(all, text)
		}
	}
	return response.Errors, all
}

func TestBulk(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}}, httpserver.Options{})
	configured := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}, ConfiguredService: true}, httpserver.Options{})
	line := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s, TimeFrom: input.TimeLine}}, httpserver.Options{})
	const at = "2026-11-18T11:06:40Z"
	for name, c := range map[string]struct {
		address, path, body string
		want, items         []string
	}{
		"documents": {
			address, "/_bulk",
			`{"create":{"_index":"a"}}` + "\n" + `{"@timestamp":"` + at + `","level":"warn", "m": "\u2713"}` + "\r\n\n" + `{ "index" : { "_id" : "7", "_index" : "b \"c\"" } }` + "\n" + `{"time":1795000000}`,
			[]string{`web ` + at + ` WARN [a] {"@timestamp":"` + at + `","level":"warn", "m": "\u2713"}` + "\r", `web ` + at + ` - [b "c"] {"time":1795000000}`},
			[]string{"create a 201", `index b "c" 201`},
		},
		"index of the path": {
			address, "/logs-x/_bulk?filter_path=errors", `{"create":{}}` + "\n" + `{"timestamp":1795000000000}` + "\n",
			[]string{`web ` + at + ` - [logs-x] {"timestamp":1795000000000}`},
			[]string{"create logs-x 201"},
		},
		"order of times": {
			address, "/_bulk", `{"index":{}}` + "\n" + `{"time":"2026-11-18T11:00:00Z","timestamp":"2026-11-18T11:01:00Z","@timestamp":"` + at + `"}` + "\n" +
				`{"index":{}}` + "\n" + `{"time":"2026-11-18T11:00:00Z","timestamp":"` + at + `"}` + "\n" + `{"index":{}}` + "\n" + `{"@timestamp":"never","ts":"` + at + `"}` + "\n",
			[]string{
				`web ` + at + ` - [-] {"time":"2026-11-18T11:00:00Z","timestamp":"2026-11-18T11:01:00Z","@timestamp":"` + at + `"}`,
				`web ` + at + ` - [-] {"time":"2026-11-18T11:00:00Z","timestamp":"` + at + `"}`,
				`web ` + at + ` - [-] {"@timestamp":"never","ts":"` + at + `"}`,
			},
			[]string{"index  201", "index  201", "index  201"},
		},
		"time of the line": {
			line, "/_bulk", `{"index":{}}` + "\n" + `{"time":"` + at + `","@timestamp":"2026-11-18T11:00:00Z"}` + "\n",
			[]string{`web ` + at + ` - [-] {"time":"` + at + `","@timestamp":"2026-11-18T11:00:00Z"}`},
			[]string{"index  201"},
		},
		"services": {
			address, "/_bulk", `{"index":{}}` + "\n" + `{"app":"a","service":{"id":1,"name":"B C"},"ts":1795000000}` + "\n" + `{"index":{}}` + "\n" + `{"app":"a","service.name":"c","ts":1795000000}` + "\n" +
				`{"index":{}}` + "\n" + `{"service":"d","service_name":"e","ts":1795000000}` + "\n" + `{"index":{}}` + "\n" + `{"service":7,"app":"a","ts":1795000000}` + "\n",
			[]string{
				`b-c ` + at + ` - [-] {"app":"a","service":{"id":1,"name":"B C"},"ts":1795000000}`, `c ` + at + ` - [-] {"app":"a","service.name":"c","ts":1795000000}`,
				`e ` + at + ` - [-] {"service":"d","service_name":"e","ts":1795000000}`, `a ` + at + ` - [-] {"service":7,"app":"a","ts":1795000000}`,
			},
			[]string{"index  201", "index  201", "index  201", "index  201"},
		},
		"configured service": {
			configured, "/_bulk", `{"index":{}}` + "\n" + `{"app":"a","ts":1795000000}` + "\n", []string{`web ` + at + ` - [-] {"app":"a","ts":1795000000}`}, []string{"index  201"},
		},
		"rejected": {
			address, "/_bulk", `{"delete":{"_index":"x","_id":"1"}}` + "\n" + `{"update":{"_index":"x","_id":"1"}}` + "\n" + `{"doc":{}}` + "\n" + `{"create":{}}` + "\n" + `[1]` + "\n" +
				`{"create":{}}` + "\n" + `{"ts":1795000000}` + "\n",
			[]string{`web ` + at + ` - [-] {"ts":1795000000}`},
			[]string{
				"delete x 400 delete is not supported: records cannot be changed", "update x 400 update is not supported: records cannot be changed",
				"create  400 the document is not a JSON object", "create  201",
			},
		},
		"nothing": {address, "/_bulk", "\n", nil, nil},
	} {
		failed, got := items(t, post(t, c.address, c.path, c.body))
		if diff := cmp.Diff(c.items, got); diff != "" || failed != (name == "rejected") {
			t.Errorf("%s: errors %t, (-want +got)\n%s", name, failed, diff)
		}
		if diff := cmp.Diff(c.want, s.TakeLines()); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// Of a request that is rejected as a whole nothing is stored.
func TestRejected(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}, Limits: httpserver.Limits{MaxBody: 1 << 20}}, httpserver.Options{})
	good := `{"create":{}}` + "\n{}\n"
	for name, c := range map[string]struct {
		encoding, body, reason string
		status                 int
	}{
		"no action":       {"", good + "{}\n{}\n", `line 3: \"{}\" is not an action`, 400},
		"unknown action":  {"", good + `{"get":{}}` + "\n{}\n", `unknown action \"get\"`, 400},
		"text":            {"", "hello\n", "is not an action", 400},
		"action no list":  {"", `{"create":1}` + "\n{}\n", "is not an action", 400},
		"no document":     {"", good + `{"create":{}}`, "line 3: no document follows the action", 400},
		"pretty document": {"", good + `{"create":{}}` + "\n{\n\"a\": 1\n}\n", "is not an action", 400},
		"oversized":       {"", strings.Repeat(" ", 1<<20+1), "too large", 413},
		"many items":      {"", strings.Repeat("{\"delete\":{}}\n", 70000), "", 200},
		"cut gzip":        {"gzip", string(inputtest.Gzip(t, good)[:20]), "bad request body", 400},
		"encoding":        {"br", good, "not supported", 415},
	} {
		got := do(t, http.MethodPost, address, "/_bulk", http.Header{"Content-Encoding": {c.encoding}}, []byte(c.body))
		if got.Status != c.status || !strings.Contains(got.Body, c.reason) {
			t.Errorf("%s: %.300v, want %d %s", name, got, c.status, c.reason)
		}
	}
	for status, err := range map[int]error{429: input.ErrBusy, 503: errors.New("the disk is gone")} {
		s.Fail("web", err)
		if got := post(t, address, "/_bulk", good); got.Status != status || got.Retry != "5" || strings.Contains(got.Body, "disk") {
			t.Errorf("%v: %+v", err, got)
		}
	}
	s.Fail("", nil)
	if got := s.TakeLines(); got != nil {
		t.Errorf("rejected, but stored: %q", got)
	}
}

// What was stored of a request of several services is not stored again; with a key all of it.
func TestRepeated(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}}, httpserver.Options{})
	body := []byte(`{"create":{}}` + "\n" + `{"app":"a"}` + "\n" + `{"create":{}}` + "\n" + `{"app":"b"}` + "\n")
	for _, header := range []http.Header{nil, {httpserver.KeyHeader: {"1"}}} {
		s.Fail("b", input.ErrBusy)
		if got := do(t, http.MethodPost, address, "/_bulk", header, body); got.Status != 429 {
			t.Errorf("%+v", got)
		}
		s.Fail("", nil)
		want := 2
		do(t, http.MethodPost, address, "/_bulk", header, body)
		if header != nil {
			do(t, http.MethodPost, address, "/_bulk", header, body)
		}
		if got := s.TakeLines(); len(got) != want {
			t.Errorf("%q", got)
		}
	}
}

// The requests that clients send first have responses.
func TestProbes(t *testing.T) {
	t.Parallel()
	address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: inputtest.NewSink()}}, httpserver.Options{})
	for request, want := range map[string]string{
		"GET /":                       `"number":"` + bulk.Version + `"`,
		"HEAD /":                      "",
		"GET /_license":               `"status":"active"`,
		"GET /_xpack":                 `"ilm"`,
		"GET /_cluster/health":        `"green"`,
		"GET /_ilm/policy/filebeat":   "{}",
		"HEAD /_index_template/x":     "",
		"PUT /_index_template/x":      `"acknowledged":true`,
		"PUT /_template/x":            `"acknowledged":true`,
		"PUT /_ilm/policy/x":          `"acknowledged":true`,
		"GET /_data_stream/x":         "{}",
		"PUT /_ingest/pipeline/x":     `"acknowledged":true`,
		"PUT /_component_template/xy": `"acknowledged":true`,
	} {
		method, path, _ := strings.Cut(request, " ")
		if got := do(t, method, address, path, nil, nil); got.Status != 200 || !strings.Contains(got.Body, want) {
			t.Errorf("%s: %+v", request, got)
		}
	}
}

func TestClientLibrary(t *testing.T) {
	t.Parallel()
	dir := inputtest.Modules(t, "senders-http", "@elastic/elasticsearch")
	const count = 500
	s := inputtest.NewSink()
	address := serve(t, httpserver.IntakeOptions{Options: input.Options{Sink: s}}, httpserver.Options{Login: httpserver.Login{Tokens: []string{"aWQ6a2V5"}}})
	inputtest.Send(t, dir, "http://"+address, count, "aWQ6a2V5")
	var want []string
	for i := range count {
		at := time.Unix(1795000000, 0).Add(time.Duration(i) * time.Millisecond).UTC()
		level := []string{"info", "error"}[i%2]
		for _, index := range []string{"logs", "helper"} {
			want = append(want, fmt.Sprintf(`shop-cart %s %s [%s] {"@timestamp":"%s","service":{"name":"Shop Cart"},"log.level":"%s","message":"order %d \"failed\" ✓","time":"never"}`,
				at.Format(time.RFC3339Nano), strings.ToUpper(level), index, at.Format("2006-01-02T15:04:05.000Z"), level, i))
		}
	}
	got := s.TakeLines()
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%.3000s", diff)
	}
}

// Responses are JSON, and every record is a line of the request.
func FuzzBulk(f *testing.F) {
	f.Add([]byte(`{"create":{"_index":"a","_id":"b"}}` + "\n" + `{"@timestamp":"2026-11-18T11:06:40Z","service":{"name":"x"}}` + "\n"))
	f.Add([]byte(`{"delete":{}}` + "\n" + `{"update":{}}` + "\n" + `{"a":1}` + "\n" + `{"index":{"_index":"\ud800\""}}` + "\n" + `{"app":"\u00e4\n"}`))
	f.Add([]byte(`{"index":{}}` + "\n" + `{"time":{}}` + "\n" + `{"index":{` + "\n" + `{`))
	s := inputtest.NewSink()
	h := handler(f, httpserver.IntakeOptions{Options: input.Options{Sink: s}, Limits: httpserver.Limits{MaxBody: 1 << 16}})
	mux := http.NewServeMux()
	h.Register(mux)
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, bulk.Path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		if !json.Valid(w.Body.Bytes()) {
			t.Errorf("no JSON: %q", w.Body.Bytes())
		}
		if got := s.TakeLines(); len(got) > bytes.Count(body, []byte{'\n'})+1 {
			t.Errorf("%d records", len(got))
		}
	})
}

func BenchmarkBulk(b *testing.B) {
	h := handler(b, httpserver.IntakeOptions{Options: input.Options{Sink: inputtest.Discard{}}})
	mux := http.NewServeMux()
	h.Register(mux)
	document := `{"@timestamp":"2026-11-18T11:06:40.123Z","level":"info","msg":"request served","path":"/api/orders/12345","status":200,"ms":12}` + "\n"
	body := []byte(strings.Repeat(`{"create":{"_index":"logs"}}`+"\n"+document, 8000))
	b.SetBytes(int64(8000 * len(document)))
	b.ReportAllocs()
	for b.Loop() {
		r, _ := http.NewRequestWithContext(b.Context(), http.MethodPost, bulk.Path, bytes.NewReader(body))
		mux.ServeHTTP(inputtest.DiscardResponse{}, r)
	}
}
