//go:build unix

package local_test

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"
)

// Users other than the owner cannot write to what is created, whatever the umask is.
func TestCompactedModes(t *testing.T) { //nolint:paralleltest // the umask is of the process
	before := syscall.Umask(0)
	defer syscall.Umask(before)
	dir := t.TempDir()
	s := openStore(t, dir)
	createOutput(t, s, outputName)
	err := filepath.WalkDir(filepath.Join(dir, "_compacted"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		want := fs.FileMode(0o644)
		if d.IsDir() {
			want = 0o755
		}
		if err == nil && info.Mode().Perm() != want {
			t.Errorf("%s has mode %s, want %s", path, info.Mode().Perm(), want)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
