// Package fsutil writes files durably: a temporary file is written, synced and closed, then renamed
// or linked to its name, then the directory is synced. After a crash at any point a name refers to
// a complete file or to none.
package fsutil

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// tempMark is part of the names of files that were never published.
const tempMark = ".tmp"

// writeSize is the maximum size of a write in one system call. Linux stores what a call writes in the largest pages
// possible; on a virtual machine, free pages of 2 MiB and more may first have to be fetched from the host.
const writeSize = 512 << 10

// mkdirTries bounds how often a directory that others prune is recreated.
const mkdirTries = 100

// Replace is [Files.Replace] without faults and mask.
func Replace(tempDir, path string, body []byte) error { return Files{}.Replace(tempDir, path, body) }

// Files performs file operations. The zero value is ready to use.
type Files struct {
	// Fault is called before each step of an operation, which fails with its error: tests use it to
	// simulate full and failing disks. Nil injects no faults.
	Fault func(step string) error
	// Mask is removed from the modes of new files and directories, in addition to the umask.
	Mask fs.FileMode
}

// Step is the error of Fault at a step, for the caller's own operations.
func (f Files) Step(step string) error {
	if f.Fault == nil {
		return nil
	}
	return f.Fault(step)
}

// Replace durably writes body to a file at path, new or in place of an existing one, through a temporary file in tempDir, which must
// exist in the same file system. Missing directories above path are created. After an error the file may or may not be written, but
// never in part. Modes are subject to the umask.
func (f Files) Replace(tempDir, path string, body []byte) error {
	t, err := f.NewTemp(tempDir, body)
	if err != nil {
		return err
	}
	defer t.Discard()
	top, err := t.Rename(path)
	if err != nil {
		return err
	}
	return f.SyncDirs(filepath.Dir(path), top)
}

// Temp is a complete and synced file without a name yet. It ends with Discard.
type Temp struct {
	path  string
	info  fs.FileInfo
	files Files
}

// NewTemp writes body to a temporary file in tempDir and syncs it. Its modification time is the
// current time in the clock's full resolution.
func (f Files) NewTemp(tempDir string, body []byte) (*Temp, error) {
	return f.NewTempFrom(tempDir, bytes.NewReader(body))
}

// NewTempFrom is NewTemp with what body has up to its end.
func (f Files) NewTempFrom(tempDir string, body io.Reader) (*Temp, error) {
	t := &Temp{path: filepath.Join(tempDir, rand.Text()+tempMark), files: f}
	if err := t.write(body); err != nil {
		t.Discard()
		return nil, err
	}
	return t, nil
}

func (t *Temp) write(body io.Reader) (err error) {
	if err := t.files.Step("create"); err != nil {
		return err
	}
	file, err := os.OpenFile(t.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666&^t.files.Mask)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, file.Close(), t.files.Step("close"))
	}()
	if err := t.files.Step("write"); err != nil {
		return err
	}
	if _, err := io.Copy(pieces{file}, body); err != nil {
		return err
	}
	// The kernel's own timestamp has a resolution of some milliseconds.
	now := time.Now()
	if err := os.Chtimes(t.path, now, now); err != nil {
		return err
	}
	if err := t.files.Step("sync"); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	t.info, err = file.Stat()
	return err
}

// pieces writes to a file in calls of at most writeSize. It is no io.ReaderFrom, which would copy in the kernel.
type pieces struct{ file *os.File }

func (p pieces) Write(b []byte) (n int, err error) {
	for piece := range slices.Chunk(b, writeSize) {
		written, err := p.file.Write(piece)
		n += written
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// Path is the temporary name.
func (t *Temp) Path() string { return t.path }

// Info is the file information of a file of [NewTemp].
func (t *Temp) Info() fs.FileInfo { return t.info }

// Link gives the file a name that must be free, otherwise the error is [fs.ErrExist], and creates
// missing directories above it. The name is durable only once SyncDirs(filepath.Dir(path), top)
// returned nil.
func (t *Temp) Link(path string) (top string, err error) { return t.publish(path, linkNew) }

// Rename is Link, but replaces an existing file.
func (t *Temp) Rename(path string) (top string, err error) {
	return t.publish(path, os.Rename) //nolint:forbidigo // This is the place that syncs.
}

func (t *Temp) publish(path string, move func(temp, path string) error) (top string, err error) {
	for range mkdirTries {
		top, err = t.publishOnce(path, move)
		// Unless the file itself is gone, another process pruned the directory, which was empty.
		if !errors.Is(err, fs.ErrNotExist) || !exists(t.path) {
			break
		}
	}
	return top, err
}

func (t *Temp) publishOnce(path string, move func(temp, path string) error) (top string, err error) {
	top, err = t.files.mkdirAll(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	if err := t.files.Step("publish"); err != nil {
		return "", err
	}
	return top, move(t.path, path)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Discard removes the temporary name; a published file is kept.
func (t *Temp) Discard() { _ = os.Remove(t.path) }

// MkdirAll durably creates a directory and the missing ones above it.
func (f Files) MkdirAll(dir string) error {
	top, err := f.mkdirAll(dir)
	if err != nil || top == dir {
		return err
	}
	return f.SyncDirs(dir, top)
}

// mkdirAll creates a directory and the missing ones above it. It returns the lowest that existed
// before.
func (f Files) mkdirAll(dir string) (existing string, err error) {
	existing = dir
	for !exists(existing) && existing != filepath.Dir(existing) {
		existing = filepath.Dir(existing)
	}
	if existing != dir {
		if err := f.Step("mkdir"); err != nil {
			return "", err
		}
	}
	return existing, os.MkdirAll(dir, 0o777&^f.Mask)
}

// SyncDirs makes the names in dir, and in those above it up to top, durable.
func (f Files) SyncDirs(dir, top string) error {
	if err := f.Step("sync directory"); err != nil {
		return err
	}
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

// syncDir syncs one directory. A directory with write but without read permission cannot be synced, and none on Windows, whose
// file system logs changes of names.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// RemoveStale removes temporary files in tempDir that were last written before the given time:
// those of crashed writers.
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
