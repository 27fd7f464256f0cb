package fsutil

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// linkNew links temp to path if that is free.
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

// renameNew is for file systems without hard links: under the lock of the temporary files'
// directory it checks that the name is free and renames.
func renameNew(temp, path string) (err error) {
	lock, err := Files{}.Lock(filepath.Join(filepath.Dir(temp), "publish.lock"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if exists(path) {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	return os.Rename(temp, path) //nolint:forbidigo // The caller syncs.
}

// Lock waits for the lock of a file, which is created if missing, and holds it until it is closed
// or the process ends.
func (f Files) Lock(path string) (io.Closer, error) {
	if err := f.Step("open"); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if err := lock(file, LockExclusive, true); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	return file, nil
}

// LockMode is a kind of lock of an open file.
type LockMode int

const (
	// LockExclusive is a lock beside which there is no other.
	LockExclusive LockMode = iota
	// LockShared is a lock beside which there are only shared ones.
	LockShared
	// LockNone is no lock.
	LockNone
)

// TryLock sets the lock of an open file without waiting; closing the file and the end of the process release it. If another process
// holds the lock, the error is [syscall.EWOULDBLOCK].
func TryLock(f *os.File, mode LockMode) error { return lock(f, mode, false) }
