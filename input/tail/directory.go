package tail

import (
	"io/fs"
	"os"
	"path/filepath"
)

// directory is the listing of a directory.
type directory struct {
	// byInode are its regular files by inode.
	byInode map[uint64][]entry
	// rotations are its regular files by the names that they may have had before rotation.
	rotations map[string][]entry
}

// entry is a file of a directory.
type entry struct {
	path string
	info fs.FileInfo
	id   fileID
	// byName reports that the name proves the rotation.
	byName bool
}

// directories are listings, cached at the first read. An unreadable one is nil.
type directories map[string]*directory

func (d directories) read(dir string) *directory {
	if known, ok := d[dir]; ok {
		return known
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		d[dir] = nil
		return nil
	}
	here := &directory{make(map[uint64][]entry), make(map[string][]entry)}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		found := entry{path: filepath.Join(dir, e.Name()), info: info}
		found.id = idOf(found.path, info)
		here.byInode[found.id.inode] = append(here.byInode[found.id.inode], found)
		for origin, byName := range origins(e.Name()) {
			found.byName = byName
			here.rotations[origin] = append(here.rotations[origin], found)
		}
	}
	d[dir] = here
	return here
}

// rotations are the files that may be rotated files of a path.
func (d directories) rotations(place string) []entry {
	here := d.read(filepath.Dir(place))
	if here == nil {
		return nil
	}
	return here.rotations[filepath.Base(place)]
}

// find finds the file of a position: at its path, then in the directory of the path and
// in that of its link target. If it is not found, info is nil, and certain reports that
// it does not exist there.
func (d directories) find(p position) (path string, info fs.FileInfo, certain bool) {
	if info, err := os.Stat(p.path); err == nil {
		if e := (entry{path: p.path, info: info, id: idOf(p.path, info)}); e.id == p.id && p.isAt(e) {
			return p.path, info, true
		}
	}
	dirs := []string{filepath.Dir(p.path)}
	if p.target != "" {
		dirs = append(dirs, filepath.Dir(p.target))
	} else if target, err := filepath.EvalSymlinks(p.path); err == nil && filepath.Dir(target) != dirs[0] {
		dirs = append(dirs, filepath.Dir(target))
	}
	certain = true
	for _, dir := range dirs {
		here := d.read(dir)
		if here == nil {
			certain = false
			continue
		}
		for _, e := range here.byInode[p.id.inode] {
			if info, err := os.Stat(e.path); err != nil || idOf(e.path, info) != e.id {
				return "", nil, false // it is being renamed
			}
			if p.isAt(e) {
				return e.path, e.info, true
			}
		}
	}
	return "", nil, certain
}

// isAt reports whether an entry with the inode of p is p's file: the inode may be another
// file's now, and the device number may have changed.
func (p position) isAt(e entry) bool {
	if e.id != p.id && p.print.length == 0 || !p.mayBeAt(e.path) {
		return false
	}
	f, err := os.Open(e.path)
	if err != nil {
		return e.id == p.id
	}
	defer func() { _ = f.Close() }()
	return matchesContent(p, f, e.info.Size())
}
