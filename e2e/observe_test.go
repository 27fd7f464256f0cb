package e2e

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"logstow/internal/test/await"
)

// address waits until a shipper logged where it listens.
func (p *process) address(t *testing.T, message string) string {
	t.Helper()
	said := regexp.MustCompile(`"msg":"` + message + `".*"address":"([^"]+)"`)
	var found []string
	await.Until(t, patience, message, func() bool {
		found = said.FindStringSubmatch(p.output())
		return found != nil
	})
	return found[1]
}

// get is the status and body of an answer.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// TestObserve requests the state of a running shipper, over its last signal too.
func TestObserve(t *testing.T) {
	t.Parallel()
	r := newRig(t, false)
	p := r.start(plain(), nil, r.args("--metrics", "127.0.0.1:0", "--http", "127.0.0.1:0")...)
	metrics := "http://" + p.address(t, "serving metrics")
	lines := "http://" + p.address(t, "listening") + "/v1/lines"
	answer, err := http.Post(lines, "text/plain", strings.NewReader("one\ntwo\n")) //nolint:noctx // it is local
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusNoContent {
		t.Fatalf("status %d", answer.StatusCode)
	}
	await.Until(t, patience, "the records are stored", func() bool {
		_, text := get(t, metrics+"/metrics")
		return strings.Contains(text, `logstow_output_records_total{service="crash"} 2`)
	})
	_, text := get(t, metrics+"/metrics")
	for _, want := range []string{
		`logstow_input_records_total{address="127.0.0.1:0",input="http",service="crash"} 2`, `logstow_storage_requests_total{operation="create",status="ok"} 1`,
		"go_goroutines ", "process_open_fds ", "logstow_lag_seconds ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, body := get(t, metrics+path); status != http.StatusOK || !strings.HasPrefix(body, "ok\n") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	p.signal(t, os.Interrupt)
	p.end(t, patience)
	if p.status() != 0 {
		t.Errorf("status %d: %s", p.status(), p.tail())
	}
}
