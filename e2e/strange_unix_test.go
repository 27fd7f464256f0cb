//go:build unix

package e2e

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// In place of a file of a buffer or a store there is a directory or a named pipe: no program waits for it, and what ends says why.
func TestNoFileInItsPlace(t *testing.T) {
	t.Parallel()
	made := t.TempDir()
	if err := os.WriteFile(filepath.Join(made, "in.log"), []byte(sample), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(dir string, command []string) (status int, text string) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, programPath(command[0]), command[1:]...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "LOGSTOW_CACHE_SIZE=0")
		out, err := cmd.CombinedOutput()
		if ended := (*exec.ExitError)(nil); ctx.Err() != nil || err != nil && !errors.As(err, &ended) {
			t.Fatalf("%q: %v, %s", command, err, out)
		}
		return cmd.ProcessState.ExitCode(), string(out)
	}
	ship := strings.Fields("shipper run --once --retry-for 1s --buffer-dir buffer --service shop --store store in.log")
	if status, text := run(made, ship); status != 0 {
		t.Fatal(text)
	}
	commands := map[string][][]string{
		"buffer": {ship, strings.Fields("shipper status --buffer-dir buffer")},
		"store":  {ship, strings.Fields("shipper verify --store store"), strings.Fields("logq query --store store --from 2000-01-01 --utc")},
	}
	files := 0
	err := filepath.WalkDir(made, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(made, path)
		top, _, _ := strings.Cut(name, string(filepath.Separator))
		if err != nil || !d.Type().IsRegular() || commands[top] == nil {
			return err
		}
		files++
		for kind, replace := range map[string]func(path string) error{
			"pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
			"directory": func(path string) error { return os.MkdirAll(filepath.Join(path, "full"), 0o700) },
		} {
			for _, command := range commands[top] {
				dir := filepath.Join(t.TempDir(), "copy")
				path := filepath.Join(dir, name)
				if err := errors.Join(os.CopyFS(dir, os.DirFS(made)), os.Remove(path), replace(path)); err != nil {
					t.Fatal(err)
				}
				status, text := run(dir, command)
				if status == 3 && strings.Contains(text, "cannot open buffer") && !strings.Contains(text, "\nhint: move it elsewhere") {
					t.Errorf("a %s in place of %s: %q: no hint in %q", kind, name, command[:2], text)
				}
				if status > 3 || status == 2 {
					t.Errorf("a %s in place of %s: %q: status %d, %q", kind, name, command[:2], status, text)
				}
			}
		}
		return nil
	})
	if err != nil || files < 6 {
		t.Errorf("%d files, %v", files, err)
	}
}
