package listen_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"logstow/input/listen"
	"logstow/internal/test/await"
	"logstow/internal/test/testpki"
)

// pair is a connection over TCP, and its other end.
func pair(t *testing.T) (here, there net.Conn) {
	t.Helper()
	l, err := listen.Stream(t.Context(), "tcp", ":0", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	var d net.Dialer
	if there, err = d.DialContext(t.Context(), "tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = there.Close() })
	if here, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = here.Close() })
	return here, there
}

// What waits in the socket when the deadline of the end has passed is read, however late; then reading ends.
func TestReadAtEnd(t *testing.T) {
	t.Parallel()
	pki := testpki.New(t)
	for _, secured := range []bool{false, true} {
		here, there := pair(t)
		ctx, end := context.WithCancel(t.Context())
		if secured {
			certificate, err := listen.TLS{Cert: pki.Path("server.pem"), Key: pki.Path("server.key")}.Config(nil)
			if err != nil {
				t.Fatal(err)
			}
			client := tls.Client(there, &tls.Config{RootCAs: pki.Pool, ServerName: "localhost"})
			done := make(chan error, 1)
			go func() { done <- client.HandshakeContext(t.Context()) }()
			server := tls.Server(here, certificate)
			if err := errors.Join(listen.Handshake(t.Context(), server), <-done); err != nil {
				t.Fatal(err)
			}
			here, there = server, client
		}
		deadline := listen.NewReadDeadline(ctx, here)
		defer deadline.Stop()
		buf := make([]byte, 100)
		read := func() (string, error) {
			n, err := deadline.Read(func() (int, error) { return here.Read(buf) })
			return string(buf[:n]), err
		}
		end()
		for { // until the deadline of the end has passed
			if _, err := here.Read(buf); errors.Is(err, os.ErrDeadlineExceeded) {
				break
			}
		}
		if _, err := there.Write([]byte("one")); err != nil {
			t.Fatal(err)
		}
		got := ""
		await.Until(t, time.Minute, "what was sent is read", func() bool {
			var err error
			got, err = read()
			return err == nil
		})
		if got != "one" {
			t.Errorf("TLS %t: %q", secured, got)
		}
		if _, err := there.Write([]byte("later")); err != nil {
			t.Fatal(err)
		}
		if got, err := read(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("TLS %t: reading goes on with %q, %v", secured, got, err)
		}
	}
}
