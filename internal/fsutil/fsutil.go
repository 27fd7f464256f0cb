// Package fsutil writes files durably: a temporary file is written, synced and
// closed, then published under its name, then the directory is synced. After a
// crash at any point a name holds a whole file or none.
package fsutil

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// tempMark is in the names of files that were never published.
const tempMark = ".tmp"

// mkdirTries bounds how often a directory that others keep pruning is made again.
const mkdirTries = 100

// WriteNew durably writes body to a new file at path. It goes through a
// temporary file in tempDir, which must exist in the same file system. A taken
// path is [fs.ErrExist] and untouched. Missing directories above path are made.
// When another error is returned the file may or may not be there, but never in
// part. Modes are what the umask leaves.
func WriteNew(tempDir, path string, body []byte) error {
	return write(tempDir, path, body, (*Temp).Link, noFault)
}

// Replace is WriteNew, except that a file which is there is replaced.
func Replace(tempDir, path string, body []byte) error {
	return write(tempDir, path, body, (*Temp).Rename, noFault)
}

func write(tempDir, path string, body []byte, publish func(*Temp, string) (string, error), f fault) error {
	t, err := newTemp(tempDir, body, f)
	if err != nil {
		return err
	}
	defer t.Discard()
	top, err := publish(t, path)
	if err != nil {
		return err
	}
	return t.sync(filepath.Dir(path), top)
}

// A fault is asked before each step of writing; tests make one fail.
type fault func(step string) error

func noFault(string) error { return nil }

// Temp is a whole and synced file that has no name yet. It ends with Discard.
type Temp struct {
	path  string
	info  fs.FileInfo
	fault fault
}

// NewTemp writes body to a temporary file in tempDir and syncs it. Its
// modification time is the present in the clock's full resolution.
func NewTemp(tempDir string, body []byte) (*Temp, error) { return newTemp(tempDir, body, noFault) }

func newTemp(tempDir string, body []byte, f fault) (*Temp, error) {
	t := &Temp{path: TempName(tempDir), fault: f}
	if err := t.write(body); err != nil {
		t.Discard()
		return nil, err
	}
	return t, nil
}

// TempName is a fresh name in tempDir that [RemoveStale] knows as a temporary file's.
func TempName(tempDir string) string { return filepath.Join(tempDir, rand.Text()+tempMark) }

// OpenTemp takes over a whole and synced file that was written by other means
// under a [TempName].
func OpenTemp(path string) *Temp { return &Temp{path: path, fault: noFault} }

func (t *Temp) write(body []byte) (err error) {
	if err := t.fault("create"); err != nil {
		return err
	}
	file, err := os.OpenFile(t.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, file.Close(), t.fault("close"))
	}()
	if err := t.fault("write"); err != nil {
		return err
	}
	if _, err := file.Write(body); err != nil {
		return err
	}
	// The kernel's own stamp is some milliseconds coarse.
	now := time.Now()
	if err := os.Chtimes(t.path, now, now); err != nil {
		return err
	}
	if err := t.fault("sync"); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	t.info, err = file.Stat()
	return err
}

// Path is the temporary name.
func (t *Temp) Path() string { return t.path }

// Info is what the file system says of a file of [NewTemp].
func (t *Temp) Info() fs.FileInfo { return t.info }

// Link gives the file a name that must be free, else the error is
// [fs.ErrExist], and makes missing directories above it. The name is durable
// only once SyncDirs(filepath.Dir(path), top) returned nil.
func (t *Temp) Link(path string) (top string, err error) { return t.publish(path, linkNew) }

// Rename is Link, except that a file which is there is replaced.
func (t *Temp) Rename(path string) (top string, err error) {
	return t.publish(path, os.Rename) //nolint:forbidigo // This is the place that syncs.
}

func (t *Temp) publish(path string, move func(temp, path string) error) (top string, err error) {
	for range mkdirTries {
		top, err = t.publishOnce(path, move)
		// Unless it is the file that is gone, somebody pruned the directory, which was empty.
		if !errors.Is(err, fs.ErrNotExist) || !exists(t.path) {
			break
		}
	}
	return top, err
}

func (t *Temp) publishOnce(path string, move func(temp, path string) error) (top string, err error) {
	top, err = mkdirAll(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	if err := t.fault("publish"); err != nil {
		return "", err
	}
	return top, move(t.path, path)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Discard removes the temporary name; a published file stays.
func (t *Temp) Discard() { _ = os.Remove(t.path) }

func (t *Temp) sync(dir, top string) error {
	if err := t.fault("sync directory"); err != nil {
		return err
	}
	return SyncDirs(dir, top)
}

// MkdirAll durably makes a directory and the missing ones above it.
func MkdirAll(dir string) error {
	top, err := mkdirAll(dir)
	if err != nil || top == dir {
		return err
	}
	return SyncDirs(dir, top)
}

// mkdirAll makes a directory and the missing ones above it. It returns the
// lowest that existed before.
func mkdirAll(dir string) (existing string, err error) {
	existing = dir
	for !exists(existing) && existing != filepath.Dir(existing) {
		existing = filepath.Dir(existing)
	}
	return existing, os.MkdirAll(dir, 0o777)
}

// SyncDirs makes the names in dir, and in those above it up to top, durable.
func SyncDirs(dir, top string) error {
	for {
		if err := syncDir(dir); err != nil {
			return err
		}
		if dir == top || dir == filepath.Dir(dir) {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}

// syncDir syncs one directory. One that may be written to but not read can not
// be synced.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
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
		if !strings.Contains(e.Name(), tempMark) {
			continue
		}
		info, err := e.Info()
		if err == nil && info.ModTime().Before(before) {
			err = os.Remove(filepath.Join(tempDir, e.Name()))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
