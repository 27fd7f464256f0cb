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
	// Timeout is how long the tests of a fault may take; 0 is two minutes.
	Timeout time.Duration
}

// Check runs the tests without a fault: they must pass.
func (r *Runner) Check(ctx context.Context, packages ...string) error {
	out, err := r.test(ctx, append(packages, r.Tests...)...)
	if err != nil {
		return fmt.Errorf("tests fail without a fault: %w\n%s", err, out)
	}
	return nil
}

// Run places a fault and runs the tests.
func (r *Runner) Run(ctx context.Context, f Fault) (Outcome, error) {
	src, err := os.ReadFile(f.File)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "logstow-fault-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	changed, overlay := filepath.Join(dir, filepath.Base(f.File)), filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{f.File: changed}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(write(changed, f.Apply(src)), write(overlay, text)); err != nil {
		return "", err
	}
	compile := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-o", os.DevNull, "-overlay", overlay, f.Package)
	compile.Dir = r.Dir
	if err := compile.Run(); err != nil {
		return Invalid, ctx.Err()
	}
	out, err := r.test(ctx, append([]string{"-overlay", overlay, f.Package}, r.Tests...)...)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err == nil:
		return Survived, nil
	case bytes.Contains(out, []byte("panic: test timed out")):
		return TimedOut, nil
	}
	return Caught, nil
}

// write writes a file that is not needed after a crash.
func write(path string, data []byte) error {
	return os.WriteFile(path, data, 0o600) //nolint:forbidigo // a temporary file
}

// test runs go test; tests that hang are ended after the timeout.
func (r *Runner) test(ctx context.Context, args ...string) ([]byte, error) {
	timeout := r.Timeout
	if timeout == 0 {
		timeout = 2 * time.Minute
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-vet=off", "-count=1", "-failfast", "-timeout", timeout.String()}, args...)...)
	cmd.Dir, cmd.WaitDelay = r.Dir, 10*time.Second
	return cmd.CombinedOutput()
}
