// Command times runs tests and prints where their time goes: for each package the CPU seconds of its test binary with the
// programs that it ran, and the tests that took longest.
//
//	go run ./internal/test/times ./...
//
// Its exit status is that of the tests. It is also the program through which go test runs each test binary.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// fileEnv names the file to which each test binary's times are appended.
const fileEnv = "LOGSTOW_TIMES"

// most is the number of tests to print.
const most = 40

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	args := os.Args[1:]
	run := runTests
	if file := os.Getenv(fileEnv); file != "" {
		run = func(ctx context.Context, args []string, _ io.Writer) error { return runBinary(ctx, args, file) }
	}
	err := run(ctx, args, os.Stdout)
	if status := (*exec.ExitError)(nil); errors.As(err, &status) {
		os.Exit(max(status.ExitCode(), 1))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "times:", err)
		os.Exit(1)
	}
}

// binaryTimes are the times of a test binary and its children.
type binaryTimes struct {
	Dir       string
	Wall, CPU time.Duration
}

// runBinary runs a test binary and appends its times to a file.
func runBinary(ctx context.Context, args []string, file string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), fileEnv+"=")
	began := time.Now()
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return err
	}
	dir, wdErr := os.Getwd()
	line, encodeErr := json.Marshal(binaryTimes{dir, time.Since(began), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()})
	f, openErr := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if failed := errors.Join(wdErr, encodeErr, openErr); failed != nil {
		return failed
	}
	_, writeErr := f.Write(append(line, '\n'))
	return errors.Join(err, writeErr, f.Close())
}

// testTime is how long a test ran, pauses for parallel tests excluded.
type testTime struct {
	name string
	took time.Duration
}

// runTests runs go test with args and prints the times.
func runTests(ctx context.Context, args []string, out io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "logstow-times-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "times")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-count=1", "-json", "-exec", self}, args...)...)
	cmd.Stderr, cmd.Env = os.Stderr, append(os.Environ(), fileEnv+"="+file)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	tests := readTests(stdout, out)
	testErr := cmd.Wait()
	data, err := os.ReadFile(file)
	if err != nil {
		return errors.Join(testErr, err)
	}
	printBinaries(out, data)
	slices.SortFunc(tests, func(a, b testTime) int { return cmp.Compare(b.took, a.took) })
	fmt.Fprintf(out, "\nwall s  test, with its subtests\n")
	for _, t := range tests[:min(most, len(tests))] {
		fmt.Fprintf(out, "%6.1f  %s\n", t.took.Seconds(), t.name)
	}
	return testErr
}

// readTests adds up the times of tests without subtests by top-level test, and prints failures.
func readTests(events io.Reader, out io.Writer) (tests []testTime) {
	took, parents := map[string]time.Duration{}, map[string]bool{}
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e struct {
			Action, Package, Test, Output string
			Elapsed                       float64
		}
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		if e.Action == "build-output" || e.Action == "output" && strings.Contains(e.Output, "--- FAIL") {
			fmt.Fprint(out, e.Output)
		}
		if e.Test == "" || e.Action != "pass" && e.Action != "fail" {
			continue
		}
		name := strings.TrimPrefix(e.Package, "logstow/") + " " + e.Test
		took[name] = time.Duration(e.Elapsed * float64(time.Second))
		for at := strings.LastIndexByte(name, '/'); at > strings.IndexByte(name, ' '); at = strings.LastIndexByte(name[:at], '/') {
			parents[name[:at]] = true
		}
	}
	sums := map[string]time.Duration{}
	for name, d := range took {
		pkg, test, _ := strings.Cut(name, " ")
		if top, _, _ := strings.Cut(test, "/"); !parents[name] {
			sums[pkg+" "+top] += d
		}
	}
	for name, d := range sums {
		tests = append(tests, testTime{name, d})
	}
	return tests
}

// printBinaries prints the times that runBinary appended, by CPU.
func printBinaries(out io.Writer, data []byte) {
	var all []binaryTimes
	total := time.Duration(0)
	wd, _ := os.Getwd() // only shortens what is printed
	for line := range bytes.Lines(data) {
		var b binaryTimes
		if json.Unmarshal(line, &b) == nil {
			b.Dir = strings.TrimPrefix(b.Dir, wd+string(filepath.Separator))
			all, total = append(all, b), total+b.CPU
		}
	}
	slices.SortFunc(all, func(a, b binaryTimes) int { return cmp.Compare(b.CPU, a.CPU) })
	fmt.Fprintf(out, "\n CPU s  wall s  package\n%6.1f          all %d\n", total.Seconds(), len(all))
	for _, b := range all {
		if b.CPU >= time.Second || b.Wall >= 2*time.Second {
			fmt.Fprintf(out, "%6.1f  %6.1f  %s\n", b.CPU.Seconds(), b.Wall.Seconds(), b.Dir)
		}
	}
}
