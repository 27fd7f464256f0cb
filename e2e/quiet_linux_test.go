package e2e

import (
	"encoding/json"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"logstow/compaction"
	"logstow/internal/test/effort"
)

// quietMemory is what a server takes at most for metadata of a month of 200 compacted services.
const quietMemory = 256 << 20

// requestsOf are the listings and reads in what --explain prints.
func requestsOf(t *testing.T, explained string) (list, get int) {
	t.Helper()
	m := regexp.MustCompile(`requests: (\d+) list, (\d+) get`).FindStringSubmatch(explained)
	if m == nil {
		t.Fatalf("no requests in %s", explained)
	}
	list, _ = strconv.Atoi(m[1])
	get, _ = strconv.Atoi(m[2])
	return list, get
}

// A month of quiet services, which ship a small segment every hour, becomes one output a day of each. What looks at the month then
// makes few requests, and takes little memory.
func TestLongQuietServices(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "stores a month of 20 services")
	const days = 30
	services := effort.Cases{Full: 20, Long: 200}.N()
	dir := filepath.Join(t.TempDir(), "store")
	s := target{name: "local", store: dir, dir: dir}
	start := time.Date(2026, 9, 16, 0, 0, 0, 0, time.UTC) // of two calendar months
	fillSegments(t, dir, start, days*24*time.Hour, services, days*24)
	from, to := start.Format(time.RFC3339), start.AddDate(0, 0, days).Format(time.RFC3339)
	compact := func() (r compaction.Report) {
		t.Helper()
		got := s.command(t, nil, "shipper", "compact", "--from", from, "--to", to, "--max-age", "36500d", "--grace", "0s", "-o", "json")
		if err := json.Unmarshal(got.out, &r); err != nil || got.status != 0 {
			t.Fatalf("status %d: %s%s", got.status, got.out, got.errs)
		}
		return r
	}
	if r := compact(); r.Inputs != int64(services*days*24) || r.Removed != r.Inputs {
		t.Errorf("%+v", r)
	}
	blobs := 0
	if err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".log") {
			blobs++
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	r := compact()
	t.Logf("%d blobs of %d; %d listings of a run with nothing to do", blobs, services*days*24, r.Requests.List)
	if most := services*days + services; blobs > most {
		t.Errorf("%d blobs, at most %d expected", blobs, most)
	}
	if most := int64(2*2*services + 3); r.Requests.List > most || r.Requests.Get > 0 {
		t.Errorf("%+v with nothing to do, at most %d listings expected", r.Requests, most)
	}

	identifier := traceOf(0, 300, 1)
	for pattern, want := range map[string]int{identifier: 1, strings.Repeat("0", len(identifier)): 0} {
		got := s.command(t, nil, "logq", "query", "-s", "service-000", "--from", from, "--to", to, "--explain", pattern)
		list, get := requestsOf(t, got.errs)
		t.Logf("%d lines: %d listings, %d reads", want, list, get)
		if got.status != 1-want || strings.Count(string(got.out), pattern) != want || list > 4 || get > 40 {
			t.Errorf("status %d, %s%s", got.status, got.out, got.errs)
		}
	}

	server := s.serve(t)
	for _, params := range [][]string{
		{"labels"},
		{"series", "match[]", "{}"},
		{"index/volume", "query", `{service_name=~".+"}`},
		{"index/volume_range", "query", `{service_name=~".+"}`, "step", "86400"},
	} {
		if answer := server.ask(t, params[0], append(params[1:], "start", from, "end", to)...); strings.Contains(string(answer), `"result":[]`) {
			t.Errorf("%s: %s", params[0], answer)
		}
	}
	checkPeak(t, "logq serve", memoryPeak(server.cmd.Process.Pid), quietMemory)
}
