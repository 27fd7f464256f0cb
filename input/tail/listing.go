package tail

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"logstow/internal/fsutil"
)

// entry is a file of a directory, as listed.
type entry struct {
	path     string
	id       fileID
	size     int64
	modified int64 // Unix nanoseconds
	pipe     bool  // not a regular file
}

func newEntry(path string, info fs.FileInfo) entry {
	return entry{path, idOf(info), info.Size(), info.ModTime().UnixNano(), !info.Mode().IsRegular()}
}

// version changes when a file changes. It includes the size because the clock of a file system may be
// too coarse to distinguish two modifications.
type version struct{ modified, size int64 }

func (e entry) version() version { return version{e.modified, e.size} }

// fileSystem is the file system of the operating system, or a model of it in tests.
type fileSystem interface {
	// readDir lists the regular files of a directory.
	readDir(dir string) ([]entry, error)
	// stat returns the entry of a file. It follows symbolic links.
	stat(path string) (entry, error)
	// open opens a file and returns its entry. It follows symbolic links.
	open(path string) (content, entry, error)
	// resolve returns a path with symbolic links resolved.
	resolve(path string) (string, error)
}

// system is the file system of the operating system.
type system struct{}

func (system) readDir(dir string) ([]entry, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []entry
	for _, f := range files {
		if info, err := f.Info(); err == nil && info.Mode().IsRegular() {
			all = append(all, newEntry(filepath.Join(dir, f.Name()), info))
		}
	}
	return all, nil
}

func (system) stat(path string) (entry, error) {
	info, err := os.Stat(path)
	if err != nil {
		return entry{}, err
	}
	return newEntry(path, info), nil
}

func (system) open(path string) (content, entry, error) {
	f, e, err := openFile(path)
	if err != nil { // a nil *os.File in the interface would not be nil
		return nil, entry{}, err
	}
	return f, e, nil
}

func (system) resolve(path string) (string, error) { return filepath.EvalSymlinks(path) }

// openFile opens a file for reading without waiting for the writer of a pipe. A regular file that
// cannot be read is an error, because files are identified by their content.
func openFile(path string) (*os.File, entry, error) {
	f, err := fsutil.Open(path)
	if err != nil {
		return nil, entry{}, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		if _, err = f.ReadAt(make([]byte, 1), 0); errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, entry{}, err
	}
	return f, newEntry(path, info), nil
}

// directory is the listing of a directory.
type directory struct {
	byInode map[uint64][]entry
	// rotations has the files by the names that they may have had before rotation.
	rotations map[string][]entry
}

// listing caches directories, each as it was when it was first read. An unreadable one is nil.
type listing struct {
	fs   fileSystem
	dirs map[string]*directory
}

func newListing(fs fileSystem) listing { return listing{fs, make(map[string]*directory)} }

func (l listing) read(dir string) *directory {
	if d, ok := l.dirs[dir]; ok {
		return d
	}
	entries, err := l.fs.readDir(dir)
	if err != nil {
		l.dirs[dir] = nil
		return nil
	}
	d := &directory{make(map[uint64][]entry), make(map[string][]entry)}
	for _, e := range entries {
		d.byInode[e.id.inode] = append(d.byInode[e.id.inode], e)
		for origin := range origins(filepath.Base(e.path)) {
			d.rotations[origin] = append(d.rotations[origin], e)
		}
	}
	l.dirs[dir] = d
	return d
}

// exists reports whether there is a file or directory at a path; true if that is unknown.
func (l listing) exists(path string) bool {
	_, err := l.fs.stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// resolved returns a path with symbolic links resolved, as far as possible.
func (l listing) resolved(path string) string {
	if target, err := l.fs.resolve(path); err == nil {
		return target
	}
	if dir, err := l.fs.resolve(filepath.Dir(path)); err == nil { // the file was just renamed
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// find finds the file of a position: at its path, then in the directory of the path and
// in that of its link target. If it is not found, certain reports that it does not
// exist there.
func (l listing) find(p position) (e entry, found, certain bool) {
	if e, err := l.fs.stat(p.path); err == nil && e.id == p.id && l.isAt(p, e) {
		return e, true, true
	}
	dirs := []string{filepath.Dir(p.path)}
	if p.target != "" {
		dirs = append(dirs, filepath.Dir(p.target))
	} else if target, err := l.fs.resolve(p.path); err == nil && filepath.Dir(target) != dirs[0] {
		dirs = append(dirs, filepath.Dir(target))
	}
	certain = true
	for _, dir := range dirs {
		d := l.read(dir)
		if d == nil {
			certain = false
			continue
		}
		for _, e := range d.byInode[p.id.inode] {
			if now, err := l.fs.stat(e.path); err != nil || now.id != e.id {
				return entry{}, false, false // it is being renamed
			}
			if l.isAt(p, e) {
				return e, true, true
			}
		}
	}
	return entry{}, false, certain
}

// isAt reports whether an entry with the inode of p is p's file. The inode may belong to another
// file now, and the device number may have changed.
func (l listing) isAt(p position, e entry) bool {
	if e.id != p.id && p.print.length == 0 || !p.mayBeAt(e.path) {
		return false
	}
	r, _, err := l.fs.open(e.path)
	if err != nil {
		return e.id == p.id
	}
	defer func() { _ = r.Close() }()
	return matchesContent(p, r, e.size)
}
