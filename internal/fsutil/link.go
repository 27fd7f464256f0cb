package fsutil

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// linkNew gives temp the name path if that is free.
func linkNew(temp, path string) error {
	err := os.Link(temp, path)
	if linksUnsupported(err) {
		return renameNew(temp, path)
	}
	return err
}

func linksUnsupported(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EPERM)
}

// renameNew is for file systems without hard links: whoever holds the lock of
// the temporary files' directory may look whether the name is free and rename.
// The lock ends with its holder.
func renameNew(temp, path string) (err error) {
	lock, err := os.OpenFile(filepath.Join(filepath.Dir(temp), "publish.lock"), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	if exists(path) {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	return os.Rename(temp, path) //nolint:forbidigo // The caller syncs.
}
