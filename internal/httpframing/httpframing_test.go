package httpframing_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"logstow/internal/httpframing"
)

// A request with Content-Length and Transfer-Encoding gets one response, and what follows it none; a request with one of them leaves
// the connection open.
func TestOneResponse(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpframing.CloseAfter(w, r)
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	t.Cleanup(server.Close)
	const next = "GET /next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	for name, c := range map[string]struct {
		request   string
		responses int
	}{
		"length":  {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab", 2},
		"chunked": {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 1},
		"both":    {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 1},
	} {
		if got := responses(t.Context(), t, server.Listener.Addr().String(), c.request+next); got != c.responses {
			t.Errorf("%s: %d responses, want %d", name, got, c.responses)
		}
	}
}

// responses sends requests and returns the number of responses until the connection is closed.
func responses(ctx context.Context, t *testing.T, address, requests string) int {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, requests); err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(bufio.NewReader(conn))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(all), "HTTP/1.1 ")
}
