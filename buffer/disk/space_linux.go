package disk

import (
	"errors"
	"fmt"
	"syscall"
)

// Space returns the size of the file system that a directory is on.
func (OS) Space(dir string) (Space, error) {
	var st syscall.Statfs_t
	if err := retry(func() error { return syscall.Statfs(dir, &st) }); err != nil {
		return Space{}, fmt.Errorf("statfs %s: %w", dir, err)
	}
	unit := int64(st.Bsize) //nolint:unconvert // 32 bits on other architectures
	return Space{Total: int64(st.Blocks) * unit, Free: int64(st.Bavail) * unit}, nil
}

// Allocate allocates space; if the file system does not support that, it writes zeros.
func (f file) Allocate(size int64) error {
	err := retry(func() error { return syscall.Fallocate(int(f.Fd()), 0, 0, size) })
	switch {
	case errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.ENOSYS):
		return f.fill(size)
	case err != nil:
		return fmt.Errorf("allocate %s: %w", f.Name(), err)
	}
	return nil
}

// retry repeats a system call while signals interrupt it.
func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
