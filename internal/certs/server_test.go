package certs_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"logstow/internal/certs"
	"logstow/internal/test/await"
	"logstow/internal/test/testpki"
)

// A server uses certificate and authorities of clients that were replaced while it runs, and the old ones as long as the new ones
// cannot be read.
func TestServerFollowsFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := certs.Files{Cert: filepath.Join(dir, "server.pem"), Key: filepath.Join(dir, "server.key"), ClientCA: filepath.Join(dir, "ca.pem")}
	replace := func(pki *testpki.PKI, names ...string) {
		t.Helper()
		for _, name := range names {
			text, err := os.ReadFile(pki.Path(name))
			if err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), text, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	}
	first, second := testpki.New(t), testpki.New(t)
	replace(first, "server.pem", "server.key", "ca.pem")
	var log bytes.Buffer
	server, err := certs.NewServer(files, slog.New(slog.NewTextHandler(&log, nil)), "h2")
	if err != nil {
		t.Fatal(err)
	}
	connects := func(pki *testpki.PKI) bool {
		t.Helper()
		here, there := net.Pipe()
		defer here.Close()
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer there.Close()
			c := tls.Server(there, server.Config())
			if c.HandshakeContext(t.Context()) == nil {
				_, _ = c.Write([]byte{1})
			}
		}()
		c := tls.Client(here, &tls.Config{ServerName: "localhost", RootCAs: pki.Pool, Certificates: []tls.Certificate{pki.Client}, NextProtos: []string{"h2"}})
		_, err := io.ReadFull(c, make([]byte, 1))
		here.Close()
		<-done
		return err == nil && c.ConnectionState().NegotiatedProtocol == "h2"
	}
	if !connects(first) || connects(second) {
		t.Fatal("the first certificates are not used")
	}
	replace(second, "server.pem") // the key is that of the first
	await.Until(t, time.Minute, "the replaced certificate is read", func() bool { return !connects(first) || log.Len() > 0 })
	if !connects(first) || !strings.Contains(log.String(), "keeping the old certificate") || !strings.Contains(log.String(), files.Cert) {
		t.Errorf("a certificate without its key is used: %s", log.String())
	}
	replace(second, "server.key", "ca.pem")
	await.Until(t, time.Minute, "the new certificates are used", func() bool { return connects(second) })
	if connects(first) {
		t.Error("a client of the previous authority may connect")
	}
}

// A certificate that expires while it is in use is reported once, and a new one ends that.
func TestServerReportsExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pki := testpki.New(t)
		var log bytes.Buffer
		files := certs.Files{Cert: pki.Path("server.pem"), Key: pki.Path("server.key")}
		server, err := certs.NewServer(files, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			after time.Duration
			want  int
		}{{time.Minute, 0}, {2 * time.Hour, 1}, {time.Hour, 1}} {
			time.Sleep(step.after) // on the clock of the bubble
			if _, err := server.Config().GetConfigForClient(nil); err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(log.String(), "expired at"); got != step.want {
				t.Errorf("%s later: %d warnings, want %d: %s", step.after, got, step.want, &log)
			}
		}
		if _, err := certs.NewServer(certs.Files{Cert: files.Cert, Key: files.Key}, slog.New(slog.NewTextHandler(&log, nil))); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(log.String(), "expired at"); got != 2 {
			t.Errorf("a new server: %d warnings, want 2", got)
		}
	})
}
