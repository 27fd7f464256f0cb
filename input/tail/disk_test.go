package tail

import (
	"bytes"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// disk is a model of a file system with one directory. It reuses inodes as soon as it can.
type disk struct {
	device uint64
	files  map[string]*diskFile
	free   []uint64
	last   uint64
	clock  int64
}

type diskFile struct {
	disk        *disk
	inode       uint64
	data        []byte
	modified    int64
	names, open int
}

func newDisk() *disk { return &disk{device: 1, files: make(map[string]*diskFile), clock: 1e18} }

func (d *disk) create(path string, data []byte) *diskFile {
	d.remove(path)
	f := &diskFile{disk: d, data: data, names: 1}
	if n := len(d.free); n > 0 {
		f.inode, d.free = d.free[n-1], d.free[:n-1]
	} else {
		d.last++
		f.inode = d.last
	}
	d.files[path] = f
	f.touch()
	return f
}

func (f *diskFile) touch() {
	f.disk.clock += 1e6
	f.modified = f.disk.clock
}

func (f *diskFile) release() {
	if f.names == 0 && f.open == 0 {
		f.disk.free = append(f.disk.free, f.inode)
	}
}

func (d *disk) remove(path string) {
	if f := d.files[path]; f != nil {
		delete(d.files, path)
		f.names--
		f.release()
	}
}

func (d *disk) rename(from, to string) {
	f := d.files[from]
	delete(d.files, from)
	d.remove(to)
	d.files[to] = f
}

func (d *disk) entry(path string) entry {
	f := d.files[path]
	return entry{path: path, id: fileID{d.device, f.inode}, size: int64(len(f.data)), modified: f.modified}
}

func (d *disk) readDir(dir string) ([]entry, error) {
	var all []entry
	for path := range d.files {
		if filepath.Dir(path) == dir {
			all = append(all, d.entry(path))
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	return all, nil
}

func (d *disk) stat(path string) (entry, error) {
	if d.files[path] == nil {
		return entry{}, fs.ErrNotExist
	}
	return d.entry(path), nil
}

func (d *disk) open(path string) (content, entry, error) {
	f := d.files[path]
	if f == nil {
		return nil, entry{}, fs.ErrNotExist
	}
	f.open++
	return &diskHandle{f: f}, d.entry(path), nil
}

func (d *disk) resolve(path string) (string, error) { return path, nil }

type diskHandle struct {
	f      *diskFile
	closed bool
}

// ReadAt implements [io.ReaderAt].
func (h *diskHandle) ReadAt(p []byte, at int64) (int, error) {
	return bytes.NewReader(h.f.data).ReadAt(p, at)
}

// Close implements [io.Closer].
func (h *diskHandle) Close() error {
	if h.closed {
		return fs.ErrClosed
	}
	h.closed = true
	h.f.open--
	h.f.release()
	return nil
}
