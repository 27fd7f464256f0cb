package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"logstow/internal/test/effort"
)

// The limits of results that docs/limits.md states for a server.
const (
	serveResultBytes = 64 << 20
	serveSamples     = 256 << 20
	serveKept        = 16 << 20
	// serveProcess is the memory of a server while it answers, samples included: its GOMEMLIMIT.
	serveProcess = 768 << 20
)

// shipSpread ships lines whose times are spread over a span from the start of the shop's logs.
func (s target) shipSpread(t *testing.T, service string, lines int, span time.Duration, text func(i int) string) {
	t.Helper()
	var b bytes.Buffer
	for i := range lines {
		b.WriteString(shopStart(t).Add(time.Duration(i) * span / time.Duration(lines)).Format(time.RFC3339))
		b.WriteString(text(i))
		b.WriteByte('\n')
	}
	if r := s.command(t, &b, "shipper", "run", "--once", "--service", service, "--buffer-dir", t.TempDir(), "-"); r.status != 0 {
		t.Fatal(r.errs)
	}
}

func shopStart(t *testing.T) time.Time {
	t.Helper()
	start, err := time.Parse(time.RFC3339, shopFrom)
	if err != nil {
		t.Fatal(err)
	}
	return start
}

// checkAnswer checks the status of a response and that it has a text.
func (s *server) checkAnswer(t *testing.T, want int, text, path string, params ...string) {
	t.Helper()
	status, body, err := s.try(t, path, params...)
	if err != nil || status != want || !bytes.Contains(body, []byte(text)) {
		t.Errorf("%q: %v, status %d, want %d with %q: %.300s", params, err, status, want, text, body)
	}
}

// Results of queries of a server are limited: records, samples, and those that are kept.
func TestServeResults(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "ships 80 MB, and queries them")
	s := target{name: "local", store: filepath.Join(t.TempDir(), "store")}
	const large, series, inOne, span = 1 << 20, 400, 10_000, 50 * time.Minute
	s.shipSpread(t, "large", serveResultBytes/large+8, span, func(int) string { return " INFO " + strings.Repeat("large ", large/6-10) })
	s.shipSpread(t, "many", 900*series, span, func(i int) string { return fmt.Sprintf(" k=%d v=%d", i%series, i) })
	s.shipSpread(t, "one", inOne, time.Second, func(i int) string { return fmt.Sprintf(" k=one v=%d", i) })
	s.shipSpread(t, "few", 4000, span, func(i int) string { return fmt.Sprintf(" INFO a=%d v=%d", i%20, i) })
	server := s.serve(t, "--metrics")

	// Records.
	server.checkAnswer(t, http.StatusOK, "large", "query_range", inShop("query", `{service_name="large"}`, "limit", fmt.Sprint(serveResultBytes/large-4))...)
	server.checkAnswer(t, http.StatusBadRequest, "more than", "query_range", inShop("query", `{service_name="large"}`, "limit", "5000")...)
	checkPeak(t, "logq serve with results of 64 MiB", memoryPeak(server.cmd.Process.Pid), serveProcess)

	// Samples: each series has memory for 10,000 steps.
	resetPeak(t, server.process)
	start := shopStart(t)
	server.checkSamples(t, `{service_name=~"many|one"} | logfmt | unwrap v [1m]`,
		"count(quantile_over_time(0.5, %s) by (k))", "sum(stddev_over_time(%s) by (k))",
		"start", start.Format(time.RFC3339), "end", start.Add(span).Format(time.RFC3339), "step", "0.3")

	// Results that are kept: those of the last queries are.
	const each, queries = 700 << 10, 40
	ask := func(i int) (kept bool) {
		t.Helper()
		before := metric(t, server.host(), "logstow_query_read_bytes_total")
		server.ask(t, "query_range", "query", fmt.Sprintf(`sum by (a) (count_over_time({service_name="few"} | logfmt | v >= %d [1h]))`, i),
			"start", start.Format(time.RFC3339), "end", start.Add(2*time.Hour).Format(time.RFC3339), "step", "3")
		return metric(t, server.host(), "logstow_query_read_bytes_total") == before
	}
	for i := range queries {
		if ask(i) {
			t.Errorf("query %d is not new", i)
		}
	}
	kept := 0
	for i := queries - 1; i >= 0; i-- {
		if ask(i) {
			kept++
		}
	}
	t.Logf("%d of %d results of %d KiB are kept", kept, queries, each>>10)
	if kept == 0 || kept > serveKept/each+1 {
		t.Errorf("%d of %d results are kept", kept, queries)
	}
}

// The samples of one series take as much memory as those of many.
func TestLongServeSamples(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Long, "ships 500 MB, and queries them")
	s := target{name: "local", store: filepath.Join(t.TempDir(), "store")}
	s.shipSpread(t, "many", 17_000_000, 50*time.Minute, func(i int) string { return fmt.Sprintf(" v=%d", i%1000) })
	s.serve(t).checkSamples(t, `{service_name="many"} | logfmt | unwrap v [1h]`,
		"quantile_over_time(0.5, %s) by ()", "sum(rate_counter(%s))",
		"start", "2026-11-20T14:50:00Z", "end", shopTo, "step", "60")
}

// checkSamples checks that a query of quantiles estimates, and that another query is rejected, as both have too many samples.
func (s *server) checkSamples(t *testing.T, samples, quantiles, other string, params ...string) {
	t.Helper()
	check := func(want int, text, query string) {
		t.Helper()
		s.checkAnswer(t, want, text, "query_range", append([]string{"query", fmt.Sprintf(query, samples)}, params...)...)
	}
	check(http.StatusOK, "quantiles are estimates within 1%", quantiles)
	check(http.StatusBadRequest, fmt.Sprintf("more than %d MiB of samples", serveSamples>>20), other)
	checkPeak(t, "logq serve with samples of 256 MiB", memoryPeak(s.cmd.Process.Pid), serveProcess)
}

// Queries of records of 16 MiB, as many at a time as may run, take the blocks in flight that all share, and one of each.
func TestServeLargeRecords(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "ships and queries 400 MB in records of 16 MiB")
	const records, size = 24, 16<<20 - 256
	s := target{name: "local", store: filepath.Join(t.TempDir(), "store")}
	file := filepath.Join(t.TempDir(), "large.log")
	writeLargeRecords(t, file, records, size)
	s.must(t, "shipper", "run", "--once", "--service", "api", "--max-record", "16MiB", "--buffer-dir", t.TempDir(), file)
	server := s.serve(t)
	var all sync.WaitGroup
	for i := range 2 * serveQueries {
		all.Go(func() {
			body := server.ask(t, "query_range", "query", fmt.Sprintf(`sum(count_over_time({service_name="api"} |= "record " != "not %d" [1h]))`, i),
				"start", "2026-11-20T15:00:00Z", "end", "2026-11-20T16:00:00Z", "step", "3600")
			if !bytes.Contains(body, fmt.Appendf(nil, `"%d"`, records)) {
				t.Errorf("%.300s", body)
			}
		})
	}
	all.Wait()
	checkPeak(t, "logq serve with four queries of records of 16 MiB", memoryPeak(server.cmd.Process.Pid), serveMemory)
}
