package storage_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/logql/engine"
	"logstow/logql/storage"
	"logstow/record"
)

// shipLines stores lines as records of one segment.
func shipLines(w *world, lines ...string) {
	var records []record.Record
	for i, line := range lines {
		records = append(records, record.Record{Time: origin().UnixNano() + int64(i), Source: "app", Message: []byte(line)})
	}
	w.ship("api", "a-0", records...)
}

func TestFields(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	shipLines(w,
		`{"status":500,"took":"12ms","user":{"id":"u1"},"level":"x"}`, `{"status":200.5,"took":"1.5s","user":{"id":"u2"},"size":"1KB"}`,
		`{"status":200.5,"took":"1h","user":{"id":"u2"},"ok":true}`, "no fields", `{"broken":`)
	w.ship("api", "b", record.Record{Time: origin().UnixNano() + 100, Message: []byte(`status=7 ok=yes msg="a b"`)})
	// A label that a stage of the query found is not found again under another name.
	for _, query := range []string{`{service_name="api"}`, `{service_name="api"} | json`, `{service_name="api"} | logfmt`} {
		fields, err := w.view(storage.Access{}).Fields(t.Context(), parse(t, query), origin().UnixNano(), origin().Add(time.Hour).UnixNano(), 100, 2)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, f := range fields {
			if f.Label != "no" && f.Label != "fields" {
				got[f.Label] = fmt.Sprint(f.Type, " ", f.Parser, " ", f.Path, " ", f.Cardinality, " ", f.Values)
			}
		}
		want := map[string]string{
			"detected_level":  "string  [] 1 [unknown]",
			"source":          "string  [] 2 [app -]",
			"level_extracted": "string json [level] 1 [x]",
			"msg":             "string logfmt [] 1 [a b]",
			"ok":              "string logfmt [] 2 [true yes]",
			"size":            "bytes json [size] 1 [1KB]",
			"status":          "float logfmt [] 3 [200.5 500]",
			"took":            "duration json [took] 3 [1.5s 12ms]",
			"user_id":         "string json [user id] 2 [u2 u1]",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", query, diff)
		}
	}
}

// Of several members with one label the first of the line counts, for the path as for the value.
func TestFieldsWithOneLabel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	shipLines(w, `{"b_c":1,"b":{"c":2}}`, `{"d":{"e":3},"d_e":4}`)
	fields, err := w.view(storage.Access{}).Fields(t.Context(), parse(t, `{service_name="api"}`), origin().UnixNano(), origin().Add(time.Hour).UnixNano(), 100, 2)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range fields {
		if f.Parser != "" {
			got[f.Label] = fmt.Sprint(f.Path, " ", f.Values)
		}
	}
	if diff := cmp.Diff(map[string]string{"b_c": "[b_c] [1]", "d_e": "[d e] [3]"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Fields of text need no parser, unless other records of the field need one.
func TestFieldsOfText(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	shipLines(w, `192.0.2.7 - ann [06/May/2024:22:00:00 +0000] "GET /cart?page=2 HTTP/1.1" 200 17`, `I0506 22:00:00.000001 1 a.go:7] "x" pod=dns`)
	w.ship("api", "b", record.Record{Time: origin().UnixNano() + 100, Message: []byte(`status=503`)})
	w.ship("api", "c", record.Record{Time: origin().UnixNano() + 102, Message: []byte(`retries=3 sent {"a":1}`)})
	w.parse = "pattern/1 '<_> took <took> of <user>'"
	w.ship("jobs", "a", record.Record{Time: origin().UnixNano() + 101, Message: []byte("job-1 took 12ms of bob x=1")})
	fields, err := w.view(storage.Access{}).Fields(t.Context(), parse(t, `{service_name=~".+"}`), origin().UnixNano(), origin().Add(time.Hour).UnixNano(), 100, 9)
	if err != nil {
		t.Fatal(err)
	}
	parsers := map[string]string{}
	for _, f := range fields {
		parsers[f.Label] = f.Parser
		// What the list offers finds records: with the parser that it names, or without.
		for _, value := range f.Values {
			text := fmt.Sprintf(`{service_name=~".+"} | %s=%q`, f.Label, value)
			if f.Parser != "" {
				text = fmt.Sprintf(`{service_name=~".+"} | %s | %s=%q`, f.Parser, f.Label, value)
			}
			got, err := answer(t.Context(), w.view(storage.Access{}), parse(t, text), engine.LogParams{From: origin().UnixNano(), To: origin().Add(time.Hour).UnixNano()})
			if err != nil || len(got) == 0 {
				t.Errorf("%s: %v %v", text, got, err)
			}
		}
	}
	want := map[string]string{
		"status": "logfmt", "x": "logfmt", "retries": "logfmt",
		"ip": "", "user": "", "time": "", "method": "", "path": "", "query": "", "protocol": "", "bytes": "", "severity": "", "thread": "", "file": "", "line": "", "message": "", "pod": "", "took": "",
		"detected_level": "", "source": "",
	}
	for name := range parsers { // logfmt takes words for names without values, of which it makes no labels
		if _, ok := want[name]; !ok {
			t.Errorf("field %s %q", name, parsers[name])
		}
	}
	if diff := cmp.Diff(want, parsers); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Values of 1 MiB take bounded memory.
func TestFieldsOfLargeValues(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "large values")
	w := newWorld(t, testrand.New(t))
	for i := range 50 {
		shipLines(w, fmt.Sprintf(`{"n":"%d","big":"%d%s"}`, i, i, strings.Repeat("x", 1<<20)))
	}
	fields, err := w.view(storage.Access{}).Fields(t.Context(), parse(t, `{service_name="api"}`), origin().UnixNano(), origin().Add(time.Hour).UnixNano(), 100, 100)
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, f := range fields {
		if f.Label == "n" && f.Cardinality != 50 {
			t.Errorf("%d values of n", f.Cardinality)
		}
		for _, v := range f.Values {
			size += len(v)
		}
	}
	if len(fields) != 4 || size > 33<<20 || size < 20<<20 {
		t.Errorf("%d fields with %d bytes", len(fields), size)
	}
}
