package docscheck_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// quickStart are the steps of the README's first block that builds the programs.
func quickStart(t *testing.T) (steps []string) {
	t.Helper()
	_, rest, found := strings.Cut(read(t, root, "README.md"), "\n    make build\n")
	if !found {
		t.Fatal("README.md has no quick start")
	}
	for line := range strings.Lines(rest) {
		step, ok := strings.CutPrefix(line, "    ")
		if !ok {
			break
		}
		steps = append(steps, strings.TrimSuffix(step, "\n"))
	}
	return steps
}

// Every step of the README's quick start works in the order and form in which it is
// printed, in a new home directory, and gives an answer.
func TestQuickStart(t *testing.T) {
	t.Parallel()
	programs, home := bin(t), t.TempDir()
	env := freshHome(programs, home)
	if out, err := exec.Command("make", "-C", root, "-n", "build").CombinedOutput(); err != nil {
		t.Errorf("make build: %v\n%s", err, out)
	}
	steps := quickStart(t)
	if len(steps) < 8 {
		t.Fatalf("only %d steps: %q", len(steps), steps)
	}
	ran := regexp.MustCompile(`\bbin/`)
	var settings string
	for _, step := range steps {
		command := ran.ReplaceAllLiteralString(step, programs+"/")
		if strings.HasPrefix(command, "export ") {
			settings += command + "\n"
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		// exec: what is interrupted is the program, not the shell.
		shell := exec.CommandContext(ctx, "bash", "-c", settings+"exec "+command)
		shell.Dir, shell.Env = root, env
		out := &answer{follows: strings.Contains(step, "shipper run") && !strings.Contains(step, "--once")}
		shell.Stdout, shell.Stderr = out, out
		if err := shell.Start(); err != nil {
			t.Fatal(err)
		}
		out.started(shell.Process)
		err := shell.Wait()
		cancel()
		if err != nil {
			t.Errorf("%s: %v\n%s", step, err, out.text())
		}
		if len(out.text()) == 0 && !strings.Contains(step, " > ") {
			t.Errorf("%s: no answer", step)
		}
	}
}

// answer is what a step prints. One that follows is interrupted, as by Ctrl-C, when it
// has started.
type answer struct {
	follows bool

	mu      sync.Mutex
	out     bytes.Buffer
	process *os.Process
}

func (a *answer) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, err := a.out.Write(p)
	a.interrupt()
	return n, err
}

// started records the process.
func (a *answer) started(p *os.Process) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.process = p
	a.interrupt()
}

func (a *answer) interrupt() {
	if a.follows && a.process != nil && bytes.Contains(a.out.Bytes(), []byte(`"msg":"started"`)) {
		a.follows = false
		_ = a.process.Signal(os.Interrupt) // what has ended by itself is found by its status
	}
}

func (a *answer) text() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.out.String()
}
