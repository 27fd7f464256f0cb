package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/loggen"
)

// The range of what fillShop stores.
const (
	shopFrom = "2026-11-20T14:00:00Z"
	shopTo   = "2026-11-20T15:00:00Z"
)

// server is a running logq serve.
type server struct {
	target
	*process
	url   string // of the API, with a slash
	token string
}

// serve starts logq serve over a store.
func (s target) serve(t *testing.T, args ...string) *server {
	t.Helper()
	p := startProcess(t, programPath("logq"), nil, append(cleanEnv(t), s.env...),
		append([]string{"serve", "--store", s.store, "--listen", "127.0.0.1:0"}, args...)...)
	return &server{target: s, process: p, url: "http://" + p.address(t, "serving") + "/loki/api/v1/"}
}

// request is a request to the API; params are names and values in turns.
func (s *server) request(t *testing.T, path string, params ...string) *http.Request {
	t.Helper()
	form := url.Values{}
	for i := 0; i < len(params); i += 2 {
		form.Add(params[i], params[i+1])
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path+"?"+form.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	return r
}

// try asks the API.
func (s *server) try(t *testing.T, path string, params ...string) (status int, body []byte, err error) {
	t.Helper()
	answer, err := http.DefaultClient.Do(s.request(t, path, params...))
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(answer.Body)
	return answer.StatusCode, body, err
}

// ask asks the API for an answer with status 200.
func (s *server) ask(t *testing.T, path string, params ...string) []byte {
	t.Helper()
	status, body, err := s.try(t, path, params...)
	if err != nil || status != http.StatusOK {
		t.Fatalf("%s %q: %v, status %d\n%s\n%s", path, params, err, status, body, s.tail())
	}
	return body
}

// inShop are parameters with the range of fillShop.
func inShop(params ...string) []string { return append(params, "start", shopFrom, "end", shopTo) }

// answer is an answer to a query; the results are compared as text.
type answer struct {
	Status string
	Data   struct {
		ResultType string
		Result     json.RawMessage
		Stats      struct {
			Summary struct{ TotalBytesProcessed, TotalLinesProcessed int64 }
		}
	}
}

func decode[T any](t *testing.T, text []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
	return v
}

// results is the type and the results of an answer, without statistics, which have times.
func results(t *testing.T, text []byte) string {
	t.Helper()
	a := decode[answer](t, text)
	if a.Status != "success" {
		t.Fatalf("%.300s", text)
	}
	return a.Data.ResultType + " " + string(a.Data.Result)
}

// ql is the answer of logq ql -o loki, which may be empty.
func (s target) ql(t *testing.T, args ...string) []byte {
	t.Helper()
	r := s.command(t, nil, append([]string{"logq", "ql", "-o", "loki", "--from", shopFrom, "--to", shopTo}, args...)...)
	if r.status > 1 {
		t.Fatalf("logq ql %q: status %d\n%s", args, r.status, r.errs)
	}
	return r.out
}

// entry is a record of an answer.
type entry struct {
	time int64
	line string
}

// entries are the records of an answer, in the order of time, backward if asked for.
func entries(t *testing.T, text []byte, backward bool) (all []entry) {
	t.Helper()
	for _, stream := range decode[[]struct{ Values [][2]string }](t, decode[answer](t, text).Data.Result) {
		for _, v := range stream.Values {
			at, err := strconv.ParseInt(v[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, entry{at, v[1]})
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int {
		if backward {
			a, b = b, a
		}
		return int(a.time - b.time)
	})
	return all
}

// lines are the lines of records, sorted.
func lines(all []entry) string {
	var texts []string
	for _, e := range all {
		texts = append(texts, e.line+"\n")
	}
	slices.Sort(texts)
	return strings.Join(texts, "")
}

// shopBytes is the usual size of what fillShop stores for shop.
const shopBytes = 1_200_000

// fillShop stores records of three services: shop's are JSON in several segments of two instances, web's have
// equal times, pay's are for those who may read it.
func fillShop(t *testing.T, s target, size int64) {
	t.Helper()
	start, err := time.Parse(time.RFC3339, shopFrom)
	if err != nil {
		t.Fatal(err)
	}
	for i, instance := range []string{"vm-1", "vm-2"} {
		var text bytes.Buffer
		if err := loggen.Write(&text, loggen.Options{Kind: "json", Size: size / 2, Start: start.Add(time.Duration(i) * time.Microsecond), Span: 50 * time.Minute, Seed: uint64(7 + i)}); err != nil {
			t.Fatal(err)
		}
		s.ship(t, "shop", text.String(), "--instance", instance, "--flush-size", fmt.Sprint(size/40), "--bucket", "5m")
	}
	var web, pay strings.Builder
	levels := []string{"INFO", "WARN", "ERROR", "DEBUG"}
	for i := range 400 {
		at := start.Add(time.Duration(i/7) * time.Second).Format(time.RFC3339)
		fmt.Fprintf(&web, "%s %s request %d took=%dms route=/r%d\n", at, levels[i%4], i, i%50, i%3)
		fmt.Fprintf(&pay, "%s %s card %d took=%dms\n", at, levels[i%4], i, i%50)
	}
	s.ship(t, "web", web.String(), "--instance", "vm-1")
	s.ship(t, "pay", pay.String(), "--instance", "vm-1")
}

// served are queries of all kinds: what they are about exists.
func served() (logs, metrics []string) {
	logs = []string{
		`{service_name="web"}`,
		`{service_name=~"web|pay", level="error"} |= "1"`,
		`{service_name="shop"} | json | status >= 500`,
		`{service="shop", instance="vm-2"} |~ "user-1[0-9]{3}" | json | line_format "{{.user}} {{.status}}"`,
		`{service_name="web"} | logfmt | took > 20ms | keep route`,
		`{service_name="none"}`,
	}
	metrics = []string{
		`sum by (level) (count_over_time({service_name="shop"}[5m]))`,
		`sum by (service_name, level) (rate({service_name=~".+"}[10m]))`,
		`sum by (status) (count_over_time({service_name="shop"} | json [10m]))`,
		`quantile_over_time(0.9, {service_name="shop"} | json | unwrap duration_ms [10m]) by (method)`,
		`topk(2, sum by (route) (sum_over_time({service_name="web"} | logfmt | unwrap duration(took) [1h])))`,
		`sum(rate({service_name="shop", level="error"}[5m])) / sum(rate({service_name="shop"}[5m]))`,
		`absent_over_time({service_name="none"}[5m])`,
		`vector(1) + vector(1)`,
		`1 + 1`,
	}
	return logs, metrics
}

// What a running server answers is what the commands print over the same range.
func TestServe(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s target) {
		fillShop(t, s, shopBytes)
		server := s.serve(t, "--metrics")
		t.Run("logs", server.testLogs)
		t.Run("metrics", server.testMetrics)
		t.Run("pages", server.testPages)
		t.Run("labels", server.testLabels)
		t.Run("volumes", server.testVolumes)
		t.Run("fields", server.testFields)
	})
}

func (s *server) testLogs(t *testing.T) {
	logs, _ := served()
	for _, q := range logs {
		for direction, args := range map[string][]string{"forward": {q}, "BACKWARD": {"--newest", q}} {
			want := results(t, s.ql(t, args...))
			got := s.ask(t, "query_range", inShop("query", q, "limit", "5000", "direction", direction)...)
			if diff := cmp.Diff(want, results(t, got)); diff != "" {
				t.Errorf("%s, %s: %s", q, direction, diff)
			}
		}
	}
	got := s.ask(t, "query_range", inShop("query", `{service_name="web"}`, "limit", "5000")...)
	want := s.must(t, "logq", "query", "-s", "web", "--from", shopFrom, "--to", shopTo, "-o", "raw")
	same(t, "logq query", sortedLines(string(want)), lines(entries(t, got, false)))
	if len(entries(t, got, false)) != 400 {
		t.Errorf("%d records, want 400", len(entries(t, got, false)))
	}
}

func sortedLines(text string) string {
	all := slices.Collect(strings.Lines(text))
	slices.Sort(all)
	return strings.Join(all, "")
}

func (s *server) testMetrics(t *testing.T) {
	_, metrics := served()
	for _, q := range metrics {
		if diff := cmp.Diff(results(t, s.ql(t, q)), results(t, s.ask(t, "query", "query", q, "time", shopTo))); diff != "" {
			t.Errorf("%s: %s", q, diff)
		}
		want := results(t, s.ql(t, "--step", "5m", q))
		for _, step := range []string{"300", "5m", "300000ms"} {
			if diff := cmp.Diff(want, results(t, s.ask(t, "query_range", inShop("query", q, "step", step)...))); diff != "" {
				t.Errorf("%s: %s", q, diff)
			}
		}
	}
	// The counts are those of logq stats, whose ranges include their start where windows of LogQL include their end.
	want, later := map[string]string{}, strings.NewReplacer("Z", ".000000001Z")
	for line := range strings.Lines(string(s.must(t, "logq", "stats", "-s", "shop", "--from", later.Replace(shopFrom), "--to", later.Replace(shopTo), "--by", "level", "-o", "csv"))) {
		if level, n, ok := strings.Cut(strings.TrimSpace(line), ","); ok && level != "level" {
			want[strings.ToLower(level)] = n
		}
	}
	got := map[string]string{}
	a := decode[answer](t, s.ask(t, "query", "query", `sum by (level) (count_over_time({service_name="shop"}[1h]))`, "time", shopTo))
	for _, one := range decode[[]struct {
		Metric map[string]string
		Value  [2]any
	}](t, a.Data.Result) {
		got[one.Metric["level"]], _ = one.Value[1].(string)
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 4 {
		t.Errorf("logq stats: %s", diff)
	}
}

// testPages asks for pages as logcli does: the next one begins at the last time, and what is known of that is left out.
func (s *server) testPages(t *testing.T) {
	const limit = 16
	for _, q := range []string{`{service_name="web"}`, `{service_name=~"web|pay"} |= "took=1"`} {
		for _, backward := range []bool{false, true} {
			first, err := time.Parse(time.RFC3339, shopFrom)
			if err != nil {
				t.Fatal(err)
			}
			start, end, direction := first.UnixNano(), first.Add(time.Hour).UnixNano(), "forward"
			if backward {
				direction = "backward"
			}
			var all, last []entry
			for {
				page := entries(t, s.ask(t, "query_range", "query", q, "limit", strconv.Itoa(limit), "direction", direction,
					"start", strconv.FormatInt(start, 10), "end", strconv.FormatInt(end, 10)), backward)
				if len(page) > limit {
					t.Fatalf("a page of %d records", len(page))
				}
				fresh := slices.DeleteFunc(slices.Clone(page), func(e entry) bool { return slices.Contains(last, e) })
				all = append(all, fresh...)
				if len(fresh) == 0 {
					break
				}
				at := page[len(page)-1].time
				last = slices.DeleteFunc(slices.Clone(page), func(e entry) bool { return e.time != at })
				if backward {
					end = at + 1
				} else {
					start = at
				}
			}
			want := entries(t, s.ql(t, q), false)
			same(t, q+" "+direction, lines(want), lines(all))
			if !slices.IsSortedFunc(all, func(a, b entry) int {
				if backward {
					a, b = b, a
				}
				return int(a.time - b.time)
			}) {
				t.Errorf("%s: pages are not in the order %s", q, direction)
			}
		}
	}
	// A page behind the end is empty.
	got := s.ask(t, "query_range", "query", `{service_name="web"}`, "start", shopTo, "end", shopTo)
	if results(t, got) != "streams []" {
		t.Errorf("%s", got)
	}
}

func (s *server) testLabels(t *testing.T) {
	type list struct{ Data []string }
	for path, want := range map[string][]string{
		"labels":                                 {"instance", "level", "service_name"},
		"label/service_name/values":              {"pay", "shop", "web"},
		"label/instance/values":                  {"vm-1", "vm-2"},
		"label/level/values":                     {"debug", "error", "info", "warn"},
		"label/none/values":                      {},
		`label/instance/values?query={a="b"}`:    {},
		`label/service/values`:                   {"pay", "shop", "web"},
		`label/instance/values?query={level!=""`: nil,
	} {
		path, query, _ := strings.Cut(path, "?query=")
		params := inShop()
		if query != "" {
			params = append(params, "query", query)
		}
		if want == nil {
			if status, _, err := s.try(t, path, params...); status != http.StatusBadRequest || err != nil {
				t.Errorf("%s: status %d, %v", query, status, err)
			}
			continue
		}
		if diff := cmp.Diff(want, decode[list](t, s.ask(t, path, params...)).Data); diff != "" {
			t.Errorf("%s %s: %s", path, query, diff)
		}
	}
	var services []string
	for line := range strings.Lines(string(s.must(t, "logq", "services"))) {
		if fields := strings.Fields(line); fields[0] != "SERVICE" {
			services = append(services, fields[0])
		}
	}
	if diff := cmp.Diff([]string{"pay", "shop", "web"}, services); diff != "" {
		t.Errorf("logq services: %s", diff)
	}
	series := decode[struct{ Data []map[string]string }](t, s.ask(t, "series", inShop("match[]", `{service_name="web"}`, "match[]", `{service_name="pay", level="warn"}`)...)).Data
	if len(series) != 5 {
		t.Errorf("series: %v", series)
	}
	detected := decode[struct {
		DetectedLabels []struct {
			Label       string
			Cardinality int
		}
	}](t, s.ask(t, "detected_labels", inShop()...)).DetectedLabels
	found := map[string]int{}
	for _, l := range detected {
		found[l.Label] = l.Cardinality
	}
	if diff := cmp.Diff(map[string]int{"service_name": 3, "level": 4, "instance": 2}, found); diff != "" {
		t.Errorf("detected_labels: %s", diff)
	}
}

func (s *server) testVolumes(t *testing.T) {
	for service, selector := range map[string]string{"shop": `{service_name="shop"}`, "web": `{service_name="web"}`} {
		counted := strings.TrimSpace(string(s.must(t, "logq", "query", "--count", "-s", service, "--from", shopFrom, "--to", shopTo)))
		stats := decode[struct{ Streams, Chunks, Entries, Bytes int64 }](t, s.ask(t, "index/stats", inShop("query", selector)...))
		if strconv.FormatInt(stats.Entries, 10) != counted || stats.Streams < 4 || stats.Chunks == 0 {
			t.Errorf("%s: %+v, logq counts %s", service, stats, counted)
		}
		// Without the newlines; an estimate counts the source of each record.
		n, err := strconv.Atoi(counted)
		if err != nil {
			t.Fatal(err)
		}
		text := float64(len(s.must(t, "logq", "query", "-o", "raw", "-s", service, "--from", shopFrom, "--to", shopTo)) - n)
		for path, params := range map[string][]string{"index/volume": nil, "index/volume_range": {"step", "10m"}} {
			sum := 0.0
			a := decode[answer](t, s.ask(t, path, append(inShop("query", selector), params...)...))
			for _, one := range decode[[]struct {
				Metric map[string]string
				Value  []any
				Values [][]any
			}](t, a.Data.Result) {
				if one.Metric["service_name"] != service {
					t.Errorf("%s: volume of %v", service, one.Metric)
				}
				points := one.Values
				if one.Value != nil {
					points = append(points, one.Value)
				}
				for _, p := range points {
					text, _ := p[1].(string)
					n, err := strconv.ParseFloat(text, 64)
					if err != nil {
						t.Fatal(err)
					}
					sum += n
				}
			}
			if diff := (sum - text) / float64(n); !(diff > -1 && diff < 20) {
				t.Errorf("%s: %s is %.0f bytes, %d messages have %.0f", service, path, sum, n, text)
			}
		}
	}
}

func (s *server) testFields(t *testing.T) {
	fields := decode[struct {
		Fields []struct{ Label string }
	}](t, s.ask(t, "detected_fields", inShop("query", `{service_name="shop"}`, "line_limit", "5000")...)).Fields
	got := []string{}
	for _, f := range fields {
		got = append(got, strings.TrimSuffix(f.Label, "_extracted"))
	}
	want := []string{"detected_level", "source"}
	for line := range strings.Lines(string(s.must(t, "logq", "fields", "-s", "shop", "--from", shopFrom, "--to", shopTo, "-o", "csv", "--top", "0"))) {
		if name, _, _ := strings.Cut(line, ","); name != "name" {
			want = append(want, strings.TrimPrefix(name, "message."))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 10 {
		t.Errorf("logq fields: %s", diff)
	}
	values := decode[struct{ Values []string }](t, s.ask(t, "detected_field/method/values", inShop("query", `{service_name="shop"}`, "line_limit", "5000")...)).Values
	slices.Sort(values)
	if diff := cmp.Diff([]string{"DELETE", "GET", "POST", "PUT"}, values); diff != "" {
		t.Errorf("values: %s", diff)
	}
	levels := decode[struct{ Values []string }](t, s.ask(t, "detected_field/detected_level/values", inShop("query", `{service_name="shop"}`, "line_limit", "5000")...)).Values
	if !slices.Contains(levels, "info") {
		t.Errorf("values of detected_level: %v", levels)
	}

	counts := map[string]int64{}
	for _, p := range decode[struct {
		Data []struct {
			Pattern string
			Samples [][2]int64
		}
	}](t, s.ask(t, "patterns", inShop("query", `{service_name="shop"}`, "step", "10m")...)).Data {
		for _, sample := range p.Samples {
			counts[p.Pattern] += sample[1]
		}
	}
	var counted, expected int64
	for pattern, n := range counts {
		counted += n
		query := fmt.Sprintf(`sum(count_over_time({service_name="shop"} |> %q [1d]))`, pattern)
		a := decode[answer](t, s.ask(t, "query", "query", query, "time", shopTo))
		found := decode[[]struct{ Value []any }](t, a.Data.Result)
		if len(found) != 1 {
			t.Fatalf("%s: %s", query, a.Data.Result)
		}
		if m, err := strconv.ParseInt(fmt.Sprint(found[0].Value[1]), 10, 64); err != nil || m < n {
			t.Errorf("%s is %v, the pattern counts %d; error %v", query, found[0].Value, n, err)
		}
	}
	for line := range strings.Lines(string(s.must(t, "logq", "patterns", "-s", "shop", "--from", shopFrom, "--to", shopTo, "-o", "json"))) {
		expected += decode[struct{ Count int64 }](t, []byte(line)).Count
	}
	if counted != expected || len(counts) < 3 {
		t.Errorf("%d patterns of %d records, logq patterns counts %d", len(counts), counted, expected)
	}
}
