package logmetrics_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"logstow/logmetrics"
	"logstow/record"
)

// open makes a set of definitions.
func open(t testing.TB, specs ...logmetrics.Spec) *logmetrics.Set {
	t.Helper()
	s := logmetrics.New("pod-1")
	apply(t, s, specs...)
	return s
}

func apply(t testing.TB, s *logmetrics.Set, specs ...logmetrics.Spec) {
	t.Helper()
	do, err := s.Prepare(specs)
	if err != nil {
		t.Fatal(err)
	}
	do()
}

// text is what Prometheus gets, without comments and the counts of series and skipped records that are 0.
func text(t testing.TB, s *logmetrics.Set) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s)
	response := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(response, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if response.Code != http.StatusOK {
		t.Fatal(response.Body)
	}
	var kept strings.Builder
	for line := range strings.Lines(response.Body.String()) {
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "logstow_") && (strings.HasSuffix(line, " 0\n") || strings.HasPrefix(line, "logstow_log_metric_series")) {
			continue
		}
		kept.WriteString(line)
	}
	return kept.String()
}

// want compares what Prometheus gets.
func want(t *testing.T, s *logmetrics.Set, lines ...string) {
	t.Helper()
	if diff := cmp.Diff(strings.Join(lines, "\n")+"\n", text(t, s)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// messages are records with these messages.
func messages(texts ...string) (all []record.Record) {
	for i, text := range texts {
		all = append(all, record.Record{Time: int64(i), Level: record.Info, Source: "app.log", Message: []byte(text)})
	}
	return all
}

func TestCounter(t *testing.T) {
	t.Parallel()
	s := open(t,
		logmetrics.Spec{Name: "all_total", Type: logmetrics.Counter},
		logmetrics.Spec{Name: "errors_total", Type: logmetrics.Counter, Where: "status >= 500 and service == 'web'", Labels: []string{"status", "http.method", "level", "service", "source", "instance"}},
		logmetrics.Spec{Name: "sent_kilobytes_total", Type: logmetrics.Counter, Value: "bytes", Scale: "0.001"},
		logmetrics.Spec{Name: "texts_total", Type: logmetrics.Counter, Where: "message contains 'one'", Labels: []string{"message.level"}},
	)
	s.Observe("web", "", messages(
		`{"status":500,"http":{"method":"GET"},"bytes":100,"level":"bad"}`,
		`{"status":503,"bytes":200}`,
		`status=500 http.method=GET bytes=1.5 level=bad`,
		`{"status":"500","bytes":"12"}`,
		`one`, `{"status":200,"bytes":-3,"one":null}`,
	))
	s.Observe("shop", "", messages(`{"status":500,"bytes":null}`))
	want(t, s,
		`all_total 7`,
		`errors_total{http_method="",instance="pod-1",level="INFO",service="web",source="app.log",status="503"} 1`,
		`errors_total{http_method="GET",instance="pod-1",level="INFO",service="web",source="app.log",status="500"} 2`,
		`logstow_log_metric_skipped_records_total{metric="sent_kilobytes_total",reason="no-number"} 4`,
		`sent_kilobytes_total 0.3015`,
		`texts_total{level=""} 2`,
	)
}

func TestGauge(t *testing.T) {
	t.Parallel()
	s := open(t, logmetrics.Spec{Name: "queue_length", Type: logmetrics.Gauge, Value: "length", Scale: "10", Labels: []string{"queue"}})
	s.Observe("web", "", messages("queue=a length=3", "queue=b length=-7", "queue=a length=5", "queue=c length=?"))
	want(t, s, `logstow_log_metric_skipped_records_total{metric="queue_length",reason="no-number"} 1`,
		`queue_length{queue="a"} 50`, `queue_length{queue="b"} -70`)
}

// A value that is a bound belongs to its bucket, whatever the scale.
func TestHistogram(t *testing.T) {
	t.Parallel()
	s := open(t, logmetrics.Spec{Name: "http_seconds", Type: logmetrics.Histogram, Value: "took_ms", Scale: "0.001", Buckets: []string{"0.1", "0.7", "1"}})
	want(t, s, `http_seconds_bucket{le="0.1"} 0`, `http_seconds_bucket{le="0.7"} 0`, `http_seconds_bucket{le="1"} 0`, `http_seconds_bucket{le="+Inf"} 0`,
		`http_seconds_sum 0`, `http_seconds_count 0`)
	s.Observe("web", "", messages("took_ms=100", "took_ms=100.001", "took_ms=700", "took_ms=1000", "took_ms=1e3", "took_ms=5000", "took_ms=-1"))
	want(t, s, `http_seconds_bucket{le="0.1"} 2`, `http_seconds_bucket{le="0.7"} 4`, `http_seconds_bucket{le="1"} 6`, `http_seconds_bucket{le="+Inf"} 7`,
		`http_seconds_sum 7.899001`, `http_seconds_count 7`)

	for scale, factor := range map[string]int64{"1": 1, "0.001": 1000, "1e-6": 1_000_000, "0.3": 0} {
		var bounds, values []string
		for i := int64(1); i <= 40; i++ {
			bounds = append(bounds, fmt.Sprintf("%d.%d", i/10, i%10))
			values = append(values, fmt.Sprintf("v=%d.%d", i*factor/10, i*factor%10))
		}
		if factor == 0 { // 0.3 * 1, 0.3 * 2 …
			bounds, values = nil, nil
			for i := 1; i <= 40; i++ {
				bounds, values = append(bounds, fmt.Sprintf("%d.%d", 3*i/10, 3*i%10)), append(values, fmt.Sprintf("v=%d", i))
			}
		}
		s := open(t, logmetrics.Spec{Name: "h", Type: logmetrics.Histogram, Value: "v", Scale: scale, Buckets: bounds})
		s.Observe("web", "", messages(values...))
		got := text(t, s)
		for i := range bounds {
			if line := fmt.Sprintf("le=%q} %d\n", strings.TrimSuffix(bounds[i], ".0"), i+1); !strings.Contains(got, line) {
				t.Fatalf("scale %s: no %s in\n%s", scale, line, got)
			}
		}
	}
}

// Sums are exact, and rounded once. Numbers beyond the limits of logq stats are none.
func TestSums(t *testing.T) {
	t.Parallel()
	s := open(t, logmetrics.Spec{Name: "a_total", Type: logmetrics.Counter, Value: "v"}, logmetrics.Spec{Name: "b_total", Type: logmetrics.Counter, Value: "w"},
		logmetrics.Spec{Name: "c_total", Type: logmetrics.Counter, Value: "x"}, logmetrics.Spec{Name: "d_total", Type: logmetrics.Counter, Value: "y"})
	for range 1000 {
		s.Observe("web", "", messages("v=9007199254740993 w=0.1 x=9223372036854775807"))
	}
	for _, y := range []string{"1e299", "1e300", "1e999999999", "-1e999999999", "1e-400", "0.1", "1e-300"} {
		s.Observe("web", "", messages("v=0 w=0 x=0 y="+y))
	}
	want(t, s, "a_total 9.007199254740993e+18", "b_total 100", "c_total 9.223372036854776e+21", "d_total 1e+299",
		`logstow_log_metric_skipped_records_total{metric="d_total",reason="no-number"} 1004`)
}

// The parser of the service finds the fields, and each chunk has its own.
func TestParsers(t *testing.T) {
	t.Parallel()
	s := open(t, logmetrics.Spec{Name: "all_total", Type: logmetrics.Counter, Labels: []string{"status"}})
	s.Observe("web", "pattern/1 '<status> <_>'", messages("200 a", "500 b"))
	s.Observe("web", "", messages(`10.0.0.1 - - [20/Nov/2026:15:04:06 +0000] "GET /cart HTTP/1.1" 502 12 "-" "curl/8"`, "status=200"))
	s.Observe("web", "none/1", messages("status=404"))
	s.Observe("web", "later/7", messages("status=301")) // as logq does with an unknown parser
	want(t, s, `all_total{status=""} 1`, `all_total{status="200"} 2`, `all_total{status="301"} 1`, `all_total{status="500"} 1`, `all_total{status="502"} 1`)
	for i := range 200 { // more than are kept
		s.Observe("web", fmt.Sprintf("pattern/1 'x%d<status> <_>'", i), messages(fmt.Sprintf("x%d9 a", i)))
	}
	if got := text(t, s); !strings.Contains(got, `all_total{status="9"} 200`) {
		t.Error(got)
	}
}

// What exceeds the limits is counted and left out; a higher limit makes place, a lower one removes nothing.
func TestLimits(t *testing.T) {
	t.Parallel()
	spec := logmetrics.Spec{Name: "all_total", Type: logmetrics.Counter, Labels: []string{"user"}, MaxSeries: 2}
	s := open(t, spec)
	four := messages("user=a", "user=b", "user=c", "user=a", "user="+strings.Repeat("x", 257))
	s.Observe("web", "", four)
	want(t, s, `all_total{user="a"} 2`, `all_total{user="b"} 1`,
		`logstow_log_metric_skipped_records_total{metric="all_total",reason="label-size"} 1`,
		`logstow_log_metric_skipped_records_total{metric="all_total",reason="max-series"} 1`)
	spec.MaxSeries = 3
	apply(t, s, spec)
	s.Observe("web", "", four)
	spec.MaxSeries = 1
	apply(t, s, spec)
	s.Observe("web", "", four)
	want(t, s, `all_total{user="a"} 6`, `all_total{user="b"} 3`, `all_total{user="c"} 2`,
		`logstow_log_metric_skipped_records_total{metric="all_total",reason="label-size"} 3`,
		`logstow_log_metric_skipped_records_total{metric="all_total",reason="max-series"} 1`)
}

// Labels that are no text are made text, and do not make two series of one.
func TestLabelsAreText(t *testing.T) {
	t.Parallel()
	s := open(t, logmetrics.Spec{Name: "all_total", Type: logmetrics.Counter, Labels: []string{"a", "b"}})
	s.Observe("web", "", messages("a=\xff b=x", "a=\xfe b=x", "a=� b=x", `{"a":"\u0000\"\n","b":true}`, `{"a":null,"b":[1,{"c":2}]}`, `b=x a=`, `b=x`))
	want(t, s, `all_total{a="",b="[1,{\"c\":2}]"} 1`, `all_total{a="",b="x"} 2`, "all_total{a=\"\x00\\\"\\n\",b=\"true\"} 1", `all_total{a="�",b="x"} 3`)
}

// A reload keeps the values of metrics that do not change, and those of others begin anew.
func TestReload(t *testing.T) {
	t.Parallel()
	kept := logmetrics.Spec{Name: "kept_total", Type: logmetrics.Counter, Labels: []string{"a"}}
	changed := logmetrics.Spec{Name: "changed_total", Type: logmetrics.Counter}
	s := open(t, changed, kept)
	s.Observe("web", "", messages("a=1 b=2", "a=1"))
	changed.Where, kept.Line = "has(b)", 7
	added := logmetrics.Spec{Name: "added_total", Type: logmetrics.Counter, Value: "b"}
	apply(t, s, kept, added, changed)
	s.Observe("web", "", messages("a=1 b=2", "a=1"))
	want(t, s, "added_total 2", "changed_total 1", `kept_total{a="1"} 4`, `logstow_log_metric_skipped_records_total{metric="added_total",reason="no-number"} 1`)
	if _, err := s.Prepare([]logmetrics.Spec{kept, {Name: "up", Type: logmetrics.Counter}}); err == nil || !strings.Contains(err.Error(), "log metric up: ") {
		t.Errorf("got %v", err)
	}
	if _, err := s.Prepare([]logmetrics.Spec{kept, kept}); err == nil {
		t.Error("two of a name are accepted")
	}
	want(t, s, "added_total 2", "changed_total 1", `kept_total{a="1"} 4`, `logstow_log_metric_skipped_records_total{metric="added_total",reason="no-number"} 1`)
	apply(t, s)
	s.Observe("web", "", messages("a=1"))
	if got := text(t, s); got != "" {
		t.Error(got)
	}
}

// Records may be counted by several goroutines while metrics are read and definitions change.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	spec := logmetrics.Spec{Name: "all_total", Type: logmetrics.Counter, Value: "v", Labels: []string{"a"}}
	s := open(t, spec)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 500 {
				s.Observe("web", "", messages(fmt.Sprintf("a=%d v=2", i%3)))
			}
		})
	}
	all.Go(func() {
		for range 50 {
			_ = text(t, s)
		}
	})
	for i := range 100 {
		apply(t, s, spec, logmetrics.Spec{Name: fmt.Sprintf("other_%d", i), Type: logmetrics.Counter})
	}
	all.Wait()
	apply(t, s, spec)
	want(t, s, `all_total{a="0"} 1336`, `all_total{a="1"} 1336`, `all_total{a="2"} 1328`)
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	good := logmetrics.Spec{Name: "a_seconds", Type: logmetrics.Histogram, Value: "v"}
	for wanted, change := range map[string]func(*logmetrics.Spec){
		`"1a": want letters`:                               func(s *logmetrics.Spec) { s.Name = "1a" },
		`"a:b": want letters`:                              func(s *logmetrics.Spec) { s.Name = "a:b" },
		`"logstow_x": names that begin`:                    func(s *logmetrics.Spec) { s.Name = "logstow_x" },
		`"go_x": names that begin`:                         func(s *logmetrics.Spec) { s.Name = "go_x" },
		`"gage": did you mean gauge?`:                      func(s *logmetrics.Spec) { s.Type = "gage" },
		`"x": want counter, gauge, histogram`:              func(s *logmetrics.Spec) { s.Type = "x" },
		"a histogram requires a value":                     func(s *logmetrics.Spec) { s.Value = "" },
		"level is not a field of the message":              func(s *logmetrics.Spec) { s.Value = "level" },
		"5m is a time step":                                func(s *logmetrics.Spec) { s.Value = "5m" },
		"buckets require a histogram":                      func(s *logmetrics.Spec) { s.Type, s.Buckets = logmetrics.Gauge, []string{"1"} },
		`"0x1" is not a number`:                            func(s *logmetrics.Spec) { s.Buckets = []string{"0x1"} },
		"want ascending bounds":                            func(s *logmetrics.Spec) { s.Buckets = []string{"1", "1.0"} },
		"101 buckets":                                      func(s *logmetrics.Spec) { s.Buckets = make([]string, 101) },
		`"-1": want a number above 0`:                      func(s *logmetrics.Spec) { s.Scale = "-1" },
		`"1/0" is not a number`:                            func(s *logmetrics.Spec) { s.Scale = "1/0" },
		"time cannot be used":                              func(s *logmetrics.Spec) { s.Where = `time > "2026-11-20"` },
		"at character":                                     func(s *logmetrics.Spec) { s.Where = `a >` },
		"time cannot be a label":                           func(s *logmetrics.Spec) { s.Labels = []string{"time"} },
		"le is reserved":                                   func(s *logmetrics.Spec) { s.Labels = []string{"le"} },
		"labels that begin with __":                        func(s *logmetrics.Spec) { s.Labels = []string{"__a"} },
		"a.b and a-b have the same label name a_b":         func(s *logmetrics.Spec) { s.Labels = []string{"a.b", "a-b"} },
		"level and message.level have the same label name": func(s *logmetrics.Spec) { s.Labels = []string{"level", "message.level"} },
		"11 labels, at most 10 allowed":                    func(s *logmetrics.Spec) { s.Labels = make([]string, 11) },
	} {
		bad := good
		change(&bad)
		if _, err := logmetrics.New("i").Prepare([]logmetrics.Spec{bad}); err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("got %v, want %s", err, wanted)
		}
	}
	clash := logmetrics.Spec{Name: "a_seconds_count", Type: logmetrics.Counter}
	if _, err := logmetrics.New("i").Prepare([]logmetrics.Spec{good, clash}); err == nil || !strings.Contains(err.Error(), "has the same name") {
		t.Errorf("got %v", err)
	}
}

// Whatever is logged, what Prometheus gets is valid.
func FuzzObserve(f *testing.F) {
	f.Add("web", "", []byte(`{"a":"b","v":12}`))
	f.Add("web", "regexp/1 '(?P<a>.)(?P<v>.)'", []byte("x1"))
	f.Add("web", "", []byte("a=\xff\x00 v=1e999999"))
	f.Fuzz(func(t *testing.T, service, parser string, message []byte) {
		s := open(t, logmetrics.Spec{Name: "c_total", Type: logmetrics.Counter, Value: "v", Labels: []string{"a", "service", "source"}},
			logmetrics.Spec{Name: "g", Type: logmetrics.Gauge, Value: "v", Where: "has(a)", Labels: []string{"a"}},
			logmetrics.Spec{Name: "h", Type: logmetrics.Histogram, Value: "v", Labels: []string{"a.b"}})
		for range 2 {
			s.Observe(service, parser, []record.Record{{Source: service, Message: message}})
			_ = text(t, s)
		}
	})
}

// BenchmarkObserve are three metrics of JSON lines.
func BenchmarkObserve(b *testing.B) {
	s := open(b,
		logmetrics.Spec{Name: "requests_total", Type: logmetrics.Counter, Where: "has(status)", Labels: []string{"status", "method"}},
		logmetrics.Spec{Name: "http_seconds", Type: logmetrics.Histogram, Where: "has(duration_ms)", Value: "duration_ms", Scale: "0.001", Labels: []string{"method"}},
		logmetrics.Spec{Name: "errors_total", Type: logmetrics.Counter, Where: "level >= 'error'", Labels: []string{"service"}},
	)
	line := []byte(`{"time":"2026-11-22T21:46:35.680722Z","level":"INFO","msg":"request served","method":"POST","path":"/api/v1/users/346188","status":200,"duration_ms":196.88,"bytes":87754,"trace_id":"b3ae37cd6bacc0c47ce56b5d84631efa","user":"user-11180"}`)
	records := make([]record.Record, 1000)
	for i := range records {
		records[i] = record.Record{Time: 1, Level: record.Info, Source: "app.log", Message: line}
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	b.ResetTimer()
	for i := 0; i < b.N; i += len(records) {
		s.Observe("web", "", records[:min(len(records), b.N-i)])
	}
}
