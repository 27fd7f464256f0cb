package azurite

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"

	"logstow/internal/test/effort"
)

// RequireEnv is the environment variable that makes tests fail, not skip, where
// Azurite cannot run: set it to 1.
const RequireEnv = "LOGSTOW_REQUIRE_AZURITE"

// Start returns an Azurite for a test: the one named by [Env], which [Main] sets, otherwise one that the tests of the
// binary that run at the same time share. With args it is always its own. The test is skipped with go test -short, and without node
// unless [RequireEnv] is 1.
func Start(tb testing.TB, args ...string) *Azurite {
	tb.Helper()
	effort.Need(tb, effort.Test, "needs Azurite")
	if connection := os.Getenv(Env); connection != "" && len(args) == 0 {
		a, err := attach(connection)
		if err != nil {
			tb.Fatal(err)
		}
		return a
	}
	if len(args) == 0 {
		return shared.start(tb)
	}
	a := runFor(tb, args...)
	tb.Cleanup(func() { closeFor(tb, a) })
	return a
}

// sharing is an Azurite that tests of a binary without [Main] use at the same time: it ends with the last of them.
type sharing struct {
	mu    sync.Mutex
	users int
	a     *Azurite
}

var shared sharing //nolint:gochecknoglobals // one of the test binary

func (s *sharing) start(tb testing.TB) *Azurite {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		s.a = runFor(tb)
	}
	s.users++
	tb.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.users--; s.users == 0 {
			closeFor(tb, s.a)
		}
	})
	return s.a
}

// runFor runs an Azurite, or skips or fails the test.
func runFor(tb testing.TB, args ...string) *Azurite {
	tb.Helper()
	a, err := Run(tb.Context(), args...)
	if errors.Is(err, ErrMissing) && os.Getenv(RequireEnv) != "1" {
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

func closeFor(tb testing.TB, a *Azurite) {
	tb.Helper()
	if err := a.Close(); err != nil {
		tb.Errorf("close azurite: %v", err)
	}
}

// Main runs a test binary with one Azurite that all of its calls of [Start]
// share, and returns the exit status:
//
//	func TestMain(m *testing.M) { os.Exit(azurite.Main(m)) }
//
// Where Azurite cannot run, each call of Start reports it.
func Main(m *testing.M) int {
	flag.Parse()
	if os.Getenv(Env) != "" || effort.Of() < effort.Test {
		return m.Run()
	}
	a, err := Run(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return m.Run()
	}
	defer func() { _ = a.Close() }()
	if err := os.Setenv(Env, a.ConnectionString()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
