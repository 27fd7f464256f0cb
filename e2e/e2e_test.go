// Package e2e runs the real binaries on both stores and looks at the result as
// a user would. It has tests only.
package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/azurite"
	"logstow/internal/test/effort"
	"logstow/internal/test/programs"
)

func TestMain(m *testing.M) {
	if err := effort.Parallel(3); err != nil {
		panic(err)
	}
	if signal.Ignored(os.Interrupt) { // as in the background of a script: the programs would inherit it, and miss a signal until they ask for it
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	os.Exit(azurite.Main(m))
}

// programPath is the path of shipper or logq, which the first test that needs one of them builds.
func programPath(name string) string {
	dir, err := programs.Build("", "logstow/cmd/shipper", "logstow/cmd/logq")
	if err != nil {
		panic(err)
	}
	return filepath.Join(dir, name)
}

// target is a store under test.
type target struct {
	name  string
	store string   // the --store argument
	env   []string // the environment it needs
	dir   string   // the local store's directory, "" on Azure
	cwd   string   // where commands run; "" is the package's folder
}

// onBothStores runs f on a new store of each kind: for tests of what depends on the store.
func onBothStores(t *testing.T, f func(t *testing.T, s target)) {
	onKinds(t, storeKinds(), f)
}

// onStores runs f on a new store: of each kind at [effort.Full], below of one that the test's seed chooses.
func onStores(t *testing.T, f func(t *testing.T, s target)) {
	onKinds(t, someKinds(t), f)
}

// storeKinds are the kinds of stores.
func storeKinds() []string { return []string{"local", "Azurite"} }

// someKinds are all kinds of stores at [effort.Full], below one that the test's seed chooses.
func someKinds(t *testing.T) []string {
	t.Helper()
	return effort.Some(t, storeKinds()...)
}

func onKinds(t *testing.T, kinds []string, f func(t *testing.T, s target)) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			if kind == "Azurite" {
				f(t, azuriteTarget(t))
				return
			}
			dir := filepath.Join(t.TempDir(), "store")
			f(t, target{name: "local", store: dir, dir: dir})
		})
	}
}

// azuriteTarget is a new container on Azurite.
func azuriteTarget(t *testing.T) target {
	t.Helper()
	a := azurite.Start(t)
	return target{
		name:  "azurite",
		store: "azblob://" + a.Container(),
		env:   []string{"AZURE_STORAGE_CONNECTION_STRING=" + a.ConnectionString()},
	}
}

// result is how a command ended.
type result struct {
	out    []byte
	errs   string
	status int
	maxRSS int64 // bytes
}

// command runs one of the binaries with standard input in.
func (s target) command(t *testing.T, in io.Reader, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, programPath(args[0]), args[1:]...)
	cmd.Env = append(cleanEnv(t), s.env...)
	cmd.Env, cmd.Dir = append(cmd.Env, "LOGSTOW_STORE="+s.store), s.cwd
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &errs
	err := cmd.Start()
	peak := func() int64 { return 0 }
	if err == nil {
		peak = watchMemory(cmd.Process.Pid)
		err = cmd.Wait()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", args, err)
	}
	return result{
		out: out.Bytes(), errs: errs.String(), status: cmd.ProcessState.ExitCode(),
		maxRSS: peak(),
	}
}

// watchMemory reads a process's peak memory until the process is gone; the
// function it returns waits for that. (What wait4 counts includes the memory of
// the process that started it.)
func watchMemory(pid int) func() int64 {
	done := make(chan int64, 1)
	go func() {
		var peak int64
		for range time.Tick(10 * time.Millisecond) {
			now := memoryPeak(pid)
			if now == 0 {
				break
			}
			peak = max(peak, now)
		}
		done <- peak
	}()
	return func() int64 { return <-done }
}

// memoryPeak is a process's peak memory in bytes, 0 if it is gone.
func memoryPeak(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, after, found := strings.Cut(string(status), "VmHWM:")
	if err != nil || !found {
		return 0
	}
	kib, err := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}

// must runs a command that has to end with status 0 and gives its output.
func (s target) must(t *testing.T, args ...string) []byte {
	t.Helper()
	r := s.command(t, nil, args...)
	if r.status != 0 {
		t.Fatalf("%s: status %d\n%s", strings.Join(args, " "), r.status, r.errs)
	}
	return r.out
}

// cleanEnv is an environment without anything that a command would read, and
// with a home and state directory of the test's own.
func cleanEnv(t *testing.T) []string {
	home := t.TempDir()
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state"), "TZ=UTC", "TMPDIR=" + os.TempDir()}
}

// loghub is the folder of real logs; the test is skipped where it is absent.
func loghub(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("LOGSTOW_LOGHUB")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "data", "loghub")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no folder of real logs (LOGSTOW_LOGHUB): %v", err)
	}
	return dir
}
