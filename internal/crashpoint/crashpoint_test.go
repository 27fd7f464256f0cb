package crashpoint_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"logstow/internal/crashpoint"
)

const program = `package main

import (
	"fmt"

	"logstow/internal/crashpoint"
)

func main() {
	for i := range 5 {
		crashpoint.Here("one")
		fmt.Println(i)
		crashpoint.Here("two")
	}
}
`

// build makes the program, inside the module as it imports an internal package.
func build(t *testing.T, tags string) string {
	t.Helper()
	dir, err := os.MkdirTemp(".", "testdata-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "program")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-tags", tags, "-o", bin, "./"+dir).CombinedOutput()
	if err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return bin
}

func TestHereKillsAtTheNthPassing(t *testing.T) {
	t.Parallel()
	armed, plain := build(t, "crashpoints"), build(t, "")
	for _, test := range []struct {
		name, bin, at string
		lines         int
		killed        bool
	}{
		{"not built in", plain, "one", 5, false},
		{"no point named", armed, "", 5, false},
		{"another point", armed, "three:1", 5, false},
		{"first passing", armed, "one", 0, true},
		{"third passing", armed, "one:3", 2, true},
		{"after the line", armed, "two:3", 3, true},
		{"never passed", armed, "two:6", 5, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), test.bin)
			cmd.Env = []string{crashpoint.Env + "=" + test.at}
			out, err := cmd.Output()
			if got := bytes.Count(out, []byte("\n")); got != test.lines {
				t.Errorf("printed %d lines, want %d", got, test.lines)
			}
			if killed := err != nil && strings.Contains(err.Error(), "killed"); killed != test.killed || !killed && err != nil {
				t.Errorf("ended with %v, want killed: %v", err, test.killed)
			}
		})
	}
}

func TestWrongCountIsSaid(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), build(t, "crashpoints"))
	cmd.Env = []string{crashpoint.Env + "=one:0"}
	out, err := cmd.CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte(crashpoint.Env)) {
		t.Errorf("ended with %v, saying %q; want a panic naming %s", err, out, crashpoint.Env)
	}
}
