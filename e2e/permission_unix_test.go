//go:build unix

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestFoldersWithoutPermission wants the folder named; root, who may do
// everything, runs the command as nobody.
func TestFoldersWithoutPermission(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	closed := filepath.Join(dir, "closed")
	if err := os.Mkdir(closed, 0o500); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, programPath("shipper"),
		"run", "--once", "--buffer", "memory", "--service", "x", "--store", filepath.Join(closed, "store"), "-")
	if os.Getuid() == 0 {
		const nobody = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		for _, d := range []string{filepath.Dir(programPath("logq")), filepath.Dir(dir), dir} {
			if err := os.Chmod(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd.Stdin = strings.NewReader(sample)
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 4 || !strings.Contains(string(out), closed) {
		t.Errorf("%v, %q", err, out)
	}
}
