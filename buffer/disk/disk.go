// Package disk is the part of a file system that the durable buffer uses, as an interface,
// so that tests can make any step of it fail, be torn or be lost.
package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"logstow/internal/fsutil"
)

// FS is a file system. Paths are absolute or relative as the operating system's.
// Files are made with mode 0600, directories with 0700.
type FS interface {
	// Create makes a new file; the error is fs.ErrExist if it exists.
	Create(path string) (File, error)
	// Open opens a file for reading and writing in place.
	Open(path string) (File, error)
	// List returns the files of a directory with their sizes, in order of name; a missing
	// directory has none.
	List(dir string) ([]Info, error)
	MkdirAll(dir string) error
	Rename(from, to string) error
	Link(from, to string) error
	Remove(path string) error
	// SyncDir makes the names in a directory durable.
	SyncDir(dir string) error
	// Space returns the size of the file system that a directory is on; the zero Space
	// if that is unknown.
	Space(dir string) (Space, error)
}

// Space is the size of a file system in bytes, and how much of it this process may still write.
type Space struct {
	Total, Free int64
}

// File is an open file.
type File interface {
	ReadAt(p []byte, off int64) (int, error)
	WriteAt(p []byte, off int64) (int, error)
	Truncate(size int64) error
	// Allocate grows a file to size and makes the file system allocate the space; the new
	// bytes are zero. The file must not be larger than size. After an error the file's size
	// is anything between the old and the new one.
	Allocate(size int64) error
	Size() (int64, error)
	Sync() error
	Close() error
}

// Info is a file in a listing.
type Info struct {
	Name string
	Size int64
}

// Full reports whether an error means that the disk, a quota or a file is full.
func Full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// OS is the operating system's file system.
type OS struct{}

// Create makes a new file.
func (OS) Create(path string) (File, error) { return open(path, os.O_RDWR|os.O_CREATE|os.O_EXCL) }

// Open opens a file.
func (OS) Open(path string) (File, error) { return open(path, os.O_RDWR) }

func open(path string, flags int) (File, error) {
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: path, Err: fsutil.ErrNotRegular}, f.Close())
	}
	return file{f}, nil
}

// List returns the regular files of a directory.
func (OS) List(dir string) ([]Info, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	infos := make([]Info, 0, len(entries))
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue
		}
		if err != nil {
			return nil, err
		}
		infos = append(infos, Info{Name: e.Name(), Size: info.Size()})
	}
	return infos, nil
}

// MkdirAll makes a directory and those above it.
func (OS) MkdirAll(dir string) error { return os.MkdirAll(dir, 0o700) }

// Rename renames a file.
func (OS) Rename(from, to string) error {
	return os.Rename(from, to) //nolint:forbidigo // the callers sync the directory
}

// Link makes a hard link to a file.
func (OS) Link(from, to string) error { return os.Link(from, to) }

// Remove removes a file.
func (OS) Remove(path string) error { return os.Remove(path) }

// SyncDir syncs a directory.
func (OS) SyncDir(dir string) error {
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// file adds Size to an os.File.
type file struct{ *os.File }

// Size is the file's length in bytes.
func (f file) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// fill writes zeros from the file's end up to size, and syncs them.
func (f file) fill(size int64) error {
	at, err := f.Size()
	zeros := make([]byte, 1<<20)
	for err == nil && at < size {
		n := min(size-at, int64(len(zeros)))
		_, err = f.WriteAt(zeros[:n], at)
		at += n
	}
	if err == nil {
		err = f.Sync()
	}
	return err
}

// ReadFile returns at most the first most bytes of a file.
func ReadFile(fsys FS, path string, most int64) (data []byte, err error) {
	file, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	size, err := file.Size()
	if err != nil {
		return nil, err
	}
	data = make([]byte, min(size, most))
	n, err := file.ReadAt(data, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("cannot read %s: %w", path, err)
	}
	return data[:n], nil
}
