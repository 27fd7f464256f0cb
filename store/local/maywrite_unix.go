//go:build unix

package local

import (
	"errors"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// mayWrite reports whether this process has the permissions that a database needs.
func mayWrite(path string) bool {
	for _, file := range []string{path, path + "-wal", path + "-shm"} {
		if err := unix.Access(file, unix.R_OK|unix.W_OK); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return unix.Access(filepath.Dir(path), unix.W_OK) == nil
}
