package tempfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"logstow/internal/hint"
	"logstow/internal/tempfile"
)

func TestCreateAndRemove(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, err := tempfile.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt([]byte("text"), 0); err != nil {
		t.Error(err)
	}
	if err := tempfile.Remove(file); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v left", left, err)
	}
}

// Some systems cannot remove the name of an open file: Remove does.
func TestRemoveOfName(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	if err := tempfile.Remove(file); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(file.Name()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is left: %v", err)
	}
}

// An error names TMPDIR only if that determines the directory.
func TestHint(t *testing.T) { //nolint:paralleltest // TMPDIR
	missing := filepath.Join(t.TempDir(), "missing")
	_, err := tempfile.Create(missing)
	if !errors.Is(err, fs.ErrNotExist) || hint.Of(err) != "" {
		t.Errorf("error %v, hint %q", err, hint.Of(err))
	}
	t.Setenv("TMPDIR", missing)
	for _, dir := range []string{"", os.TempDir()} {
		if _, err := tempfile.Create(dir); !errors.Is(err, fs.ErrNotExist) || hint.Of(err) == "" {
			t.Errorf("%q: error %v, hint %q", dir, err, hint.Of(err))
		}
	}
}
