package metrics_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"logstow/buffer"
	"logstow/input/httpserver"
	"logstow/input/listen"
	"logstow/internal/price"
	"logstow/internal/test/storetest"
	"logstow/logmetrics"
	"logstow/metrics"
	"logstow/record"
	"logstow/store"
	"logstow/upload"
	"logstow/watch"
)

var update = flag.Bool("update", false, "write the golden files anew")

// fakeBuffer has given numbers.
type fakeBuffer struct {
	stats buffer.Stats
	err   error
}

func (b *fakeBuffer) Stats() buffer.Stats { return b.stats }
func (b *fakeBuffer) InQuarantine() int   { return 6 }
func (b *fakeBuffer) Err() error          { return b.err }

type fakeUploader struct{ outage error }

func (s fakeUploader) Outage() error { return s.outage }

func (fakeUploader) Stats() upload.Stats {
	return upload.Stats{Delivered: upload.Delivered{Segments: 4, StoredBytes: 2e9}, Conflicts: 2, Unindexed: 3}
}

func (fakeUploader) Services() map[string]upload.Delivered {
	return map[string]upload.Delivered{"web": {Segments: 3, Records: 30, RawBytes: 300, StoredBytes: 1e9}, "": {Segments: 1, StoredBytes: 1e9}}
}

func (fakeUploader) Limits() map[string]int {
	return map[string]int{"azblob://logs": 64, "azblob://audit": 4}
}

var start = time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)

// clock is set by tests.
type clock struct{ now time.Time }

func (c *clock) read() time.Time { return c.now }

func openLocal(t *testing.T) store.Store {
	t.Helper()
	return storetest.OpenLocal(t)
}

// full has every metric that there is, ten minutes after the start.
func full(t *testing.T) (*metrics.Metrics, store.Store) {
	t.Helper()
	inputs, requests, c := new(metrics.Inputs), metrics.NewRequests(), &clock{start}
	web := inputs.For("files", "web", "")
	web.Records.Add(40)
	web.Bytes.Add(400)
	web.Cut.Add(1)
	inputs.For("syslog", "sys", "udp://:514").Records.Add(2)
	inputs.For("syslog", "sys", "udp://:514").Dropped.Add(13)
	fromLogs := logmetrics.New("i")
	apply, err := fromLogs.Prepare([]logmetrics.Spec{{Name: "requests_total", Type: logmetrics.Counter, Labels: []string{"status"}}})
	if err != nil {
		t.Fatal(err)
	}
	apply()
	fromLogs.Observe("web", "", []record.Record{{Message: []byte("status=200")}})
	m := metrics.New(metrics.Options{
		Version: "v1", FromLogs: fromLogs, Uploader: fakeUploader{}, Inputs: inputs, Requests: requests, Now: c.read, Prices: price.Default(),
		Buffer: &fakeBuffer{stats: buffer.Stats{
			Open: 1, Waiting: 2, Sending: 3, Unindexed: 1, EntitiesDropped: 2, Disk: 500, Limit: 1000, Oldest: start.Add(9 * time.Minute),
			DroppedRecords: 7, LostRecords: 4, Replayed: 8, Damaged: 1, Failed: 1, Unsealed: 1, Quarantined: 5,
		}},
		Processed: func() map[string]int64 { return map[string]int64{"sample": 11, "redact:card": 12} },
		Expiries: func() map[string]time.Time {
			return map[string]time.Time{"azblob://logs": start.Add(time.Hour), "azblob://audit": start.Add(2 * time.Hour)}
		},
		Watches: func() watch.FlusherStats {
			return watch.FlusherStats{Watched: 2, Flushes: 14, Limited: 15, Failures: 16}
		},
	})
	c.now = start.Add(10 * time.Minute)
	return m, requests.Store(openLocal(t))
}

func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	mux := http.NewServeMux()
	m.Register(mux)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatal(w.Code, w.Body)
	}
	return w.Body.String()
}

// Everything that is promised by name and type; those of requests carry times and
// are compared without values.
func TestMetricsGolden(t *testing.T) {
	t.Parallel()
	m, st := full(t)
	if _, err := st.Blobs().Create(t.Context(), "web/1", make([]byte, 5000), store.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var kept []string
	for line := range strings.Lines(scrape(t, m)) {
		if strings.HasPrefix(line, "# HELP go_") || strings.HasPrefix(line, "# TYPE go_") {
			continue
		}
		if strings.HasPrefix(line, "# ") && strings.Contains(line, " logstow_") || strings.HasPrefix(line, "logstow_") {
			kept = append(kept, line)
		}
	}
	got := regexp.MustCompile(`(?m)^(logstow_storage_request_duration\S+) .*$`).ReplaceAllString(strings.Join(kept, ""), "$1 ?")
	got = regexp.MustCompile(`go_version="[^"]*"`).ReplaceAllString(got, `go_version="?"`)
	file := filepath.Join("testdata", "metrics.txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

func TestLint(t *testing.T) {
	t.Parallel()
	m, st := full(t)
	if _, err := st.Blobs().Create(t.Context(), "web/1", []byte("x"), store.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m.Collector())
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p.Metric, p.Text)
	}
}

// docs/reference.md names all metrics and no others, apart from those of logq serve, which package serve checks.
func TestDocumented(t *testing.T) {
	t.Parallel()
	var golden []byte
	for _, name := range []string{"metrics.txt", "compaction.txt", "export.txt"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		golden = append(golden, text...)
	}
	page, err := os.ReadFile(filepath.Join("..", "docs", "reference.md"))
	if err != nil {
		t.Fatal(err)
	}
	page, _, _ = bytes.Cut(page, []byte("\n## Metrics of logq serve\n"))
	names := func(pattern string, text []byte) (all []string) {
		for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			all = append(all, found[1])
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	if diff := cmp.Diff(names(`(?m)^# TYPE (logstow_\w+) `, golden), names("(?m)^\\| `(logstow_\\w+)", page)); diff != "" {
		t.Error(diff)
	}
}

// What ends in which status, and what counts as a retry.
func TestRequestStatus(t *testing.T) {
	t.Parallel()
	requests := metrics.NewRequests()
	m := metrics.New(metrics.Options{Buffer: &fakeBuffer{}, Uploader: fakeUploader{}, Requests: requests})
	for _, err := range []error{
		nil, context.Canceled, store.ErrExists, store.ErrNotFound, store.ErrNoContainer, store.ErrNoTable, store.ErrTableBusy,
		store.ErrRange, store.ErrInvalid, store.ErrUnusable, store.ErrAccessDenied, store.ErrThrottled, store.ErrUnavailable, store.ErrHeld, errors.New("?"),
	} {
		if err != nil {
			err = fmt.Errorf("create x: %w", &store.Error{Op: "create", Object: "x", Class: err})
		}
		_, _ = requests.Store(failing{openLocal(t), err}).Blobs().Create(t.Context(), "x", []byte("x"), store.CreateOptions{})
	}
	text := scrape(t, m)
	for _, want := range []string{
		`{operation="create",status="ok"} 1`, `status="canceled"} 1`, `status="exists"} 1`, `status="not_found"} 3`, `status="busy"} 1`,
		`status="invalid"} 2`, `status="unusable"} 1`, `status="access_denied"} 1`, `status="throttled"} 1`, `status="unavailable"} 1`, `status="held"} 1`, `status="failed"} 1`,
		"logstow_output_retries_total 3\n", "logstow_segment_size_bytes_count 1\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	if made := requests.Counts(); made.Create != 15 || made.Total() != 15 {
		t.Errorf("%+v", made)
	}
}

// failing fails every create, unless err is nil.
type failing struct {
	store.Store
	err error
}

func (f failing) Blobs() store.Blobs     { return failingBlobs{f.Store.Blobs(), f.err} }
func (f failing) Compacted() store.Blobs { return failingBlobs{f.Store.Compacted(), f.err} }

type failingBlobs struct {
	store.Blobs
	err error
}

func (f failingBlobs) Create(context.Context, string, []byte, store.CreateOptions) (string, error) {
	return "", f.err
}

// Every kind of request is seen, pages one by one.
func TestOperations(t *testing.T) {
	t.Parallel()
	requests := metrics.NewRequests()
	m := metrics.New(metrics.Options{Buffer: &fakeBuffer{}, Uploader: fakeUploader{}, Requests: requests})
	s := requests.Store(openLocal(t))
	ctx, blobs, tables := t.Context(), s.Blobs(), s.Tables()
	_, err := blobs.Create(ctx, "web/1", []byte("x"), store.CreateOptions{})
	_, readErr := blobs.Read(ctx, store.BlobRef{Name: "web/1"}, 0, 1)
	_, outputErr := s.Compacted().Create(ctx, "web/1", []byte("x"), store.CreateOptions{})
	key := store.Key{Partition: "p", Row: "r"}
	err = errors.Join(err, readErr, outputErr, tables.CreateTable(ctx, "seg1"), tables.Upsert(ctx, "seg1", []store.Entity{{Key: key}}),
		tables.Remove(ctx, "seg1", []store.Key{key}), tables.DropTable(ctx, "seg1"), blobs.Delete(ctx, store.AnyVersion("web/1")))
	for _, e := range blobs.List(ctx, "") {
		err = errors.Join(err, e)
	}
	for _, e := range blobs.ListPrefixes(ctx, "") {
		err = errors.Join(err, e)
	}
	for _, e := range tables.Tables(ctx, "seg") {
		err = errors.Join(err, e)
	}
	for _, e := range tables.Query(ctx, "none", store.Query{Partition: "p"}) {
		if !errors.Is(e, store.ErrNoTable) {
			t.Error(e)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	text := scrape(t, m)
	for _, want := range []string{
		`create",status="ok"} 2`, `read",status="ok"} 1`, `create_table",status="ok"} 1`, `upsert",status="ok"} 1`,
		`remove",status="ok"} 1`, `drop_table",status="ok"} 1`, `delete",status="ok"} 1`, `query",status="not_found"} 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	requests, b := metrics.NewRequests(), new(fakeBuffer)
	c, s := &clock{time.Now()}, new(fakeUploader)
	m := metrics.New(metrics.Options{Buffer: b, Uploader: s, Requests: requests, Now: c.read})
	server, err := httpserver.New(t.Context(), httpserver.Options{Endpoint: listen.Endpoint{Address: ":0"}}, m)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	expect := func(path string, status int, text string) {
		t.Helper()
		response, err := http.Get("http://" + server.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != status || !strings.Contains(string(body), text) {
			t.Errorf("%s: %d %q, %v; want %d %q", path, response.StatusCode, body, err, status, text)
		}
	}
	if !strings.HasPrefix(server.Addr().String(), "127.0.0.1:") {
		t.Error("listens on", server.Addr())
	}
	expect("/healthz", 200, "ok")
	expect("/readyz", 200, "ok")
	expect("/readyz?storage=0", 200, "ok")
	expect("/readyz?storage=1", 200, "ok")
	expect("/readyz?storage=yes", 400, "0 or 1")
	expect("/metrics", 200, "process_open_fds")
	b.stats.Unindexed, b.stats.EntitiesDropped = 12, 3
	expect("/readyz", 200, "ok\nindex: 12 entities waiting, 6 dropped")
	expect("/healthz", 200, "ok\n")
	s.outage = errors.New("no route to host")
	expect("/readyz", 200, "ok")
	expect("/readyz?storage=1", 503, "cannot store batches: no route to host")
	s.outage = nil
	expect("/else", 404, "")

	b.stats.Full = true
	expect("/readyz", 503, "full")
	b.stats.Full, b.stats.Disk, b.stats.Limit = false, 960, 1000
	expect("/readyz", 503, "full")
	if _, err := requests.Store(openLocal(t)).Blobs().Create(t.Context(), "x", []byte("x"), store.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	expect("/readyz", 200, "ok")
	expect("/readyz?storage=1", 503, "full")
	c.now = c.now.Add(6 * time.Minute)
	expect("/readyz", 503, "full")
	expect("/healthz", 200, "ok")

	b.err = errors.New("disk gone")
	expect("/healthz", 503, "disk gone")
	expect("/readyz", 503, "disk gone")
}

// The least there can be is a valid scrape too.
func TestMinimal(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Options{Buffer: &fakeBuffer{}, Uploader: fakeUploader{}})
	if text := scrape(t, m); !strings.Contains(text, "logstow_lag_seconds 0\n") || strings.Contains(text, "logstow_estimated") {
		t.Error(text)
	}
	var inputs metrics.Inputs
	inputs.For("a", "b", "").Records.Add(1)
	inputs.For("a", "c", "").Records.Add(2)
	inputs.For("a", "b", "").Records.Add(4)
	if total := inputs.Total(); total.Records != 7 || inputs.For("a", "b", "").Records.Load() != 5 {
		t.Errorf("%+v", total)
	}
}
