package tail

import (
	"cmp"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"time"
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

// rotated are the files of a directory that are not being read and not ignored, oldest
// first, that may be rotated files of known ones.
func (v view) rotated(dir string, ignore func(entry) bool) []entry {
	listed := v.dirs.read(dir)
	if listed == nil {
		return nil
	}
	byID := make(map[fileID]entry)
	for origin, entries := range listed.rotations {
		if len(v.known.at(filepath.Join(dir, origin))) == 0 {
			continue
		}
		for _, e := range entries {
			if !v.known.isLive(e.id) && !ignore(e) && v.mayHaveMore(e) {
				byID[e.id] = e
			}
		}
	}
	return slices.SortedFunc(maps.Values(byID), func(a, b entry) int { return cmp.Compare(a.modified, b.modified) })
}

// mayHaveMore reports whether something may be unread of a file that is not being read, unless
// it was just renamed: then renamed finds it.
func (v view) mayHaveMore(e entry) bool {
	p, known := v.known.past(e.id)
	if !known {
		return true
	}
	unchanged := e.size == p.offset && e.modified == p.modified
	return !unchanged && (!p.distinguishing() || !v.dirs.isAt(p, e))
}

// relocation is where a file that was at p.path is now.
type relocation struct {
	entry
	from position
}

// relocated returns the files that are not being read: those with unread data that are at
// another path now, and those that do not exist any more, both oldest first.
func (v view) relocated() (renamed []relocation, gone []position) {
	for _, k := range v.known.byID {
		if k.live != nil {
			continue
		}
		p := k.past
		e, found, certain := v.dirs.find(p)
		settled := p.kind != compressed && e.size == p.offset && v.now.Sub(time.Unix(0, e.modified)) > v.rotateWait
		switch {
		case !found && certain:
			gone = append(gone, p)
		case found && p.kind != copied && e.path != p.path && !settled:
			renamed = append(renamed, relocation{e, p})
		}
	}
	slices.SortFunc(renamed, func(a, b relocation) int { return cmp.Compare(a.modified, b.modified) })
	slices.SortFunc(gone, func(a, b position) int { return cmp.Compare(a.modified, b.modified) })
	return renamed, gone
}
