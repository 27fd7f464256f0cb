package e2e

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"logstow/internal/test/await"
)

// In an outage of storage a shipper is ready, for it takes records, and reports with
// ?storage=1 that storage does not.
func TestReadyInOutage(t *testing.T) {
	t.Parallel()
	r := newRig(t, true)
	p := r.start(plain(), nil, r.args("--metrics", "127.0.0.1:0", "--http", "127.0.0.1:0")...)
	metrics := "http://" + p.address(t, "serving metrics")
	lines := "http://" + p.address(t, "listening") + "/v1/lines"
	if status, body := get(t, metrics+"/readyz?storage=1"); status != http.StatusOK {
		t.Errorf("before: %d %s", status, body)
	}
	r.outage()
	answer, err := http.Post(lines, "text/plain", strings.NewReader("one\n")) //nolint:noctx // it is local
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	await.Until(t, patience, "the outage is noticed", func() bool {
		status, body := get(t, metrics+"/readyz?storage=1")
		return status == http.StatusServiceUnavailable && strings.Contains(body, "cannot store batches")
	})
	if status, body := get(t, metrics+"/readyz"); status != http.StatusOK {
		t.Errorf("readyz in the outage: %d %s", status, body)
	}
	r.faults(0)
	await.Until(t, patience, "storage is back", func() bool {
		status, _ := get(t, metrics+"/readyz?storage=1")
		return status == http.StatusOK
	})
	p.signal(t, os.Interrupt)
	p.end(t, patience)
	if p.status() != 0 {
		t.Errorf("status %d: %s", p.status(), p.tail())
	}
}
