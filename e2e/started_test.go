package e2e

import (
	"bytes"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"logstow/internal/test/await"
)

// What is written after a shipper says that it has started is new, in files that exist and in others: without --from-start it is
// read, and what was there before is not. So many files take a while to look at.
func TestStarted(t *testing.T) {
	t.Parallel()
	r := newRig(t, false)
	for i := range 1500 {
		appendFile(t, filepath.Join(r.logs, fmt.Sprintf("old-%d.log", i)), "before\n")
	}
	for run := range 3 {
		p := r.start(plain(), nil, "run", "--store", r.store, "--service", "started", "--instance", "pod", "--flush-interval", "1h",
			"--buffer-dir", fmt.Sprintf("%s-%d", r.buffer, run), filepath.Join(r.logs, "*.log"))
		await.Until(t, patience, "it starts", p.started)
		appendFile(t, filepath.Join(r.logs, "old-1499.log"), fmt.Sprintf("appended %d\n", run))
		appendFile(t, filepath.Join(r.logs, fmt.Sprintf("new-%d.log", run)), fmt.Sprintf("created %d\n", run))
		p.signal(t, syscall.SIGTERM)
		p.end(t, patience)
		if p.status() != 0 {
			t.Fatalf("status %d, output:\n%s", p.status(), p.tail())
		}
	}
	got := r.must(t, "logq", "query", "-s", "started", "--from", "2000-01-01", "--to", "2100-01-01", "-o", "raw")
	for _, line := range []string{"appended 0\n", "appended 1\n", "appended 2\n", "created 0\n", "created 1\n", "created 2\n"} {
		if bytes.Count(got, []byte(line)) != 1 {
			t.Errorf("%q is there %d times", line, bytes.Count(got, []byte(line)))
		}
	}
	if bytes.Contains(got, []byte("before")) {
		t.Error("what was written before was read")
	}
}
