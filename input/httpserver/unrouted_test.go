package httpserver_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"logstow/input/httpserver"
)

// A request that no input has a path for is told where to send, and a sender that loses data by it is logged.
func TestUnrouted(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	address, end := start(t, httpserver.Options{Accepts: "lines to /echo", Log: slog.New(slog.NewTextHandler(&logged, nil))})
	for _, c := range []struct {
		method, path string
		status       int
		body         string
	}{
		{http.MethodPost, "/echo", http.StatusOK, "x"},
		{http.MethodPost, "/v1/line", http.StatusNotFound, "no input for POST /v1/line: send lines to /echo\n"},
		{http.MethodGet, "/echo", http.StatusMethodNotAllowed, "no input for GET /echo: send lines to /echo\n"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, "http://"+address+c.path, strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client(t, nil).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var body bytes.Buffer
		_, _ = body.ReadFrom(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != c.status || body.String() != c.body {
			t.Errorf("%s %s: %d %q, want %d %q", c.method, c.path, answer.StatusCode, body.String(), c.status, c.body)
		}
	}
	end()
	if text := logged.String(); strings.Count(text, "no input has this path") != 1 || !strings.Contains(text, `request="POST /v1/line"`) {
		t.Errorf("logged %s", text)
	}
}
