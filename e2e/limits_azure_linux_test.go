package e2e

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"logstow/internal/test/azurite"
	"logstow/internal/test/effort"
)

// The limits of requests to Azure that docs/limits.md states. Without a response, logq repeats a request for half a minute.
const (
	azureDialTime   = 10 * time.Second
	azureTLSTime    = 10 * time.Second
	azureHeaderTime = 2 * time.Minute
	azureTryTime    = 5 * time.Minute
	azureTries      = 3
	azureSlack      = 5 * time.Second // of processes and of the pauses between tries
)

// mute is a listener that answers each connection with a text and nothing more.
func mute(t *testing.T, text string) (address string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
			_, _ = io.WriteString(c, text)
		}
	}()
	return l.Addr().String()
}

// deaf is an address on which no connection is established: the queue of its listener is full.
func deaf(t *testing.T) (address string) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address = fmt.Sprintf("127.0.0.1:%d", at.(*unix.SockaddrInet4).Port)
	for { // until one waits in vain
		c, err := net.DialTimeout("tcp", address, 300*time.Millisecond) //nolint:noctx // it is local
		if err != nil {
			return address
		}
		t.Cleanup(func() { _ = c.Close() })
	}
}

// A storage service that does not respond, or stops within a response, ends a command after the stated times.
func TestLongAzureTimeouts(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "30 seconds, and 5 minutes with make long")
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nContent-Length: 1000\r\n\r\n<"
	query := []string{"logq", "query", "-s", "api", "--since", "1h", "--no-cache"}
	ship := []string{"shipper", "run", "--once", "--service", "api", "--buffer-dir", t.TempDir(), "-"}
	for name, c := range map[string]struct {
		scheme  string
		address func(t *testing.T) string
		command []string
		want    time.Duration
	}{
		"connection":        {"http", deaf, query, azureTries * azureDialTime},
		"TLS":               {"https", func(t *testing.T) string { return mute(t, "") }, query, azureTries * azureTLSTime},
		"response":          {"http", func(t *testing.T) string { return mute(t, "") }, query, azureHeaderTime},
		"connection of job": {"http", deaf, []string{"shipper", "verify"}, azureDialTime},
		"response to write": {"http", func(t *testing.T) string { return mute(t, "") }, ship, azureHeaderTime},
		"rest of response":  {"http", func(t *testing.T) string { return mute(t, head) }, query, azureTryTime},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.want > time.Minute {
				effort.Need(t, effort.Long, c.want.String())
			}
			at := c.scheme + "://" + c.address(t) + "/devstoreaccount1"
			service := azurite.Azurite{BlobEndpoint: at, TableEndpoint: at}
			s := target{store: "azblob://logs", env: []string{"AZURE_STORAGE_CONNECTION_STRING=" + service.ConnectionString()}}
			p := startWith(t, s, strings.NewReader("2026-11-20T15:04:05Z INFO line\n"), c.command...)
			began := time.Now()
			p.end(t, c.want+patience)
			took := time.Since(began)
			t.Logf("ended with status %d after %v, %v stated: %s", p.status(), took, c.want, p.tail())
			if p.status() != 3 || took < c.want-azureSlack || took > c.want+azureSlack {
				t.Errorf("status %d after %v, want %v", p.status(), took, c.want)
			}
		})
	}
}

// startWith starts a command on a store with standard input.
func startWith(t *testing.T, s target, in io.Reader, args ...string) *process {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	if _, err := io.Copy(write, in); err != nil {
		t.Fatal(err)
	}
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	return startProcessOn(t, programPath(args[0]), read, nil, append(append(cleanEnv(t), s.env...), "LOGSTOW_STORE="+s.store), args[1:]...)
}
