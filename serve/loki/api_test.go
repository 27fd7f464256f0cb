package loki_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"logstow/internal/hint"
	"logstow/logql/engine"
	"logstow/logql/storage"
	"logstow/query"
	"logstow/serve/loki"
	"logstow/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// all selects all records.
const all = `{service_name=~".+"}`

// ask sends a request, of the query if there is one.
func ask(a *loki.API, path, query string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/loki/api/v1/"+path+"?"+url.Values{"query": {query}}.Encode(), nil))
	return w
}

// A failure of storage fails every endpoint that reads, with the status of its kind.
func TestFailures(t *testing.T) {
	t.Parallel()
	unavailable := &store.Error{Op: "list", Object: "web/", Class: store.ErrUnavailable}
	for _, c := range []struct {
		err    error
		status int
		text   string
	}{
		{fmt.Errorf("%w: %w", storage.ErrIncomplete, unavailable), 503, "the answer would be incomplete: cannot list web/: storage unavailable\n"},
		{fmt.Errorf("%w: web/x: damaged", storage.ErrIncomplete), 500, "the answer would be incomplete: web/x: damaged\n"},
		{hint.Wrap(errors.New("access denied"), "grant the role"), 500, "access denied\nhint: grant the role\n"},
		{query.ErrBudget, 400, query.ErrBudget.Error() + "\n"},
		{fmt.Errorf("%w: 501 series", engine.ErrLimit), 400, "limit exceeded: 501 series\n"},
		{context.DeadlineExceeded, 504, "context deadline exceeded\n"},
	} {
		for path, q := range map[string]string{
			"query_range": `{service_name="web"}`, "query": `rate({service_name="web"}[1m])`, "labels": "", "label/level/values": "",
			"series": "", "index/stats": "{}", "index/volume": "{}", "index/volume_range": "{}", "detected_labels": "",
			"detected_fields": all, "detected_field/a/values": all, "patterns": "{}",
		} {
			var logged bytes.Buffer
			f := world()
			f.err = c.err
			a := api(f, func(o *loki.Options) {
				o.Logger = slog.New(slog.NewTextHandler(&logged, nil))
			})
			if path == "series" {
				path += "?match[]={}"
			}
			w := httptest.NewRecorder()
			join := "?"
			if strings.Contains(path, "?") {
				join = "&"
			}
			a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/loki/api/v1/"+path+join+url.Values{"query": {q}}.Encode(), nil))
			if w.Code != c.status || w.Body.String() != c.text || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
				t.Errorf("%s: %v is answered with %d %s %q", path, c.err, w.Code, w.Header().Get("Content-Type"), w.Body)
			}
			if strings.Contains(logged.String(), "service_name") {
				t.Errorf("the query is in the log: %s", &logged)
			}
			if server := c.status == 500 || c.status == 503; server != strings.Contains(logged.String(), "level=ERROR") {
				t.Errorf("status %d is logged as %q", c.status, &logged)
			}
		}
	}
}

// A query whose context ends fails with its cause.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	for cause, status := range map[error]int{
		context.DeadlineExceeded:               http.StatusGatewayTimeout,
		errors.New("the server ends"):          http.StatusInternalServerError,
		fmt.Errorf("day: %w", query.ErrBudget): http.StatusBadRequest,
		context.Canceled:                       499,
	} {
		f := world()
		f.reading = make(chan struct{})
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			<-f.reading
			cancel(cause)
		}()
		w := httptest.NewRecorder()
		api(f, nil).ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/loki/api/v1/query_range?query="+url.QueryEscape(all), nil))
		if w.Code != status || w.Body.String() != cause.Error()+"\n" {
			t.Errorf("%v is answered with %d %s", cause, w.Code, w.Body)
		}
	}
}

// A client that goes away ends the reading.
func TestClientGone(t *testing.T) {
	t.Parallel()
	for _, q := range []string{`{service_name="web"}`, `sum(rate({service_name="web"} |= "a" [1m]))`} {
		f := world()
		f.reading = make(chan struct{})
		ended := make(chan struct{})
		a := api(f, nil)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(ended)
			a.ServeHTTP(w, r)
		}))
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-f.reading
			cancel()
		}()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/loki/api/v1/query_range?query="+url.QueryEscape(q), nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := server.Client().Do(r); err == nil {
			resp.Body.Close()
			t.Errorf("answered with %d", resp.StatusCode)
		}
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Fatal("the read goes on")
		}
		server.Close()
	}
}

// brokenWriter fails behind its first bytes.
type brokenWriter struct {
	*httptest.ResponseRecorder
	left int
}

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errors.New("connection reset")
	}
	return w.ResponseRecorder.Write(p)
}

// An answer that cannot be completed never looks complete.
func TestAbort(t *testing.T) {
	t.Parallel()
	for _, encoding := range []string{"", "gzip"} {
		f := world()
		for range 300 {
			f.lines = append(f.lines, line{now.Add(-time.Second), "api", "info", "b-1", strings.Repeat("x", 1000)})
		}
		r := httptest.NewRequest(http.MethodGet, "/loki/api/v1/query_range?limit=1000&query="+url.QueryEscape(all), nil)
		r.Header.Set("Accept-Encoding", encoding)
		w := &brokenWriter{httptest.NewRecorder(), 10}
		func() {
			defer func() {
				if got := recover(); got != http.ErrAbortHandler { //nolint:errorlint // the very value
					t.Errorf("encoding %q: ended with %v", encoding, got)
				}
			}()
			api(f, nil).ServeHTTP(w, r)
		}()
	}
}

func TestGzip(t *testing.T) {
	t.Parallel()
	plain := ask(api(world(), nil), "query_range", all)
	r := httptest.NewRequest(http.MethodGet, "/loki/api/v1/query_range?query="+url.QueryEscape(all), nil)
	r.Header.Set("Accept-Encoding", "deflate, gzip")
	w := httptest.NewRecorder()
	api(world(), nil).ServeHTTP(w, r)
	if w.Header().Get("Content-Encoding") != "gzip" || w.Header().Get("Vary") != "Accept-Encoding" {
		t.Fatalf("headers: %v", w.Header())
	}
	zip, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(zip)
	if err != nil || string(text) != plain.Body.String() {
		t.Errorf("%v: %s\nwant\n%s", err, text, plain.Body)
	}
}

// The records of an answer are held up to a limit of bytes.
func TestResultBytes(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"", "categorize-labels"} {
		f := world()
		r := httptest.NewRequest(http.MethodGet, "/loki/api/v1/query_range?query="+url.QueryEscape(all), nil)
		r.Header.Set("X-Loki-Response-Encoding-Flags", header)
		w := httptest.NewRecorder()
		api(f, func(o *loki.Options) {
			o.Limits = loki.DefaultLimits()
			o.Limits.Bytes = 300
		}).ServeHTTP(w, r)
		if w.Code != 400 || !strings.Contains(w.Body.String(), "more than 300 bytes") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}

// logfmt --keep-empty has labels without a value, however they are asked for.
func TestEmptyLabels(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{"": `"flag":""`, "categorize-labels": `"parsed":{"flag":"","other":"1"}`} {
		f := world()
		f.lines = []line{{now.Add(-time.Second), "web", "info", "a-1", "flag other=1"}}
		r := httptest.NewRequest(http.MethodGet, "/loki/api/v1/query_range?query="+url.QueryEscape(all+" | logfmt --keep-empty"), nil)
		r.Header.Set("X-Loki-Response-Encoding-Flags", header)
		w := httptest.NewRecorder()
		api(f, nil).ServeHTTP(w, r)
		if w.Code != 200 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%q: %d %s", header, w.Code, w.Body)
		}
	}
}

// Labels count too: many streams with short records.
func TestResultLabels(t *testing.T) {
	t.Parallel()
	f := world()
	for i := range 100 {
		f.lines = append(f.lines, line{now.Add(-time.Second), "web", "info", strings.Repeat("x", 1000) + strconv.Itoa(i), "a"})
	}
	w := httptest.NewRecorder()
	api(f, func(o *loki.Options) {
		o.Limits = loki.DefaultLimits()
		o.Limits.Bytes = 90_000
	}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/loki/api/v1/query_range?limit=1000&query="+url.QueryEscape(all), nil))
	if w.Code != 400 || !strings.Contains(w.Body.String(), "more than 90000 bytes") {
		t.Errorf("%d", w.Code)
	}
}

func TestMethods(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{http.MethodPut, "/loki/api/v1/query_range", 405},
		{http.MethodDelete, "/loki/api/v1/labels", 405},
		{http.MethodPost, "/loki/api/v1/tail", 405},
		{http.MethodPost, "/loki/api/v1/push", 404},
		{http.MethodGet, "/", 404},
		{http.MethodPost, "/loki/api/v1/labels", 200},
	} {
		w := httptest.NewRecorder()
		api(world(), nil).ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil))
		if w.Code != c.status {
			t.Errorf("%s %s is answered with %d", c.method, c.path, w.Code)
		}
	}
}

// A form has a limit.
func TestFormSize(t *testing.T) {
	t.Parallel()
	for size, status := range map[int]int{1 << 20: http.StatusOK, 1<<20 + 1: http.StatusRequestEntityTooLarge} {
		body := "query=vector(1)&unknown="
		r := httptest.NewRequest(http.MethodPost, "/loki/api/v1/query", strings.NewReader(body+strings.Repeat("a", size-len(body))))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		api(world(), nil).ServeHTTP(w, r)
		if w.Code != status {
			t.Errorf("%d bytes are answered with %d %s", size, w.Code, w.Body)
		}
	}
}

// Fields are looked for in no more records than a query may return.
func TestFieldLines(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{"": "Fields of 100 lines", "line_limit=7": "Fields of 7 lines", "line_limit=100000": "Fields of 5000 lines"} {
		f := world()
		w := httptest.NewRecorder()
		api(f, nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/loki/api/v1/detected_fields?"+params+"&query="+url.QueryEscape(all), nil))
		if w.Code != 200 || len(f.calls) != 1 || f.calls[0] != want {
			t.Errorf("%s: %d, calls of %v", params, w.Code, f.calls)
		}
	}
}

// A range may have 11,000 steps, which are 11,001 points, before it is aligned.
func TestSteps(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]int{
		"start=0&end=11000&step=1":           http.StatusOK,
		"start=0.9&end=11001.8&step=1":       http.StatusOK,
		"start=0&end=11001&step=1":           http.StatusBadRequest,
		"start=0&end=11000.999&step=1":       http.StatusOK,
		"start=60&end=660060&step=1m":        http.StatusOK,
		"start=60&end=660120&step=1m":        http.StatusBadRequest,
		"start=1000&end=1011.001&step=0.001": http.StatusBadRequest,
	} {
		w := httptest.NewRecorder()
		api(world(), nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/loki/api/v1/query_range?"+params+"&query=vector(1)", nil))
		if w.Code != want {
			t.Errorf("%s: status %d, want %d: %.200s", params, w.Code, want, w.Body)
		}
	}
}

// Wrong requests read nothing.
func TestMistakesReadNothing(t *testing.T) {
	t.Parallel()
	for _, c := range requests {
		if !strings.HasPrefix(c.name, "bad-") || c.name == "bad-error-samples" {
			continue
		}
		f := world()
		w := httptest.NewRecorder()
		api(f, nil).ServeHTTP(w, c.http())
		if len(f.calls) > 0 || w.Code/100 != 4 {
			t.Errorf("%s: status %d, calls of %v", c.name, w.Code, f.calls)
		}
	}
}

// A client that pages with any limit, forward from behind the last record or backward up to it, gets each record once.
func TestPaging(t *testing.T) {
	t.Parallel()
	f := world()
	for limit := 1; limit <= len(f.lines)+1; limit++ {
		for _, direction := range []string{"forward", "BACKWARD"} {
			from, to, seen := now.Add(-time.Hour).UnixNano(), now.UnixNano(), map[string]int{}
			for page := 0; page <= len(f.lines); page++ {
				r := httptest.NewRequest(http.MethodGet, "/loki/api/v1/query_range?"+url.Values{
					"query": {all}, "direction": {direction}, "limit": {strconv.Itoa(limit)},
					"start": {strconv.FormatInt(from, 10)}, "end": {strconv.FormatInt(to, 10)},
				}.Encode(), nil)
				w := httptest.NewRecorder()
				api(f, nil).ServeHTTP(w, r)
				var got struct {
					Data struct{ Result []struct{ Values [][]string } }
				}
				if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
					t.Fatalf("%v: %s", err, w.Body)
				}
				first, last := to, from-1
				for _, stream := range got.Data.Result {
					for _, v := range stream.Values {
						at, err := strconv.ParseInt(v[0], 10, 64)
						if err != nil {
							t.Fatal(err)
						}
						seen[v[0]]++
						first, last = min(first, at), max(last, at)
					}
				}
				if direction == "forward" {
					from = last + 1
				} else {
					to = first
				}
			}
			for _, l := range f.lines {
				if n := seen[strconv.FormatInt(l.at.UnixNano(), 10)]; n != 1 {
					t.Errorf("%s, limit %d: the record of %v came %d times", direction, limit, l.at, n)
				}
			}
		}
	}
}

// The statistics have Loki's shape, with what the report has.
func TestStats(t *testing.T) {
	t.Parallel()
	clock := now
	a := api(world(), func(o *loki.Options) {
		o.Now = func() time.Time {
			at := clock
			clock = clock.Add(2 * time.Second)
			return at
		}
	})
	var got struct {
		Data struct {
			Stats map[string]map[string]any
		}
	}
	if err := json.Unmarshal(ask(a, "query_range", all).Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"totalBytesProcessed": 2000.0, "bytesProcessedPerSecond": 1000.0, "execTime": 2.0, "queueTime": 0.0,
		"totalEntriesReturned": 6.0, "totalLinesProcessed": 0.0, "subqueries": 0.0, "splits": 1.0, "shards": 0.0,
	} {
		if got := got.Data.Stats["summary"][name]; got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if chunks := got.Data.Stats["querier"]["store"].(map[string]any); chunks["totalChunksRef"] != 4.0 || chunks["totalChunksDownloaded"] != 2.0 {
		t.Errorf("chunks: %v", chunks)
	}
	for _, part := range []string{"ingester", "cache", "index"} {
		if got.Data.Stats[part] == nil {
			t.Errorf("no %s", part)
		}
	}
}

// What a request read is observed, also if it failed.
func TestObserve(t *testing.T) {
	t.Parallel()
	var uses []loki.Use
	f := world()
	a := api(f, func(o *loki.Options) {
		o.Observe = func(_ context.Context, u loki.Use) { uses = append(uses, u) }
	})
	ask(a, "label/level/values", "")
	f.err = errors.New("no")
	ask(a, "query_range", all)
	ask(a, "status/buildinfo", "")
	ask(a, "query_range", "{")
	if len(uses) != 2 {
		t.Fatalf("uses: %+v", uses)
	}
	if u := uses[0]; u.To != now.UnixNano() || u.From != now.Add(-6*time.Hour).UnixNano() || u.Report.BytesScanned != 2000 {
		t.Errorf("use: %+v", u)
	}
}
