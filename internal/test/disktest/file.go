package disktest

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"syscall"

	"logstow/buffer/disk"
)

// file is an open file.
type file struct {
	fs     *FS
	node   *inode
	closed bool
}

// Create makes a new file.
func (f *FS) Create(path string) (disk.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.step(); err != nil {
		return nil, err
	}
	if f.names[path] != nil {
		return nil, &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	node := &inode{links: 1}
	if err := f.take(blocks(0)); err != nil {
		return nil, &fs.PathError{Op: "create", Path: path, Err: err}
	}
	f.names[path] = node
	return f.open(node), nil
}

// open makes a handle of a file. mu is held.
func (f *FS) open(node *inode) *file {
	f.handles++
	return &file{fs: f, node: node}
}

// Open opens a file.
func (f *FS) Open(path string) (disk.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.step(); err != nil {
		return nil, err
	}
	if f.openError != nil && strings.Contains(path, f.unopened) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: f.openError}
	}
	node := f.names[path]
	if node == nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return f.open(node), nil
}

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.fs.dead {
		return 0, ErrDead
	}
	if off >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.node.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) WriteAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	tear, err := f.fs.step()
	if err != nil {
		if !tear {
			return 0, err
		}
		p = p[:len(p)/2]
	}
	whole := len(p)
	if size := f.grow(off + int64(len(p))); size < off+int64(len(p)) {
		p, err = p[:max(0, size-off)], errors.Join(err, syscall.ENOSPC)
	}
	f.node.low = min(f.node.low, int(off))
	n := copy(f.node.data[min(off, int64(len(f.node.data))):], p)
	if err == nil && n < whole {
		err = io.ErrShortWrite
	}
	return n, err
}

// grow grows a file to size, or as far as there is space, and returns its size.
func (f *file) grow(size int64) int64 {
	had := int64(len(f.node.data))
	if size <= had {
		return size
	}
	more := blocks(int(size)) - blocks(int(had))
	if c := f.fs.capacity; c > 0 && f.fs.used+f.fs.others+more > c {
		more = max(0, c-f.fs.used-f.fs.others) / Block * Block
		size = max(had, blocks(int(had))+more)
	}
	if f.node.links > 0 {
		f.fs.used += more
	}
	f.node.low = min(f.node.low, int(had))
	f.node.data = append(f.node.data, make([]byte, size-had)...)
	return size
}

func (f *file) Truncate(size int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if _, err := f.fs.step(); err != nil {
		return err
	}
	if size < int64(len(f.node.data)) {
		if f.node.links > 0 {
			f.fs.used += blocks(int(size)) - blocks(len(f.node.data))
		}
		f.node.data = f.node.data[:size]
		f.node.low = min(f.node.low, int(size))
	}
	return nil
}

func (f *file) Allocate(size int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if _, err := f.fs.step(); err != nil {
		return err
	}
	if f.grow(size) < size {
		return syscall.ENOSPC
	}
	return nil
}

func (f *file) Size() (int64, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return int64(len(f.node.data)), nil
}

func (f *file) Sync() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if _, err := f.fs.step(); err != nil {
		return err
	}
	n := f.node
	low := min(n.low, len(n.synced), len(n.data))
	n.synced = append(n.synced[:low], n.data[low:]...)
	n.low = len(n.data)
	return nil
}

func (f *file) Close() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.closed {
		return fs.ErrClosed
	}
	f.closed = true
	f.fs.handles--
	return nil
}
