package tail

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
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
	if f != nil && !f.isAt(newEntry(found.path, found.info)) {
		t.stop(f) // its inode is another file's now
		f = nil
	}
	if f == nil {
		if v, ok := t.skipped[id]; ok && handle == nil && v == newEntry(found.path, found.info).version() {
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
		delete(t.deferred, found.path)
		t.updatePath(f, found)
		return
	}
	if f = t.tryAdmit(found, handle, &candidate{discovery: how}); f == nil {
		return
	}
	if f.renamed {
		f.displaced = true
	}
	t.byPath[found.path] = f
	if target, err := filepath.EvalSymlinks(found.path); err == nil {
		t.byPath[target] = f
	}
}

// tryAdmit is admit with the result logged, and remembered if the file is not read.
func (t *Tailer) tryAdmit(found found, handle *os.File, c *candidate) *file {
	f, decided, err := t.admit(found, handle, c)
	switch t.logOutage(found.path, explain(err)); {
	case err != nil:
	case !decided:
		if t.deferred[found.path].IsZero() {
			t.deferred[found.path] = t.opts.Now()
		}
	default:
		delete(t.deferred, found.path)
		if f == nil {
			t.skip(newEntry(found.path, found.info))
		}
	}
	return f
}

// maxSkipped is the maximum length of skipped.
const maxSkipped = 1 << 16

// skip marks a file as skipped until it is modified.
func (t *Tailer) skip(e entry) {
	if len(t.skipped) >= maxSkipped {
		clear(t.skipped)
	}
	t.skipped[e.id] = e.version()
}

// updatePath handles a known file found at a path.
func (t *Tailer) updatePath(f *file, found found) {
	if f.path != found.path {
		if info, err := os.Stat(f.path); err == nil && idOf(f.path, info) == f.id && f.goneSince.IsZero() {
			return // it has several paths
		}
		f.path, f.renamed, f.displaced = found.path, true, true
	}
	f.goneSince = time.Time{}
	f.displaced = f.renamed
	t.byPath[found.path] = f
	if f.changed(found.info) {
		t.setDue(f)
	}
}

// nameLost handles a file that is not at its path any more.
func (t *Tailer) nameLost(f *file) {
	t.removePaths(f)
	if t.files[f.id] != f {
		return
	}
	t.displace(f)
	t.setDue(f)
	t.markChanged(filepath.Dir(f.resolvedPath()))
}

func (t *Tailer) removePaths(f *file) {
	for _, path := range []string{f.path, f.firstPath, f.resolvedPath()} {
		if t.byPath[path] == f {
			delete(t.byPath, path)
		}
	}
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
	delete(t.deferred, path)
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
		if t.covers(p, path) {
			info, err := os.Stat(path)
			return found{path: path, source: p.sourceOf(path), info: info}, err
		}
	}
	return found{}, errNoPattern
}

var errNoPattern = errors.New("no pattern matches")

// scan evaluates all patterns. how is the discovery of new files.
func (t *Tailer) scan(w *watcher, how func(*pattern) discovery) {
	present := make(map[fileID]bool)
	for _, p := range t.patterns {
		files, errs := t.find(p, w.add)
		t.logOutage(p.text, joined(errs))
		if p.rest != "" {
			w.add(absolute(p.base))
		}
		files = slices.DeleteFunc(files, func(f found) bool {
			w.add(filepath.Dir(f.path))
			id := idOf(f.path, f.info)
			duplicate := present[id]
			present[id] = true
			return duplicate
		})
		t.observeAll(files, how(p))
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

// observeAll observes the files of a pattern: unknown files after known ones, and rotated
// files after those of which they have the rotated names, as they may be copies of these.
func (t *Tailer) observeAll(files []found, how discovery) {
	knownOnly := how
	knownOnly.knownOnly = true
	var unknown []found
	for _, f := range files {
		if t.known.byID[idOf(f.path, f.info)] != nil {
			t.observe(f, nil, knownOnly)
		}
		if _, undecided := t.deferred[f.path]; undecided || t.known.byID[idOf(f.path, f.info)] == nil {
			unknown = append(unknown, f)
		}
	}
	slices.SortStableFunc(unknown, func(a, b found) int { return cmp.Compare(len(a.path), len(b.path)) })
	for _, f := range unknown {
		t.observe(f, nil, how)
	}
}

// dirClock is the resolution of the modification times of directories, with a margin.
const dirClock = 2 * time.Second

// dirState is a directory of known files.
type dirState struct {
	modified time.Time
	// changed reports that it is to be searched for rotated files.
	changed bool
}

// markChanged marks a directory to be searched for rotated files.
func (t *Tailer) markChanged(dir string) {
	s := t.dirStates[dir]
	s.changed = true
	t.dirStates[dir] = s
	t.anyChanged = true
}

// checkDirTimes marks the directories of known files that changed since the last call:
// files that were rotated before they were seen may be there.
func (t *Tailer) checkDirTimes() {
	current := make(map[string]dirState)
	for dir, s := range t.dirStates {
		if s.changed {
			current[dir] = s
		}
	}
	checked := make(map[string]bool)
	for place := range t.byPath {
		dir := filepath.Dir(place)
		if checked[dir] {
			continue
		}
		checked[dir] = true
		s := t.dirStates[dir]
		info, err := os.Stat(dir)
		switch {
		case err != nil:
			s.modified = time.Time{}
		case !info.ModTime().Equal(s.modified):
			s.changed, s.modified, t.anyChanged = true, time.Time{}, true
			if t.opts.Now().Sub(info.ModTime()) > dirClock {
				s.modified = info.ModTime()
			}
		}
		current[dir] = s
	}
	t.dirStates = current
}

// scanRotated searches changed directories for files that were rotated before they were
// seen at a path that a pattern matches, oldest first.
func (t *Tailer) scanRotated() {
	for _, k := range t.known.byID {
		if k.state == removed {
			k.state = searched
		}
	}
	t.anyChanged = false
	for dir, s := range t.dirStates {
		if !s.changed {
			continue
		}
		s.changed = false
		t.dirStates[dir] = s
		candidates := t.view().rotated(dir, func(e entry) bool {
			v, skipped := t.skipped[e.id]
			return skipped && v == e.version() || t.matches(e.path)
		})
		maps.DeleteFunc(t.deferred, func(path string, _ time.Time) bool { // they are decided otherwise
			return filepath.Dir(path) == dir && !t.matches(path) &&
				!slices.ContainsFunc(candidates, func(e entry) bool { return e.path == path })
		})
		for _, e := range candidates {
			t.admitRotated(e)
		}
	}
}

// admitRotated reads such a file if the decision is so.
func (t *Tailer) admitRotated(e entry) {
	info, err := os.Lstat(e.path)
	if err != nil || idOf(e.path, info) != e.id {
		t.deferred[e.path] = t.opts.Now() // it was just renamed
		return
	}
	t.tryAdmit(found{path: e.path, source: filepath.Base(e.path), info: info}, nil, &candidate{unmatched: true, discovery: discovery{fromEnd: t.isFirstScan(e.path)}})
}

// isFirstScan reports whether the patterns of the files of which path may be the rotated
// name are in their first scan.
func (t *Tailer) isFirstScan(path string) bool {
	if !t.starting {
		return false
	}
	for origin := range origins(filepath.Base(path)) {
		for _, k := range t.known.at(filepath.Join(filepath.Dir(path), origin)) {
			p := k.position()
			if slices.ContainsFunc(t.patterns, func(pattern *pattern) bool { return pattern.isNew && pattern.names(p.path) }) {
				return true
			}
		}
	}
	return false
}
