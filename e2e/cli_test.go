package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// summary reads the figures of the line with which a --once run ends.
func summary(t *testing.T, errs string) (creates, conflicts, segments int) {
	t.Helper()
	for l := range strings.Lines(errs) {
		var s struct{ Creates, Conflicts, Segments *int }
		if json.Unmarshal([]byte(l), &s) == nil && s.Creates != nil && s.Conflicts != nil && s.Segments != nil {
			return *s.Creates, *s.Conflicts, *s.Segments
		}
	}
	t.Fatalf("no summary line in %q", errs)
	return
}

const sample = `2026-11-20T15:04:05Z INFO started
2026-11-20T15:04:06Z ERROR reset a{2,3} by peer
2026-11-20T15:04:07Z WARN -q is no flag
2026-11-20T15:04:08Z INFO Reset aaa
2026-11-20T15:04:09Z FATAL out of memory
`

// TestCommandLine types queries as people do.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s := target{name: "local", store: dir, dir: dir}
	s.ship(t, "x", sample)
	s.ship(t, "y", "2026-11-20T15:04:05.5Z INFO other reset\n")
	window := []string{"--from", "2026-11-20", "--to", "2026-11-21", "-o", "raw"}
	for _, c := range []struct {
		args   string
		status int
		lines  []int // of sample, from 1; 0 is the line of y
	}{
		{"reset -s x", 0, []int{2}},
		{"-s x reset", 0, []int{2}},
		{"reset -s x -i", 0, []int{2, 4}},
		{"-i reset", 0, []int{0, 2, 4}},
		{"-s ? started", 0, []int{1}},
		{"-s nosuch reset", 1, nil},
		{"-s x -e a{2,3}", 0, []int{4}},
		{"-s x a{2,3}", 0, []int{2}},
		{"-s x -n5", 0, []int{1, 2, 3, 4, 5}},
		{"-s x -n 2", 0, []int{1, 2}},
		{"-s x -n2 --newest", 0, []int{5, 4}},
		{"-s x -- -q", 0, []int{3}},
		{"-s x -l error,fatal", 0, []int{2, 5}},
		{"-s x -l critical", 0, []int{5}},
		{"-s x -l warn+", 0, []int{2, 3, 5}},
		{"-s x -l warn+ -x memory", 0, []int{2, 3}},
		{"-s x reset peer", 0, []int{2}},
		{"-s x nothing", 1, nil},
		{"-q", 2, nil},
		{"--nope", 2, nil},
		{"-e (", 2, nil},
		{"-l loud", 2, nil},
		{"-o xml", 2, nil},
		{"--plan guess", 2, nil},
		{"--from later", 2, nil},
		{"--since 1h", 2, nil}, // together with --from
	} {
		args := append(append([]string{"logq", "query"}, window...), strings.Fields(c.args)...)
		r := s.command(t, nil, args...)
		var want strings.Builder
		all := append([]string{"2026-11-20T15:04:05.5Z INFO other reset"}, strings.Split(sample, "\n")...)
		for _, n := range c.lines {
			want.WriteString(all[n] + "\n")
		}
		if r.status != c.status || string(r.out) != want.String() {
			t.Errorf("logq query %s: status %d, want %d\n%s\n%s", c.args, r.status, c.status, r.out, r.errs)
		}
		if c.status == 2 && (r.errs == "" || strings.Contains(r.errs, "goroutine")) {
			t.Errorf("logq query %s: standard error %q", c.args, r.errs)
		}
	}
	r := s.command(t, nil, "logq", "query", "-s", "x", "--count", "--from", "2026-11-20", "--to", "2026-11-21")
	if string(r.out) != "5\n" || r.status != 0 {
		t.Errorf("--count: status %d, %q", r.status, r.out)
	}
	r = s.command(t, nil, "logq", "query", "-s", "x")
	if r.status != 1 || !strings.Contains(r.errs, "hour") || !strings.Contains(r.errs, "2026-11-20") {
		t.Errorf("no range: status %d, %q; want it reported, with the newest data's time", r.status, r.errs)
	}
}

// TestExplain wants the documented keys.
func TestExplain(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s target) {
		s.ship(t, "x", sample)
		r := s.command(t, nil, "logq", "query", "-s", "x", "--from", "2026-11-20", "--to", "2026-11-21", "-o", "json", "--explain", "reset")
		// An object of what is planned, then one of what was done.
		planned, done, found := strings.Cut(r.errs, "\n")
		if !found || !strings.Contains(planned, `"stage":"planned"`) {
			t.Fatalf("standard error %q", r.errs)
		}
		var e map[string]json.RawMessage
		if err := json.Unmarshal([]byte(done), &e); err != nil {
			t.Fatalf("%v in %q", err, r.errs)
		}
		for _, key := range []string{"plan", "prefixes", "segments_listed", "segments_read", "blocks_total", "blocks_read", "bytes_stored_read", "bytes_scanned", "requests", "cost_usd"} {
			if e[key] == nil {
				t.Errorf("no key %s in %s", key, r.errs)
			}
		}
		var requests map[string]int
		if err := json.Unmarshal(e["requests"], &requests); err != nil || requests["list"] == 0 || requests["get"] == 0 {
			t.Errorf("requests %s", e["requests"])
		}
	})
}

// TestStorageErrors wants one clear line and the documented status for what goes wrong.
func TestStorageErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "app.log")
	if err := os.WriteFile(file, []byte(sample), 0o600); err != nil {
		t.Fatal(err)
	}
	const secret = "c2VjcmV0LWNhbmFyeS1zZWNyZXQ="
	unreachable := target{store: "azblob://logs", env: []string{fmt.Sprintf("AZURE_STORAGE_CONNECTION_STRING=DefaultEndpointsProtocol=http;AccountName=a;AccountKey=%s;BlobEndpoint=http://%s/a;TableEndpoint=http://%s/a;", secret, closedAddress, closedAddress)}}
	local := target{store: filepath.Join(dir, "store")}
	nothing := target{store: filepath.Join(dir, "nothing")}
	for _, c := range []struct {
		name   string
		on     target
		args   []string
		status int
		say    string
	}{
		{"no store", target{}, []string{"logq", "query", "x"}, 2, "LOGSTOW_STORE"},
		{"no service", local, []string{"shipper", "run", "--once", file}, 2, "--service"},
		{"wrong service", local, []string{"shipper", "run", "--once", "--service", "Api!", file}, 2, "Api!"},
		{"wrong bucket", local, []string{"shipper", "run", "--once", "--service", "x", "--bucket", "7m", file}, 2, "7m"},
		{"missing file", local, []string{"shipper", "run", "--once", "--service", "x", file + ".nope"}, 3, "app.log.nope"},
		{"no store there", nothing, []string{"logq", "query", "x"}, 3, "nothing"},
		{"unknown scheme", target{store: "s3://logs"}, []string{"logq", "query", "x"}, 2, "s3://"},
		{"unreachable, shipping", unreachable, []string{"shipper", "run", "--once", "--retry-for", "1s", "--service", "x", file}, 3, closedAddress},
		{"unreachable, asking", unreachable, []string{"logq", "query", "x"}, 3, closedAddress},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := c.on.command(t, nil, c.args...)
			if r.status != c.status || !strings.Contains(r.errs, c.say) || strings.Contains(r.errs, "goroutine ") || strings.Contains(r.errs, secret) {
				t.Errorf("status %d, want %d; %q should name %s", r.status, c.status, r.errs, c.say)
			}
		})
	}
}

// TestRefusedKeyAzurite uses a wrong key on the real service.
func TestRefusedKeyAzurite(t *testing.T) {
	t.Parallel()
	s := azuriteTarget(t)
	s.ship(t, "x", sample)
	wrong := s
	wrong.env = []string{strings.Replace(s.env[0], "AccountKey=E", "AccountKey=F", 1)}
	r := wrong.command(t, nil, "logq", "query", "-s", "x", "--from", "2026-11-20", "--to", "2026-11-21")
	if r.status != 4 || !strings.Contains(r.errs, "denied") {
		t.Errorf("query: status %d, %q", r.status, r.errs)
	}
	r = wrong.command(t, strings.NewReader(sample), "shipper", "run", "--once", "--service", "x", "-")
	if r.status != 4 || !strings.Contains(r.errs, "denied") {
		t.Errorf("ship: status %d, %q", r.status, r.errs)
	}
	same(t, "after refusals", sample, s.all(t, "x"))
}

// TestDamagedSegment flips a byte of one stored segment: it is named, the rest is read.
func TestDamagedSegment(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s := target{name: "local", store: dir, dir: dir}
	s.ship(t, "x", sample)
	s.ship(t, "x", "2026-11-20T16:00:00Z INFO next hour\n")
	names, err := filepath.Glob(filepath.Join(dir, "x/2026/11/20/1500/*.log"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	data, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	data[20] ^= 0x10
	if err := os.Chmod(names[0], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(names[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	r := s.command(t, nil, "logq", "query", "--from", "2026-11-20", "--to", "2026-11-21", "-o", "raw")
	if r.status != 3 || string(r.out) != "2026-11-20T16:00:00Z INFO next hour\n" || !strings.Contains(r.errs, "x/2026/11/20/1500/000001.log") {
		t.Errorf("status %d, %q, %q", r.status, r.out, r.errs)
	}
}
