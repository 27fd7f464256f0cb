package tail

import (
	"cmp"
	"iter"
	"maps"
	"path/filepath"
	"slices"
)

// actions are what to do with files, in order. They depend on each other: each must be
// executed, so that the known files reflect it, before the next one is asked for.
type actions = iter.Seq2[*candidate, action]

// resolve yields the actions for a file that is not being read. The last one is for the
// file itself.
func (v view) resolve(c *candidate) actions {
	return func(yield func(*candidate, action) bool) {
		a := v.identify(c)
		for ; a.verb == replaced; a = v.identify(c) {
			if !yield(c, a) || !v.yieldReplaced(c, a.from, yield) {
				return
			}
			if v.known.isLive(c.id) { // it is the copy
				a = action{verb: skip}
				break
			}
		}
		yield(c, a)
	}
}

// yieldReplaced yields the actions for a file of which c has the identity now.
func (v view) yieldReplaced(c *candidate, p position, yield func(*candidate, action) bool) bool {
	v.dirs = newListing(v.dirs.fs)
	resumed := false
	for e, a := range v.lost(p) {
		if !yield(e, a) {
			return false
		}
		resumed = a.verb == resumeCopy
	}
	c.fromEnd = c.fromEnd && isCompressed(c) // otherwise it was written since the last run
	return resumed || yield(c, action{verb: orphan, from: p})
}

// lost yields the actions for the copies of a file that was truncated, replaced or
// deleted, newest first. The last one is resumeCopy if the rest of the file is in a copy.
func (v view) lost(p position) actions {
	return func(yield func(*candidate, action) bool) {
		if p.print.length == 0 || p.kind != plain {
			return
		}
		candidates := slices.Clone(v.dirs.rotations(p.resolvedPath()))
		slices.SortFunc(candidates, func(a, b entry) int { return cmp.Compare(b.modified, a.modified) })
		for _, e := range candidates {
			q, known := v.known.past(e.id)
			if v.known.isLive(e.id) || known && q.kind != copied && q.id != p.id && q.distinguishing() {
				continue
			}
			c := &candidate{entry: e, source: p.source, unmatched: true}
			a, isCopy := v.compareLost(p, c)
			done := isCopy && !yield(c, a) || isCopy && a.verb == resumeCopy
			if c.close(); done {
				return
			}
		}
	}
}

// compareLost decides about a file that may be a copy of one that is lost. It opens the file.
func (v view) compareLost(p position, c *candidate) (action, bool) {
	r, now, err := v.dirs.fs.open(c.path)
	if err != nil {
		return action{}, false
	}
	if c.content = r; now.id != c.id {
		return action{}, false
	}
	c.entry, c.place = now, v.dirs.resolved(now.path)
	kind := plain
	if isCompressed(r) {
		if kind = compressed; !isComplete(r) {
			return action{}, false
		}
	}
	head, err := readHead(r, kind)
	switch {
	case err != nil || !p.startsLike(head):
		return action{}, false
	case kind == plain && now.size < p.offset: // more was read than was copied
		return action{verb: markCopy}, true
	}
	return action{verb: resumeCopy, kind: kind, from: p}, true
}

// unread are the files of a directory that are not being read and not ignored, but may have
// unread data: known files that were renamed, then files that may be rotated files of known
// ones, the oldest first.
func (v view) unread(dir string, ignore func(entry) bool) []entry {
	listed := v.dirs.read(dir)
	if listed == nil {
		return nil
	}
	renamed, rotated := make(map[fileID]entry), make(map[fileID]entry)
	mayBeUnread := func(e entry) bool { return !v.known.isLive(e.id) && !ignore(e) && v.mayHaveMore(e) }
	for inode, entries := range listed.byInode {
		for _, e := range entries {
			if len(v.known.byInode[inode]) > 0 && mayBeUnread(e) && v.isRenamed(e) {
				renamed[e.id] = e
			}
		}
	}
	for origin, entries := range listed.rotations {
		if v.once || !v.isRead(filepath.Join(dir, origin)) {
			continue
		}
		for _, e := range entries {
			if _, ok := renamed[e.id]; !ok && mayBeUnread(e) {
				rotated[e.id] = e
			}
		}
	}
	oldestFirst := func(a, b entry) int { return cmp.Compare(a.modified, b.modified) }
	return append(slices.SortedFunc(maps.Values(renamed), oldestFirst), slices.SortedFunc(maps.Values(rotated), oldestFirst)...)
}

// mayHaveMore reports whether something may be unread of a file that is not being read.
func (v view) mayHaveMore(e entry) bool {
	p, known := v.known.past(e.id)
	return !known || e.size != p.offset || e.modified != p.modified
}

// isRenamed reports whether a file is one that was not read to its end at another path.
func (v view) isRenamed(e entry) bool {
	return slices.ContainsFunc(v.known.byInode[e.id.inode], func(k *known) bool {
		return k.past.kind != copied && e.path != k.past.path && v.matches(k.past.path) && v.dirs.isAt(k.past, e)
	})
}

// isRead reports whether files with a resolved path are read.
func (v view) isRead(place string) bool {
	return slices.ContainsFunc(v.known.at(place), func(k *known) bool { return k.live != nil || v.matches(k.past.path) })
}

// gone are the files that are not being read and do not exist any more, oldest first.
func (v view) gone() []position {
	var all []position
	for _, k := range v.known.byID {
		if k.live != nil {
			continue
		}
		if _, found, certain := v.dirs.find(k.past); !found && certain {
			all = append(all, k.past)
		}
	}
	slices.SortFunc(all, func(a, b position) int { return cmp.Compare(a.modified, b.modified) })
	return all
}
