package crashpoint_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"logstow/internal/crashpoint"
	"logstow/internal/test/programs"
)

// build makes the program in testdata.
func build(t *testing.T, tags string) string {
	t.Helper()
	dir, err := programs.Build(tags, "logstow/internal/crashpoint/testdata/passes")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "passes")
}

func TestHereKillsAtTheNthPassing(t *testing.T) {
	t.Parallel()
	armed, plain := build(t, programs.Crashpoints), build(t, "")
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

func TestWrongCountIsReported(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), build(t, programs.Crashpoints))
	cmd.Env = []string{crashpoint.Env + "=one:0"}
	out, err := cmd.CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte(crashpoint.Env)) {
		t.Errorf("ended with %v, output %q; want a panic naming %s", err, out, crashpoint.Env)
	}
}
