package httpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"testing"
	"time"

	"logstow/input/httpserver"
	"logstow/input/listen"
	"logstow/internal/test/testpki"
)

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// A sender that sends its whole body before it reads gets the answer, not a broken connection.
func TestAnswerBeforeBodyEnds(t *testing.T) {
	t.Parallel()
	pki := testpki.New(t)
	plain, _ := start(t, httpserver.Options{})
	secured, _ := start(t, httpserver.Options{Endpoint: listen.Endpoint{TLS: listen.TLS{Cert: pki.Path("server.pem"), Key: pki.Path("server.key")}}})
	held := make(chan struct{})
	full, _ := startEcho(t, httpserver.Options{Endpoint: listen.Endpoint{MaxConnections: 1}}, echo{httpserver.NewMemory(0, nil), held})
	if _, err := io.WriteString(dial(t, full), "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"); err != nil { // an idle one would be closed after a while
		t.Fatal(err)
	}
	t.Cleanup(func() { <-held })
	body := make([]byte, 16<<20)
	for _, c := range []struct {
		name, address, path, header string
		tls                         *tls.Config
		status                      int
	}{
		{name: "too large", address: plain, path: "/echo", status: 413},
		{name: "too large, with TLS", address: secured, path: "/echo", tls: &tls.Config{RootCAs: pki.Pool, ServerName: "localhost"}, status: 413},
		{name: "compression that is not known", address: plain, path: "/echo", header: "Content-Encoding: br\r\n", status: 415},
		{name: "no such path", address: plain, path: "/nowhere", status: 404},
		{name: "from another site", address: plain, path: "/echo", header: "Sec-Fetch-Site: cross-site\r\n", status: 403},
		{name: "too many connections", address: full, path: "/echo", status: 503},
	} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, chunked %t", c.name, chunked), func(t *testing.T) {
				t.Parallel()
				conn := dial(t, c.address)
				if c.tls != nil {
					conn = tls.Client(conn, c.tls)
				}
				sent := bytes.NewBufferString("POST " + c.path + " HTTP/1.1\r\nHost: localhost\r\n" + c.header)
				if chunked {
					fmt.Fprintf(sent, "Transfer-Encoding: chunked\r\n\r\n%x\r\n", len(body))
					sent.Write(body)
					sent.WriteString("\r\n0\r\n\r\n")
				} else {
					fmt.Fprintf(sent, "Content-Length: %d\r\n\r\n", len(body))
					sent.Write(body)
				}
				if _, err := conn.Write(sent.Bytes()); err != nil {
					t.Fatal(err)
				}
				answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer answer.Body.Close()
				text, err := io.ReadAll(answer.Body)
				if err != nil || answer.StatusCode != c.status || len(text) == 0 || !answer.Close {
					t.Errorf("status %d, want %d; %v; closed %t; %s", answer.StatusCode, c.status, err, answer.Close, text)
				}
				if (answer.Header.Get("Retry-After") != "") != (c.status == 503) {
					t.Errorf("Retry-After %q", answer.Header.Get("Retry-After"))
				}
			})
		}
	}
}

// A sender that expects 100 Continue, and does not send what is rejected, is not waited for.
func TestExpectContinue(t *testing.T) {
	t.Parallel()
	address, _ := start(t, httpserver.Options{})
	const limit = 1500 * time.Millisecond // less than a body is waited for
	fastest := time.Duration(math.MaxInt64)
	for range 10 { // other tests and programs slow it down
		conn := dial(t, address)
		began := time.Now()
		if _, err := io.WriteString(conn, "POST /nowhere HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 40000000\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(conn) // to the end of the connection
		if err != nil || !bytes.HasPrefix(got, []byte("HTTP/1.1 404 ")) {
			t.Errorf("%v: %s", err, got)
		}
		if fastest = min(fastest, time.Since(began)); fastest <= limit {
			break
		}
	}
	if fastest > limit {
		t.Errorf("the connection was closed after %v", fastest)
	}
}

// A body that has not arrived when the server is stopped gets a response too.
func TestAnswerAtEnd(t *testing.T) {
	t.Parallel()
	began := make(chan struct{}, 1)
	address, end := startEcho(t, httpserver.Options{}, echo{httpserver.NewMemory(0, nil), began})
	conn := dial(t, address)
	if _, err := io.WriteString(conn, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc"); err != nil {
		t.Fatal(err)
	}
	<-began
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	go end()
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
		t.Errorf("status %d, %v", answer.StatusCode, answer.Header)
	}
}
