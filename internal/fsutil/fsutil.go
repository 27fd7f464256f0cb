// Package fsutil writes files durably: a temporary file is written, synced and
// closed, then published under its name, then the directory is synced. After a
// crash at any point a name holds a whole file or none.
package fsutil

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// tempSuffix marks files that were never published.
const tempSuffix = ".tmp"

// mkdirTries bounds how often a directory that others keep pruning is made again.
const mkdirTries = 100

// WriteNew durably writes body to a new file at path. It goes through a
// temporary file in tempDir, which must exist in the same file system. A taken
// path is [fs.ErrExist] and untouched. Missing directories above path are made.
// When another error is returned the file may or may not be there, but never in
// part. It returns what the file system says of the file. The modes are those
// that the umask leaves.
func WriteNew(tempDir, path string, body []byte) (fs.FileInfo, error) {
	return write(tempDir, path, body, publishNew, noFault)
}

// Replace is WriteNew, except that a file which is there is replaced.
func Replace(tempDir, path string, body []byte) (fs.FileInfo, error) {
	return write(tempDir, path, body, os.Rename, noFault)
}

// Publish makes the finished and synced file temp appear durably at path, as
// WriteNew does, and removes temp.
func Publish(temp, path string) error {
	err := publish(temp, path, publishNew, noFault)
	_ = os.Remove(temp)
	return err
}

// A fault is asked before each step; tests make it fail.
type fault func(step string) error

func noFault(string) error { return nil }

func write(tempDir, path string, body []byte, move func(temp, path string) error, f fault) (fs.FileInfo, error) {
	temp := filepath.Join(tempDir, rand.Text()+tempSuffix)
	info, err := writeTemp(temp, body, f)
	if err == nil {
		err = publish(temp, path, move, f)
	}
	// Gone already after a rename.
	_ = os.Remove(temp)
	if err != nil {
		return nil, err
	}
	return info, nil
}

// writeTemp leaves a whole, synced file at temp.
func writeTemp(temp string, body []byte, f fault) (info fs.FileInfo, err error) {
	if err := f("create"); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
		if err == nil {
			err = f("close")
		}
	}()
	if err := f("write"); err != nil {
		return nil, err
	}
	if _, err := file.Write(body); err != nil {
		return nil, err
	}
	// The clock's full resolution: the kernel's own stamp is some milliseconds coarse.
	now := time.Now()
	if err := os.Chtimes(temp, now, now); err != nil {
		return nil, err
	}
	if err := f("sync"); err != nil {
		return nil, err
	}
	if err := file.Sync(); err != nil {
		return nil, err
	}
	if err := f("stat"); err != nil {
		return nil, err
	}
	return file.Stat()
}

// publish moves temp to path and makes that durable.
func publish(temp, path string, move func(temp, path string) error, f fault) error {
	dir := filepath.Dir(path)
	for try := 1; ; try++ {
		made, err := MkdirAll(dir)
		if err != nil {
			return err
		}
		if err := f("publish"); err != nil {
			return err
		}
		err = move(temp, path)
		// Somebody pruned the directory, which was empty until now.
		if errors.Is(err, fs.ErrNotExist) && try < mkdirTries {
			if _, statErr := os.Lstat(temp); statErr == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		if err := f("sync directory"); err != nil {
			return err
		}
		return syncUp(dir, made)
	}
}

// publishNew gives temp the name path if that is free.
func publishNew(temp, path string) error {
	err := os.Link(temp, path)
	if linksUnsupported(err) {
		return renameNew(temp, path)
	}
	return err
}

func linksUnsupported(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EMLINK)
}

// renameNew is for file systems without hard links: whoever holds the lock of
// the temporary files' directory may look whether the name is free and rename.
func renameNew(temp, path string) (err error) {
	lock, err := os.OpenFile(filepath.Join(filepath.Dir(temp), "publish.lock"), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := lock.Close(); err == nil {
			err = closeErr
		}
	}()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	if _, err := os.Lstat(path); err == nil {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(temp, path)
}

// MkdirAll makes a directory and the missing ones above it. It returns the
// highest directory that existed before.
func MkdirAll(dir string) (existing string, err error) {
	existing = dir
	for {
		if _, err := os.Stat(existing); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		up := filepath.Dir(existing)
		if up == existing {
			break
		}
		existing = up
	}
	if existing == dir {
		return existing, nil
	}
	return existing, os.MkdirAll(dir, 0o777)
}

// syncUp syncs dir and the directories above it, up to top.
func syncUp(dir, top string) error {
	for {
		if err := SyncDir(dir); err != nil {
			return err
		}
		if dir == top || dir == filepath.Dir(dir) {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}

// SyncDir makes the names in a directory durable.
func SyncDir(dir string) (err error) {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := d.Close(); err == nil {
			err = closeErr
		}
	}()
	return d.Sync()
}

// RemoveStale removes temporary files in tempDir that were last written before
// the given time: what crashed writers left.
func RemoveStale(tempDir string, before time.Time) error {
	entries, err := os.ReadDir(tempDir)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), tempSuffix) {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.ModTime().Before(before) {
			continue
		}
		if err == nil {
			err = os.Remove(filepath.Join(tempDir, e.Name()))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
