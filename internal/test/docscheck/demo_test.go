package docscheck_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The demo prints no escapes into a pipe, and runs no other programs than Go and the two of this module: programs that do nothing take
// their places here.
func TestDemo(t *testing.T) {
	t.Parallel()
	script, err := filepath.Abs("../../../testdata/demo.sh")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, does := range map[string]string{
		"go": "", "logq": "", "shipper": `mkdir -p "$LOGSTOW_STORE/web"`, "node": `touch needs-node`, "npm": `touch needs-node`,
	} {
		//nolint:gosec,forbidigo // a program of the test
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+does+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "sh", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TERM=xterm")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if text := string(out); strings.Contains(text, "\x1b") || !strings.HasSuffix(text, "\n\nbin/logq serve --store ./demo-store\n") {
		t.Errorf("%q", text)
	}
	if _, err := os.Stat(filepath.Join(dir, "needs-node")); err == nil {
		t.Error("the demo needs Node")
	}
}
