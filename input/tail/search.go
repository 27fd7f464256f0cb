package tail

import (
	"cmp"
	"path/filepath"
	"slices"
)

// unread returns the files of a directory that are not being read, but may have unread data. If
// copies is set, the first are those that may be copies of files that do not exist any more. Then
// follow those that ignore does not exclude: known files that were renamed, and files with the
// rotated name of a known one. In both groups the newest file comes first.
func (v view) unread(dir string, copies bool, ignore func(entry) bool) []*candidate {
	listed := v.dirs.read(dir)
	if listed == nil {
		return nil
	}
	lost, more := make(map[fileID]entry), make(map[fileID]entry)
	for inode, entries := range listed.byInode {
		for _, e := range entries {
			if len(v.known.byInode[inode]) > 0 && !ignore(e) && v.mayHaveMore(e) && v.isRenamed(e) {
				more[e.id] = e
			}
		}
	}
	for origin, entries := range listed.rotations {
		path := filepath.Join(dir, origin)
		if !v.isRead(path) {
			continue
		}
		isLost := copies && v.isLost(path)
		for _, e := range entries {
			p, known := v.known.past(e.id)
			if isLost && !v.known.isLive(e.id) && (!known || p.kind == copied || !p.distinguishing()) {
				lost[e.id] = e
			}
			if !ignore(e) && v.mayHaveMore(e) {
				more[e.id] = e
			}
		}
	}
	return append(newestFirst(lost, discovery{copyOnly: true}), newestFirst(more, discovery{})...)
}

// newestFirst returns candidates that no pattern matches, the newest first.
func newestFirst(entries map[fileID]entry, how discovery) []*candidate {
	var all []*candidate
	for _, e := range entries {
		all = append(all, &candidate{entry: e, source: filepath.Base(e.path), unmatched: true, discovery: how})
	}
	slices.SortFunc(all, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.modified, a.modified), cmp.Compare(a.path, b.path))
	})
	return all
}

// mayHaveMore reports whether a file is not being read and may have unread data.
func (v view) mayHaveMore(e entry) bool {
	p, known := v.known.past(e.id)
	return !v.known.isLive(e.id) && (!known || e.size != p.offset || e.modified != p.modified)
}

// isLost reports whether a file with a resolved path does not exist any more.
func (v view) isLost(resolved string) bool {
	return slices.ContainsFunc(v.known.at(resolved), func(k *knownFile) bool {
		if k.live != nil || k.past.kind != plain || k.past.print.length == 0 {
			return false
		}
		_, exists, _ := v.dirs.find(k.past)
		return !exists
	})
}

// isRenamed reports whether a file is a known one that was read at another path.
func (v view) isRenamed(e entry) bool {
	return slices.ContainsFunc(v.known.byInode[e.id.inode], func(k *knownFile) bool {
		return k.past.kind != copied && e.path != k.past.path && v.matches(k.past.path) && v.dirs.isAt(k.past, e)
	})
}

// isRead reports whether files with a resolved path are read.
func (v view) isRead(resolved string) bool {
	return slices.ContainsFunc(v.known.at(resolved), func(k *knownFile) bool { return k.live != nil || v.matches(k.past.path) })
}
