package reread_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"logstow/internal/reread"
)

func TestFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "secret")
	parses := 0
	f := reread.New(path, func(b []byte) (string, error) {
		parses++
		if len(b) == 0 {
			return "", errors.New("empty")
		}
		return string(b), nil
	})
	if got, err := f.Get(0); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("missing file: got %q, %v, want an error that names it", got, err)
	}
	want := func(want string, maxAge time.Duration) {
		t.Helper()
		if got, err := f.Get(maxAge); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("secret", "one")
	want("one", 0)
	parses = 0
	want("one", 0)
	if parses != 0 {
		t.Errorf("an unchanged file was parsed %d times", parses)
	}
	want("one", time.Nanosecond)
	if parses != 1 {
		t.Errorf("a file read longer ago than the limit was parsed %d times, want once", parses)
	}
	// Replaced by another of the same size and age.
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	write("new", "two")
	if err := os.Chtimes(filepath.Join(dir, "new"), info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "new"), path); err != nil {
		t.Fatal(err)
	}
	want("two", 0)
	// Half written, and gone: what was read last stays, until there is better.
	write("secret", "")
	want("two", 0)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	want("two", 0)
	write("secret", "three")
	want("three", 0)
}

func TestFileTooLarge(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(path, make([]byte, 4<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	f := reread.New(path, func(b []byte) (int, error) { return len(b), nil })
	if n, err := f.Get(0); err == nil {
		t.Errorf("read %d bytes", n)
	}
}
