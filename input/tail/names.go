package tail

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// see looks at a file found under a name of the patterns: one that is known is
// looked at again if it changed, another one is read from now on. handle, if not
// nil, is the open file.
func (t *Tailer) see(found found, handle *os.File, how arrival) {
	id := idOf(found.path, found.info)
	f := t.files[id]
	if f != nil && f.handle == nil && f.path != found.path && !f.isAt(found.path) {
		t.drop(f) // its inode is another file's now
		f = nil
	}
	if f == nil {
		if at, ok := t.passed[id]; ok && handle == nil && at.Equal(found.info.ModTime()) {
			return
		}
	}
	if before := t.byPath[found.path]; before != nil && before.id != id {
		t.displace(before)
	}
	if f != nil {
		if handle != nil {
			_ = handle.Close()
		}
		t.recognize(f, found)
		return
	}
	f, v, err := t.admit(found, handle, how)
	t.complain(found.path, explain(err))
	switch {
	case err != nil:
	case v == later:
		t.again[found.path] = true
	case v == passed:
		t.leave(id, found.info)
		delete(t.since, found.path)
	default:
		delete(t.since, found.path)
		if f.moved {
			t.old[f] = true
		}
		t.byPath[found.path] = f
		if target, err := filepath.EvalSymlinks(found.path); err == nil {
			t.byPath[target] = f
		}
	}
}

// maxPassed bounds how many files are remembered that are not read.
const maxPassed = 1 << 16

// leave remembers that a file is not read as long as it is not written to.
func (t *Tailer) leave(id fileID, info fs.FileInfo) {
	if len(t.passed) >= maxPassed {
		clear(t.passed)
	}
	t.passed[id] = info.ModTime()
}

// recognize notes under which name a known file was found.
func (t *Tailer) recognize(f *file, found found) {
	if f.path != found.path {
		if info, err := os.Stat(f.path); err == nil && idOf(f.path, info) == f.id && f.gone.IsZero() {
			return // it has several names
		}
		f.path, f.moved = found.path, true
		t.old[f] = true
	}
	if !f.gone.IsZero() {
		f.gone = time.Time{}
		if !f.moved {
			delete(t.old, f)
		}
	}
	t.byPath[found.path] = f
	if f.changed(found.info) {
		t.work[f] = true
	}
}

// changed reports whether a file is not as it was when it was read last.
func (f *file) changed(info fs.FileInfo) bool {
	return f.unread || info.Size() != f.source.Offset() && f.kind == plain || !info.ModTime().Equal(f.modified)
}

// isAt reports whether the file at a path is f, by its beginning.
func (f *file) isAt(path string) bool {
	handle, err := openFile(path)
	if err != nil {
		return false
	}
	defer func() { _ = handle.Close() }()
	p := f.now()
	return f.kind == plain && p.mayBeAt(path) && p.fits(handle)
}

// displace says that a file lost its name.
func (t *Tailer) displace(f *file) {
	for _, path := range []string{f.path, f.home, f.place()} {
		if t.byPath[path] == f {
			delete(t.byPath, path)
		}
	}
	if t.files[f.id] != f {
		return
	}
	if f.gone.IsZero() {
		f.gone = t.opts.Now()
	}
	t.old[f], t.work[f], t.warm[f] = true, true, true
	t.rotated[filepath.Dir(f.place())] = true
}

// lookAt looks at what is at a path now, which something was said about.
func (t *Tailer) lookAt(path string, handle *os.File) {
	path = t.named(path)
	found, err := t.foundAt(path)
	if err == nil && handle != nil {
		found.info, err = handle.Stat()
	}
	switch before := t.byPath[path]; {
	case err == nil && found.info.Mode().IsRegular():
		t.see(found, handle, arrival{})
		return
	case before != nil && errors.Is(err, fs.ErrNotExist):
		t.displace(before)
	}
	if handle != nil {
		_ = handle.Close()
	}
}

// named is the path of the patterns that leads to a file, where it is reached by a link.
func (t *Tailer) named(path string) string {
	if f := t.byPath[path]; f != nil && f.real == path && !f.moved {
		return f.home
	}
	return path
}

// foundAt is the file at a path, if a pattern names it.
func (t *Tailer) foundAt(path string) (found, error) {
	for _, p := range t.patterns {
		if !t.covers(p, path) {
			continue
		}
		info, err := os.Stat(path)
		return found{path: path, source: p.sourceOf(path), info: info}, err
	}
	return found{}, errUnnamed
}

var errUnnamed = errors.New("no pattern names it")

// scan looks for all files that the patterns name. how says how to take the new ones.
func (t *Tailer) scan(w *watcher, how func(pattern) arrival) {
	present := make(map[fileID]bool)
	for _, p := range t.patterns {
		files, errs := t.find(p, w.add)
		t.complain(p.text, joined(errs))
		if p.rest != "" {
			w.add(absolute(p.base))
		}
		var unknown []found
		for _, found := range files {
			w.add(filepath.Dir(found.path))
			id := idOf(found.path, found.info)
			if present[id] {
				continue
			}
			present[id] = true
			if _, known := t.past.byID[id]; known || t.files[id] != nil {
				t.see(found, nil, how(p))
			} else {
				unknown = append(unknown, found)
			}
		}
		for _, found := range unknown { // which may be copies of those known
			t.see(found, nil, how(p))
		}
	}
	for id, f := range t.files {
		if f.gone.IsZero() && !present[id] {
			t.displace(f)
		}
		if f.real != "" {
			w.addTarget(f.real)
		}
	}
	t.changedDirs()
}

// dirClock is how exactly directories say when they were changed, with room to spare.
const dirClock = 2 * time.Second

// changedDirs notes the directories of known files in which names changed since it
// was called last: what was rotated before it was seen may be there.
func (t *Tailer) changedDirs() {
	dirs := make(map[string]time.Time)
	for place := range t.byPath {
		dir := filepath.Dir(place)
		if _, known := dirs[dir]; known {
			continue
		}
		dirs[dir] = time.Time{}
		info, err := os.Stat(dir)
		if err != nil {
			continue
		}
		if at := info.ModTime(); !at.Equal(t.changedAt[dir]) {
			t.rotated[dir] = true
			if t.opts.Now().Sub(at) > dirClock {
				dirs[dir] = at
			}
			continue
		}
		dirs[dir] = t.changedAt[dir]
	}
	t.changedAt = dirs
}

// siblings reads the files that were rotated before they were seen under a name
// of the patterns: those in directories where a file lost its name.
func (t *Tailer) siblings(dirs directories) {
	for id := range t.forgotten {
		t.forgotten[id] = true
	}
	rotated := t.rotated
	t.rotated = make(map[string]bool) // which may grow on the way
	for dir := range rotated {
		here := dirs.read(dir)
		if here == nil {
			continue
		}
		candidates := make(map[fileID]entry)
		for origin, entries := range here.rotations {
			if len(t.lineage(filepath.Join(dir, origin))) == 0 {
				continue
			}
			for _, e := range entries {
				if t.unknown(e) {
					candidates[e.id] = e
				}
			}
		}
		var all []entry
		for _, e := range candidates {
			all = append(all, e)
		}
		slices.SortFunc(all, func(a, b entry) int { return a.info.ModTime().Compare(b.info.ModTime()) })
		for _, e := range all {
			t.sibling(e)
		}
	}
}

// unknown reports whether a file that no pattern names is to be looked into.
func (t *Tailer) unknown(e entry) bool {
	if t.files[e.id] != nil || t.matches(e.path) {
		return false
	}
	if at, passed := t.passed[e.id]; passed && at.Equal(e.info.ModTime()) {
		return false
	}
	p, known := t.past.byID[e.id]
	if !known {
		return true
	}
	asBefore := e.info.Size() == p.offset && e.info.ModTime().UnixNano() == p.modified
	return !asBefore && (!p.telling() || !p.isAt(e))
}

// sibling reads one of them, if it is to be read.
func (t *Tailer) sibling(e entry) {
	how := arrival{sibling: true, fromEnd: t.isFirst(e.path)}
	f, v, err := t.admit(found{path: e.path, source: filepath.Base(e.path), info: e.info}, nil, how)
	t.complain(e.path, explain(err))
	switch {
	case f != nil:
		delete(t.since, e.path)
		f.gone = t.opts.Now()
		t.old[f], t.warm[f] = true, true
	case v == later:
		t.againIn[filepath.Dir(e.path)] = true
	case err == nil:
		delete(t.since, e.path)
		t.leave(e.id, e.info)
	}
}

// isFirst reports whether the files of which path's name may be a rotation are
// being looked at for the first time.
func (t *Tailer) isFirst(path string) bool {
	if len(t.first) == 0 {
		return false
	}
	for origin := range origins(filepath.Base(path)) {
		for _, m := range t.lineage(filepath.Join(filepath.Dir(path), origin)) {
			if slices.ContainsFunc(t.patterns, func(p pattern) bool { return t.first[p.absolute] && p.names(m.path) }) {
				return true
			}
		}
	}
	return false
}
