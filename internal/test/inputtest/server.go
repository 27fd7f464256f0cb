package inputtest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Server is a server of an input.
type Server interface {
	Run(ctx context.Context) error
}

// Run runs a server until the test ends. stop ends it sooner and returns Run's error, which otherwise fails the test.
func Run(t testing.TB, s Server) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	end := sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	var stopped atomic.Bool
	t.Cleanup(func() {
		if err := end(); err != nil && !stopped.Load() {
			t.Errorf("Run: %v", err)
		}
	})
	return func() error {
		stopped.Store(true)
		return end()
	}
}

// connTimeout is how long a test may use a connection: what never comes fails the test instead of hanging it.
const connTimeout = 3 * time.Minute

// Dial connects to a server until the test ends.
func Dial(t testing.TB, address net.Addr) net.Conn {
	t.Helper()
	var d net.Dialer
	c, err := d.DialContext(t.Context(), address.Network(), address.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(connTimeout)); err != nil {
		t.Fatal(err)
	}
	return c
}

// Write writes to a connection.
func Write[T string | []byte](t testing.TB, c net.Conn, text T) {
	t.Helper()
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

// Modules is the directory testdata/FOLDER of the project, with senders as modules of Node.js. If one of them is not
// installed the test is skipped, or fails where senders are required.
func Modules(t testing.TB, folder, module string) (dir string) {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("../../testdata", folder))
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(filepath.Join(dir, "node_modules", module))
	if _, lookErr := exec.LookPath("node"); err != nil || lookErr != nil {
		if os.Getenv("LOGSTOW_REQUIRE_SENDERS") == "1" {
			t.Fatalf("%s is not installed: run npm ci in testdata/%s: %v %v", module, folder, err, lookErr)
		}
		t.Skipf("%s is not installed: needs node, and npm ci in testdata/%s", module, folder)
	}
	return dir
}

// Send runs testdata/send.cjs of the package, which must print nothing.
func Send(t testing.TB, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), connTimeout)
	defer cancel()
	words := []string{"testdata/send.cjs"}
	for _, a := range args {
		words = append(words, fmt.Sprint(a))
	}
	if out, err := exec.CommandContext(ctx, "node", words...).CombinedOutput(); err != nil || len(out) > 0 { //nolint:gosec // a script of the test
		t.Fatalf("%v: %s", err, out)
	}
}
