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

const (
	// keepGone is how long the position of a missing file is kept after it was stored, because its
	// directory may be mounted again.
	keepGone = 3 * 24 * time.Hour
	// dirClock is the resolution of the modification times of directories, with a margin.
	dirClock = 2 * time.Second
	// maxSkipped is the maximum number of files remembered as skipped.
	maxSkipped = 1 << 16
)

// scanner finds the files to be read.
type scanner struct {
	tracker
	// dirTimes are the modification times of the directories of files being read.
	dirTimes map[string]time.Time
}

// scan evaluates all patterns, and calls watch for the directories in which files may appear or change.
// discover returns how the new files of a pattern are identified.
func (s *scanner) scan(watch func(dir string), discover func(*pattern) discovery) {
	present := make(map[fileID]bool)
	for _, p := range s.patterns {
		files, errs := s.find(p, watch)
		s.note(p.text, joinErrors(errs))
		if p.rest != "" {
			watch(absolute(p.base))
			s.empty.noteFound(p.text, len(files)+len(errs) > 0, s.starting, s.opts.Now())
		}
		files = slices.DeleteFunc(files, func(c *candidate) bool {
			watch(filepath.Dir(c.path))
			duplicate := present[c.id]
			present[c.id] = true
			c.discovery = discover(p)
			return duplicate
		})
		s.observeAll(files)
	}
	for id, f := range s.files {
		if f.goneSince.IsZero() && !present[id] {
			s.displace(f)
		}
		if f.target != "" {
			watch(filepath.Dir(f.target))
		}
	}
	for path := range s.deferred {
		if !s.matches(path) {
			s.markChanged(path)
		} else if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			delete(s.deferred, path)
		}
	}
	s.checkDirTimes()
}

// observeAll observes the files of a pattern. Unknown files follow known ones, and a rotated file
// follows the file of which it has the rotated name, because it may be a copy of that file.
func (s *scanner) observeAll(files []*candidate) {
	var unknown []*candidate
	for _, c := range files {
		if s.known.byID[c.id] != nil {
			first := *c
			first.knownOnly = true
			s.observe(&first)
		}
		if _, undecided := s.deferred[c.path]; undecided || s.known.byID[c.id] == nil {
			unknown = append(unknown, c)
		}
	}
	slices.SortStableFunc(unknown, func(a, b *candidate) int { return cmp.Compare(len(a.path), len(b.path)) })
	for _, c := range unknown {
		s.observe(c)
	}
}

// observe handles a file at a path that a pattern matches. A file that is being read becomes due if
// it changed; another file is admitted.
func (s *scanner) observe(c *candidate) {
	f := s.files[c.id]
	if f != nil && !f.isAt(c.entry, s.dirs) {
		s.stop(f) // its inode is another file's now
		f = nil
	}
	if f == nil && c.content == nil && s.skips(c.entry) {
		return
	}
	if before := s.byPath[c.path]; before != nil && before.id != c.id {
		s.displace(before)
	}
	if f == nil {
		if f = s.tryAdmit(c); f != nil {
			s.byPath[c.path], s.byPath[c.resolved] = f, f
		}
		return
	}
	c.close()
	delete(s.deferred, c.path)
	if f.location != c.path {
		if e, err := s.dirs.fs.stat(f.location); err == nil && e.id == f.id && f.goneSince.IsZero() {
			return // it has several paths
		}
		f.location = c.path
	}
	f.goneSince = time.Time{}
	s.byPath[c.path] = f
	if f.changed(c.entry) {
		s.due[f] = true
	}
}

// tryAdmit is admit, and logs the result. It remembers a file that is not read.
func (s *scanner) tryAdmit(c *candidate) *file {
	found := c.entry
	f, decided, err := s.admit(c)
	switch s.note(c.path, err); {
	case err != nil, f == nil && c.copyOnly:
	case !decided:
		s.deferred[c.path] = cmp.Or(s.deferred[c.path], s.opts.Now())
	default:
		delete(s.deferred, c.path)
		if f == nil {
			if len(s.skipped) >= maxSkipped {
				clear(s.skipped)
			}
			s.skipped[found.id] = found.version()
		}
	}
	return f
}

// skips reports whether a file is skipped and did not change since.
func (s *scanner) skips(e entry) bool {
	v, skipped := s.skipped[e.id]
	return skipped && v == e.version()
}

// checkDirTimes marks the directories of the files being read that changed since the last call:
// files that were rotated before they were seen may be there.
func (s *scanner) checkDirTimes() {
	before := s.dirTimes
	s.dirTimes = make(map[string]time.Time)
	for path := range s.byPath {
		dir := filepath.Dir(path)
		if _, checked := s.dirTimes[dir]; checked {
			continue
		}
		s.dirTimes[dir] = time.Time{}
		info, err := os.Stat(dir)
		if err != nil {
			continue
		}
		if !info.ModTime().Equal(before[dir]) {
			s.markChanged(path)
		}
		if s.opts.Now().Sub(info.ModTime()) > dirClock { // it may change again at the same time
			s.dirTimes[dir] = info.ModTime()
		}
	}
}

// search identifies the files in changed directories that no pattern matches, but that may have
// unread data.
func (s *scanner) search() {
	s.known.beginSearch()
	for dir, copies := range maps.Clone(s.changed) {
		delete(s.changed, dir)
		found := s.view().unread(dir, copies, func(e entry) bool { return s.skips(e) || s.matches(e.path) && !s.opts.Once })
		maps.DeleteFunc(s.deferred, func(path string, _ time.Time) bool { // they are decided otherwise
			return filepath.Dir(path) == dir && !s.matches(path) &&
				!slices.ContainsFunc(found, func(c *candidate) bool { return c.path == path && !c.copyOnly })
		})
		for _, c := range found {
			if !s.known.isLive(c.id) { // otherwise it is a copy that is read now
				c.fromEnd = s.isFirstScan(c.path)
				s.tryAdmit(c)
			}
		}
	}
}

// isFirstScan reports whether the patterns of the files of which path may be the rotated
// name are in their first scan.
func (s *scanner) isFirstScan(path string) bool {
	return s.starting && s.hasOrigin(path, func(k *knownFile) bool { return s.isNew(k.position().path) })
}

// hasOrigin reports whether path may be the rotated name of a known file for which a condition holds.
func (s *scanner) hasOrigin(path string, holds func(*knownFile) bool) bool {
	for origin := range origins(filepath.Base(path)) {
		if slices.ContainsFunc(s.known.at(filepath.Join(filepath.Dir(path), origin)), holds) {
			return true
		}
	}
	return false
}

// searchAll makes the next search cover all directories. With forget set, files that have been missing
// for keepGone are forgotten after it.
func (s *scanner) searchAll(forget bool) {
	for _, k := range s.known.byID {
		s.changed[filepath.Dir(k.past.path)] = true
		s.changed[filepath.Dir(k.past.resolvedPath())] = true
		if forget && k.live == nil && s.opts.Now().Sub(time.Unix(k.past.at, 0)) >= keepGone {
			if _, found, certain := s.dirs.find(k.past); !found && (certain || !s.dirs.exists(filepath.Dir(k.past.resolvedPath()))) {
				s.known.removed[k.past.id] = false
			}
		}
	}
}
