//go:build unix

package fsutil

import (
	"os"
	"syscall"
)

// Open opens a file to read it. It does not wait for the writer of a named pipe. On Windows others may rename and delete the file
// meanwhile, as they may elsewhere.
func Open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}
