package e2e

import (
	"fmt"
	"path/filepath"
	"regexp"
	"testing"

	"logstow/internal/test/effort"
)

// An export stays within the memory that is stated: several outputs whose times overlap, columns with few and with many different values.
func TestExportMemory(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "ships, compacts and exports 48 MB")
	dir := t.TempDir()
	s := target{name: "local", store: filepath.Join(dir, "store")}
	logs := filepath.Join(dir, "app.log")
	appendFile(t, logs, "")
	want := generate(t, logs, 16<<20)
	must := func(args ...string) result {
		t.Helper()
		r := s.command(t, nil, args...)
		if r.status != 0 {
			t.Fatalf("%q: status %d: %s", args, r.status, r.errs)
		}
		return r
	}
	classes := []string{"", "audit", "access"}
	for i, class := range classes {
		must("shipper", "run", "--once", "--service", "api", "--class", class, "--buffer-dir", filepath.Join(dir, fmt.Sprint("buffer", i)), logs)
	}
	must("shipper", "compact", "--after", "0s", "--grace", "0s", "--max-age", "3650d")
	exported := regexp.MustCompile(`exported (\d+) outputs \(.*\), ([\d,]+) records`)
	for _, compression := range []string{"snappy", "zstd"} {
		r := must("shipper", "export", "--to", filepath.Join(dir, compression), "--compression", compression, "--max-age", "3650d",
			"--columns", "user,trace_id,path,duration_ms:number,bytes:integer")
		if m := exported.FindSubmatch(r.out); m == nil || string(m[2]) != fmt.Sprint(want.lines*len(classes)) {
			t.Errorf("%d lines of %d classes: %s", want.lines, len(classes), r.out)
		}
		checkPeak(t, "shipper export --compression "+compression, r.maxRSS, exportMemory)
	}
}
