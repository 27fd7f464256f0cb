package loki_test

import (
	stdcmp "cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/logql/engine"
	"logstow/serve/loki"
)

const own = "/logstow/api/v1/"

// askOwn asks an endpoint that Loki does not have, about all records of the world.
func askOwn(t *testing.T, w *fake, endpoint string, params url.Values, change ...func(*loki.Options)) *httptest.ResponseRecorder {
	t.Helper()
	if !params.Has("start") {
		params.Set("start", "2026-03-04T11:00:00Z")
		params.Set("end", "2026-03-04T12:00:00Z")
	}
	opts := loki.Options{View: w.view, Now: fixedNow}
	for _, c := range change {
		c(&opts)
	}
	rec := httptest.NewRecorder()
	loki.New(opts).ServeHTTP(rec, httptest.NewRequest("GET", own+endpoint+"?"+params.Encode(), nil))
	return rec
}

// An estimate is of all ranges that a query reads: those of its windows, with their offsets.
func TestEstimate(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]struct {
		segments, records int
	}{
		`{service_name="web"}`:                                              {1, 3},
		`{service_name="web"} | json | status = 503`:                        {1, 3},
		`sum(count_over_time({service_name="api"}[1m]))`:                    {1, 3},
		`count_over_time({service_name="web"}[1h] offset 1d)`:               {1, 0},
		`topk(2, rate({service_name="web"}[5m]))`:                           {1, 3},
		`rate({service_name="web"}[5m]) / rate({service_name=~".+"}[5m])`:   {2, 9},
		`label_replace(rate({service_name="web"}[1m]), "a", "b", "c", "d")`: {1, 3},
		`vector(1)`: {0, 0},
	} {
		rec := askOwn(t, world(), "estimate", url.Values{"query": {query}})
		var got struct {
			Segments, Records int
			Bytes             int64
			CostUSD           float64 `json:"cost_usd"`
			Free              bool
		}
		if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil {
			t.Fatalf("%s: %d %s", query, rec.Code, rec.Body)
		}
		if got.Segments != want.segments || got.Records != want.records || got.Bytes != int64(100*want.records) || got.CostUSD != float64(want.segments)/4 || !got.Free {
			t.Errorf("%s: %+v", query, got)
		}
	}
	if rec := askOwn(t, world(), "estimate", url.Values{"query": {"{"}}); rec.Code != 400 || !strings.Contains(rec.Body.String(), "parse error") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

// Records come in their order, one a line, across streams.
func TestRecords(t *testing.T) {
	t.Parallel()
	all := url.Values{"query": {`{service_name=~".+"}`}, "direction": {"forward"}}
	rec := askOwn(t, world(), "records", all)
	if rec.Code != 200 || rec.Header().Get("Content-Type") != "application/x-ndjson" {
		t.Fatalf("%d %v", rec.Code, rec.Header())
	}
	type record struct {
		Time    string
		Labels  map[string]string
		Source  string
		Line    string
		Bytes   int
		Invalid bool
		Parsed  map[string]string
	}
	read := func(text string) (found []record) {
		t.Helper()
		for line := range strings.Lines(text) {
			var one record
			if err := json.Unmarshal([]byte(line), &one); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			found = append(found, one)
		}
		return found
	}
	found, lines := read(rec.Body.String()), world().lines
	if len(found) != len(lines) {
		t.Fatalf("%d records", len(found))
	}
	for i, one := range found {
		valid := strings.ToValidUTF8(lines[i].text, "\ufffd")
		if one.Time != lines[i].at.Format("2006-01-02T15:04:05.000000000Z07:00") || one.Labels["service_name"] != lines[i].service ||
			one.Labels["level"] != lines[i].level || one.Source != "stdout" || one.Bytes != 0 || one.Invalid != (valid != lines[i].text) {
			t.Errorf("%+v, want %+v", one, lines[i])
		}
		if strings.ReplaceAll(one.Line, "\ufffd\ufffd", "\ufffd") != valid {
			t.Errorf("%q, want %q", one.Line, valid)
		}
	}

	raw := askOwn(t, world(), "records", url.Values{"query": all["query"], "direction": {"forward"}, "format": {"raw"}, "download": {"1"}})
	var want strings.Builder
	for _, l := range lines {
		want.WriteString(l.text + "\n")
	}
	if raw.Body.String() != want.String() || raw.Header().Get("Content-Disposition") != `attachment; filename="logs-20260304T110000Z.log"` {
		t.Errorf("%v\n%q", raw.Header(), raw.Body)
	}

	newest := read(askOwn(t, world(), "records", url.Values{"query": all["query"], "limit": {"2"}}).Body.String())
	if len(newest) != 2 || newest[0].Line != lines[5].text {
		t.Errorf("the newest: %+v", newest)
	}
	parsed := read(askOwn(t, world(), "records", url.Values{"query": {`{service_name="web"} | json | status = 503`}}).Body.String())
	if len(parsed) != 1 || parsed[0].Parsed["path"] != "/buy" {
		t.Errorf("parsed: %+v", parsed)
	}
	none := askOwn(t, world(), "records", url.Values{"query": {`{service_name="none"}`}})
	if none.Code != 200 || none.Body.Len() != 0 {
		t.Errorf("none: %d %q", none.Code, none.Body)
	}
}

// A long line is cut between characters, and its length is in the answer.
func TestRecordsMaxLine(t *testing.T) {
	t.Parallel()
	w := &fake{lines: []line{{now.Add(-1), "web", "info", "a", "aé€\U0001f600z"}}}
	for most, want := range map[string]string{"1": "a", "2": "a", "3": "aé", "5": "aé", "6": "aé€", "9": "aé€", "10": "aé€\U0001f600"} {
		var got struct {
			Line    string
			Bytes   int
			Invalid bool
		}
		rec := askOwn(t, w, "records", url.Values{"query": {`{service_name="web"}`}, "max_line": {most}})
		if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil || got.Line != want || got.Bytes != 11 || got.Invalid {
			t.Errorf("%s: %s", most, rec.Body)
		}
	}
	if rec := askOwn(t, w, "records", url.Values{"query": {`{service_name="web"}`}, "max_line": {"11"}}); strings.Contains(rec.Body.String(), "bytes") {
		t.Errorf("%s", rec.Body)
	}
}

// Mistakes have a status, before anything is sent; a failure afterwards ends the connection.
func TestRecordsErrors(t *testing.T) {
	t.Parallel()
	for _, params := range []url.Values{
		{"query": {"{"}},
		{"query": {`rate({service_name="web"}[1m])`}},
		{"query": {`{service_name="web"}`}, "format": {"xml"}},
		{"query": {`{service_name="web"}`}, "max_line": {"0"}},
		{"query": {`{service_name="web"}`}, "limit": {"-1"}},
		{"query": {`{service_name="web"}`}, "direction": {"sideways"}},
		{"query": {`{service_name="web"}`}, "start": {"2026-03-04T12:00:00Z"}, "end": {"2026-03-04T11:00:00Z"}},
	} {
		if rec := askOwn(t, world(), "records", params); rec.Code != 400 || rec.Header().Get("Content-Disposition") != "" {
			t.Errorf("%v: %d %s", params, rec.Code, rec.Body)
		}
	}
	defer func() {
		if recover() != http.ErrAbortHandler { //nolint:errorlint // the value that net/http compares with
			t.Error("the answer looks complete")
		}
	}()
	askOwn(t, world(), "records", url.Values{"query": {`{service_name="web"}`}}, func(o *loki.Options) {
		o.View = func(context.Context) loki.Backend { return &broken{world()} }
	})
}

// broken fails behind its records.
type broken struct{ *fake }

func (b *broken) InOrder(ctx context.Context, sel engine.Selection, emit func(*engine.Record) error) error {
	return stdcmp.Or(b.fake.InOrder(ctx, sel, emit), errors.New("cannot read a block"))
}

// attributed sets the attributes of records.
type attributed struct {
	*fake
	attributes string
}

func (a *attributed) InOrder(ctx context.Context, sel engine.Selection, emit func(*engine.Record) error) error {
	return a.fake.InOrder(ctx, sel, func(r *engine.Record) error {
		r.Attributes = []byte(a.attributes)
		return emit(r)
	})
}

// Attributes are fields of records, also beside fields of their text.
func TestAttributesOfRecords(t *testing.T) {
	t.Parallel()
	w := &attributed{world(), `{"http.route":"/cart","status":"own","resource":{"k8s.pod.name":"p"},"user":{"id":7}}`}
	w.lines = []line{{now.Add(-time.Minute), "web", "error", "a-1", `192.0.2.7 - - [04/Mar/2026:11:59:00 +0000] "GET /cart HTTP/1.1" 503 17`}}
	for query, found := range map[string]bool{
		`{service_name="web"}`: true, `{service_name="web"} | k8s_pod_name="p"`: true, `{service_name="web"} | user_id="8"`: false,
	} {
		rec := askOwn(t, w.fake, "records", url.Values{"query": {query}}, func(o *loki.Options) {
			o.View = func(context.Context) loki.Backend { return w }
		})
		if !found && rec.Body.Len() == 0 {
			continue
		}
		var one struct{ Fields map[string]string }
		if err := json.Unmarshal(rec.Body.Bytes(), &one); err != nil {
			t.Fatal(query, err)
		}
		want := map[string]string{
			"http_route": "/cart", "k8s_pod_name": "p", "user_id": "7", "status": "own",
			"ip": "192.0.2.7", "time": "04/Mar/2026:11:59:00 +0000", "method": "GET", "path": "/cart", "protocol": "HTTP/1.1", "bytes": "17",
		}
		if diff := cmp.Diff(want, one.Fields); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", query, diff)
		}
	}
}

// Fields of text are members of records, and structured metadata of clients that have categories.
func TestFieldsOfText(t *testing.T) {
	t.Parallel()
	w := world()
	w.lines = []line{
		{now.Add(-time.Minute), "web", "error", "a-1", `192.0.2.7 - - [04/Mar/2026:11:59:00 +0000] "GET /cart HTTP/1.1" 503 17`},
		{now.Add(-time.Second), "web", "info", "a-1", `{"status":200}`},
	}
	want := map[string]any{
		"ip": "192.0.2.7", "time": "04/Mar/2026:11:59:00 +0000", "method": "GET", "path": "/cart", "protocol": "HTTP/1.1", "status": "503", "bytes": "17",
	}
	query := url.Values{"query": {`{service_name="web"} | status!="404"`}, "direction": {"forward"}}
	var records []map[string]any
	for line := range strings.Lines(askOwn(t, w, "records", query).Body.String()) {
		var one map[string]any
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		records = append(records, one)
	}
	if len(records) != 2 || cmp.Diff(want, records[0]["fields"]) != "" || records[1]["fields"] != nil {
		t.Errorf("%v", records)
	}
	follow := url.Values{"query": query["query"], "limit": {"2"}, "delay_for": {"0"}, "start": {hourAgo}}.Encode()
	for parameters, wanted := range map[string]any{"&categorize=1&repeats=1": true, "&categorize=1": nil} {
		marks := map[any]any{} // by level
		for _, stream := range next(t, following(t, &fake{lines: w.lines}, follow+parameters, nil, nil)).Streams {
			marks[stream.Stream["level"]] = stream.Values[0][2].(map[string]any)["text"]
		}
		if diff := cmp.Diff(map[any]any{"error": wanted, "info": nil}, marks); diff != "" {
			t.Errorf("tail with %s: (-want +got)\n%s", parameters, diff)
		}
	}
	for _, header := range []string{"categorize-labels", ""} {
		r := httptest.NewRequest(http.MethodGet, "/loki/api/v1/query_range?"+query.Encode(), nil)
		r.Header.Set("X-Loki-Response-Encoding-Flags", header)
		rec := httptest.NewRecorder()
		api(w, nil).ServeHTTP(rec, r)
		if got := strings.Contains(rec.Body.String(), `"protocol":"HTTP/1.1"`); got != (header != "") {
			t.Errorf("%q: %s", header, rec.Body)
		}
	}
}
