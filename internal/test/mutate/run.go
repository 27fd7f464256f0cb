package mutate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Outcome is what became of a fault.
type Outcome string

// The outcomes of a fault.
const (
	// Caught is by a failing test.
	Caught Outcome = "caught"
	// TimedOut is caught, too: the tests did not end in time.
	TimedOut Outcome = "caught (timeout)"
	// Survived is a fault with which all tests pass.
	Survived Outcome = "survived"
	// Invalid is a fault that does not compile.
	Invalid Outcome = "does not compile"
)

// Runner runs tests on code with a fault. The files themselves are not changed.
type Runner struct {
	// Dir is in the module under test.
	Dir string
	// Tests are the packages whose tests run beside those of the fault's own package.
	Tests []string
	// Env is added to the environment of the tests.
	Env []string
	// Timeout is how long the tests of a fault may take; 0 is two minutes.
	Timeout time.Duration
}

// programs is the package, in a module, by which tests build and run programs: these may contain any package.
const programs = "/internal/test/programs"

// Dependents are the packages of the module whose tests are built from a package or run programs, without the package itself.
func (r *Runner) Dependents(ctx context.Context, pkg string) (all []string, err error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-test", "-f", `{{if .ForTest}}{{.ForTest}} {{join .Deps " "}}{{end}}`, "./...")
	cmd.Dir = r.Dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("cannot list packages: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		test, deps, _ := strings.Cut(strings.TrimSpace(line), " ")
		// A package that is built for the test of another is listed as "p [other.test]".
		uses := func(dep string) bool { return dep == pkg || strings.HasSuffix(dep, programs) }
		if test != pkg && slices.ContainsFunc(strings.Fields(deps), uses) && !slices.Contains(all, test) {
			all = append(all, test)
		}
	}
	return all, nil
}

// Check runs the tests without a fault: they must pass.
func (r *Runner) Check(ctx context.Context, packages ...string) error {
	out, err := r.test(ctx, "", append(packages, r.Tests...)...)
	if err != nil {
		return fmt.Errorf("tests fail without a fault: %w\n%s", err, out)
	}
	return nil
}

// failed is how go test reports a failing test, or a package whose tests ended early.
var failed = regexp.MustCompile(`(?m)^(?:\s*--- FAIL: (\S+)|FAIL\t(\S+))`) //nolint:gochecknoglobals // constant

// Run places a fault and runs the tests, of programs that they build too. by is the first test, or package, that failed.
func (r *Runner) Run(ctx context.Context, f Fault) (outcome Outcome, by string, err error) {
	src, err := os.ReadFile(f.File)
	if err != nil {
		return "", "", err
	}
	dir, err := os.MkdirTemp("", "logstow-fault-")
	if err != nil {
		return "", "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	changed, overlay := filepath.Join(dir, filepath.Base(f.File)), filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{f.File: changed}})
	if err != nil {
		return "", "", err
	}
	if err := errors.Join(write(changed, f.Apply(src)), write(overlay, text)); err != nil {
		return "", "", err
	}
	compile := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-o", os.DevNull, "-overlay", overlay, f.Package)
	compile.Dir = r.Dir
	if err := compile.Run(); err != nil {
		return Invalid, "", ctx.Err()
	}
	out, err := r.test(ctx, overlay, append([]string{f.Package}, r.Tests...)...)
	if names := failed.FindSubmatch(out); names != nil {
		by = string(names[1]) + string(names[2])
	}
	switch {
	case ctx.Err() != nil:
		return "", "", ctx.Err()
	case err == nil:
		return Survived, "", nil
	case bytes.Contains(out, []byte("panic: test timed out")):
		return TimedOut, by, nil
	}
	return Caught, by, nil
}

// write writes a file that is not needed after a crash.
func write(path string, data []byte) error {
	return os.WriteFile(path, data, 0o600) //nolint:forbidigo // a temporary file
}

// test runs go test; tests that hang are ended after the timeout. The files of overlay, if it is not empty, replace others also in programs
// that tests build.
func (r *Runner) test(ctx context.Context, overlay string, args ...string) ([]byte, error) {
	timeout := r.Timeout
	if timeout == 0 {
		timeout = 2 * time.Minute
	}
	cmd := exec.CommandContext(ctx, "go",
		append([]string{"test", "-vet=off", "-count=1", "-failfast", "-timeout", timeout.String()}, args...)...)
	cmd.Dir, cmd.WaitDelay, cmd.Env = r.Dir, 10*time.Second, append(os.Environ(), r.Env...)
	if overlay != "" {
		cmd.Env = append(cmd.Env, "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay)
	}
	return cmd.CombinedOutput()
}
