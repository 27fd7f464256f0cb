package httpserver_test

import (
	"io"
	"strings"
	"testing"

	"logstow/input/httpserver"
)

// A request with Content-Length and Transfer-Encoding gets one response: what follows its chunks is not another request.
func TestAmbiguousRequest(t *testing.T) {
	t.Parallel()
	address, _ := start(t, httpserver.Options{})
	conn := dial(t, address)
	if _, err := io.WriteString(conn, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"+
		"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(conn)
	if n := strings.Count(string(all), "HTTP/1.1 "); n != 1 || err != nil {
		t.Errorf("%d responses, error %v: %q", n, err, all)
	}
}
