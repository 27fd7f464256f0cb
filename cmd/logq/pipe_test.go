package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// broken is a writer that fails as a connection does whose other end is gone.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// A reader of standard output that leaves ends a command with success; a broken connection elsewhere does not.
func TestBrokenPipe(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "app.log")
	if err := os.WriteFile(file, []byte("2026-11-20T15:04:05Z INFO started\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"query", "--file", file}, {"stats", "--file", file}, {"query", "--file", file, "--count"}} {
		for _, c := range []struct {
			stdout io.Writer
			want   int
		}{{pipe{broken{}}, 0}, {broken{}, 3}} {
			var errs bytes.Buffer
			env := environment{getenv: func(string) string { return "" }, stdin: &bytes.Buffer{}, stdout: c.stdout, stderr: &errs, now: time.Now, tempDir: t.TempDir()}
			if status := run(t.Context(), append([]string{"logq"}, args...), env); status != c.want || (errs.Len() > 0) != (c.want > 0) {
				t.Errorf("%v to %T: status %d, want %d: %s", args, c.stdout, status, c.want, errs.Bytes())
			}
		}
	}
}
