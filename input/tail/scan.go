package tail

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// observe handles a file found at a path that a pattern matches: a known file is due if
// it changed, another one is admitted. handle, if not nil, is the open file.
func (t *Tailer) observe(found found, handle *os.File, how discovery) {
	id := idOf(found.path, found.info)
	f := t.files[id]
	if f != nil && f.handle == nil && f.path != found.path && !f.isAt(found.path) {
		t.stop(f) // its inode is another file's now
		f = nil
	}
	if f == nil {
		if at, ok := t.skipped[id]; ok && handle == nil && at.Equal(found.info.ModTime()) {
			return
		}
	}
	if before := t.byPath[found.path]; before != nil && before.id != id {
		t.nameLost(before)
	}
	if f != nil {
		if handle != nil {
			_ = handle.Close()
		}
		t.updatePath(f, found)
		return
	}
	f, v, err := t.admit(found, handle, how)
	t.logOutage(found.path, explain(err))
	switch {
	case err != nil:
	case v == wait:
		t.deferred[found.path] = true
	case v == skip:
		t.skip(id, found.info)
		delete(t.deferredSince, found.path)
	default:
		delete(t.deferredSince, found.path)
		if f.renamed {
			t.displaced[f] = true
		}
		t.byPath[found.path] = f
		if target, err := filepath.EvalSymlinks(found.path); err == nil {
			t.byPath[target] = f
		}
	}
}

// maxSkipped is the maximum length of skipped.
const maxSkipped = 1 << 16

// skip marks a file as skipped until it is modified.
func (t *Tailer) skip(id fileID, info fs.FileInfo) {
	if len(t.skipped) >= maxSkipped {
		clear(t.skipped)
	}
	t.skipped[id] = info.ModTime()
}

// updatePath handles a known file found at a path.
func (t *Tailer) updatePath(f *file, found found) {
	if f.path != found.path {
		if info, err := os.Stat(f.path); err == nil && idOf(f.path, info) == f.id && f.goneSince.IsZero() {
			return // it has several paths
		}
		f.path, f.renamed = found.path, true
		t.displaced[f] = true
	}
	if !f.goneSince.IsZero() {
		f.goneSince = time.Time{}
		if !f.renamed {
			delete(t.displaced, f)
		}
	}
	t.byPath[found.path] = f
	if f.changed(found.info) {
		t.due[f] = true
	}
}

// changed reports whether a file may have changed since it was read last.
func (f *file) changed(info fs.FileInfo) bool {
	return f.hasMore || info.Size() != f.source.Offset() && f.kind == plain || !info.ModTime().Equal(f.modified)
}

// isAt reports whether the file at a path is f, by its first bytes.
func (f *file) isAt(path string) bool {
	handle, err := openFile(path)
	if err != nil {
		return false
	}
	defer func() { _ = handle.Close() }()
	p := f.current()
	return f.kind == plain && p.mayBeAt(path) && p.matchesHead(handle)
}

// nameLost marks a file as displaced.
func (t *Tailer) nameLost(f *file) {
	for _, path := range []string{f.path, f.firstPath, f.resolvedPath()} {
		if t.byPath[path] == f {
			delete(t.byPath, path)
		}
	}
	if t.files[f.id] != f {
		return
	}
	if f.goneSince.IsZero() {
		f.goneSince = t.opts.Now()
	}
	t.displaced[f], t.due[f], t.active[f] = true, true, true
	t.changedDirs[filepath.Dir(f.resolvedPath())] = true
}

// checkPath handles an event of a path.
func (t *Tailer) checkPath(path string, handle *os.File) {
	path = t.patternPath(path)
	found, err := t.statPath(path)
	if err == nil && handle != nil {
		found.info, err = handle.Stat()
	}
	switch before := t.byPath[path]; {
	case err == nil && found.info.Mode().IsRegular():
		t.observe(found, handle, discovery{})
		return
	case before != nil && errors.Is(err, fs.ErrNotExist):
		t.nameLost(before)
	}
	if handle != nil {
		_ = handle.Close()
	}
}

// patternPath is the path that a pattern matches, given a path or the target of its link.
func (t *Tailer) patternPath(path string) string {
	if f := t.byPath[path]; f != nil && f.target == path && !f.renamed {
		return f.firstPath
	}
	return path
}

// statPath is the file at a path that a pattern matches.
func (t *Tailer) statPath(path string) (found, error) {
	for _, p := range t.patterns {
		if !t.covers(p, path) {
			continue
		}
		info, err := os.Stat(path)
		return found{path: path, source: p.sourceOf(path), info: info}, err
	}
	return found{}, errNoPattern
}

var errNoPattern = errors.New("no pattern matches")

// scan evaluates all patterns. how is the discovery of new files.
func (t *Tailer) scan(w *watcher, how func(pattern) discovery) {
	present := make(map[fileID]bool)
	for _, p := range t.patterns {
		files, errs := t.find(p, w.add)
		t.logOutage(p.text, joined(errs))
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
			if _, known := t.history.byID[id]; known || t.files[id] != nil {
				t.observe(found, nil, how(p))
			} else {
				unknown = append(unknown, found)
			}
		}
		for _, found := range unknown { // they may be copies of known ones
			t.observe(found, nil, how(p))
		}
	}
	for id, f := range t.files {
		if f.goneSince.IsZero() && !present[id] {
			t.nameLost(f)
		}
		if f.target != "" {
			w.addTarget(f.target)
		}
	}
	t.checkDirTimes()
}

// dirClock is the resolution of the modification times of directories, with a margin.
const dirClock = 2 * time.Second

// checkDirTimes finds the directories of known files that changed since the last call:
// files that were rotated before they were seen may be there.
func (t *Tailer) checkDirTimes() {
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
		if at := info.ModTime(); !at.Equal(t.dirTimes[dir]) {
			t.changedDirs[dir] = true
			if t.opts.Now().Sub(at) > dirClock {
				dirs[dir] = at
			}
			continue
		}
		dirs[dir] = t.dirTimes[dir]
	}
	t.dirTimes = dirs
}

// scanRotated searches changed directories for files that were rotated before they were
// seen at a path that a pattern matches.
func (t *Tailer) scanRotated(dirs directories) {
	for id := range t.removed {
		t.removed[id] = true
	}
	rotated := t.changedDirs
	t.changedDirs = make(map[string]bool) // it may grow meanwhile
	for dir := range rotated {
		here := dirs.read(dir)
		if here == nil {
			continue
		}
		candidates := make(map[fileID]entry)
		for origin, entries := range here.rotations {
			if len(t.knownAt(filepath.Join(dir, origin))) == 0 {
				continue
			}
			for _, e := range entries {
				if t.isCandidate(e) {
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
			t.admitRotated(e)
		}
	}
}

// isCandidate reports whether a file that no pattern matches may be an unseen rotated file.
func (t *Tailer) isCandidate(e entry) bool {
	if t.files[e.id] != nil || t.matches(e.path) {
		return false
	}
	if at, passed := t.skipped[e.id]; passed && at.Equal(e.info.ModTime()) {
		return false
	}
	p, known := t.history.byID[e.id]
	if !known {
		return true
	}
	asBefore := e.info.Size() == p.offset && e.info.ModTime().UnixNano() == p.modified
	return !asBefore && (!p.distinguishing() || !p.isAt(e))
}

// admitRotated reads such a file if the decision is so.
func (t *Tailer) admitRotated(e entry) {
	how := discovery{unmatched: true, fromEnd: t.isFirstScan(e.path)}
	f, v, err := t.admit(found{path: e.path, source: filepath.Base(e.path), info: e.info}, nil, how)
	t.logOutage(e.path, explain(err))
	switch {
	case f != nil:
		delete(t.deferredSince, e.path)
		f.goneSince = t.opts.Now()
		t.displaced[f], t.active[f] = true, true
	case v == wait:
		t.deferredDirs[filepath.Dir(e.path)] = true
	case err == nil:
		delete(t.deferredSince, e.path)
		t.skip(e.id, e.info)
	}
}

// isFirstScan reports whether the patterns of the files of which path may be the rotated
// name are in their first scan.
func (t *Tailer) isFirstScan(path string) bool {
	if len(t.newPatterns) == 0 {
		return false
	}
	for origin := range origins(filepath.Base(path)) {
		for _, m := range t.knownAt(filepath.Join(filepath.Dir(path), origin)) {
			if slices.ContainsFunc(t.patterns, func(p pattern) bool { return t.newPatterns[p.absolute] && p.names(m.path) }) {
				return true
			}
		}
	}
	return false
}
