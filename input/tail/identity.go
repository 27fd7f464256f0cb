package tail

import (
	"bytes"
	"cmp"
	"iter"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"time"
)

const (
	// compressSettle is how long a compressed file of more than smallCompressed bytes
	// must be unmodified before it is read.
	compressSettle  = time.Second
	smallCompressed = 1 << 20
	// lateWrites is how long a program may write to a file after it was rotated.
	lateWrites = 24 * time.Hour
)

// verb is what to do with a file that was found.
type verb uint8

const (
	// skip: do not read the file until it is modified.
	skip verb = iota
	// wait: undecided; identify it again at the next poll.
	wait
	// start: read the file from action.offset.
	start
	// resume: it is the file of action.from; continue there.
	resume
	// resumeCopy: it is a copy of the file of action.from, which is gone; continue in the copy.
	resumeCopy
	// markCopy: its content was or will be read from another file.
	markCopy
	// replaced: its identity is that of action.from, its content is not: forget that one.
	replaced
	// orphan: there is no copy of the file of action.from, which is gone; one may appear.
	orphan
)

// action is what to do with a file.
type action struct {
	verb verb
	kind kind
	// from is the position to continue at and, for start, the file whose rotated file this
	// is, if any.
	from position
	// offset and print are where to start, and the fingerprint of what is before.
	offset int64
	print  fingerprint
	// original is the file that is being read of which this is, or may be, a copy.
	original live
}

// discovery is how a file that is not being read is identified.
type discovery struct {
	// fromEnd reads an unknown file from its end, includeCompressed reads unknown
	// compressed files.
	fromEnd, includeCompressed bool
	// knownOnly decides about it only if its identity and content are those of a known file;
	// otherwise the last action is wait.
	knownOnly bool
}

// actions are what to do with files, in order. They depend on each other: each must be
// executed, so that the known files reflect it, before the next one is asked for.
type actions = iter.Seq2[*candidate, action]

// view is what actions are decided by: the known files, the directories and the time. Its
// methods change none of them, and have no other input but the content of files.
type view struct {
	known *catalog
	dirs  listing
	now   time.Time
	// starting reports that the first scan is running, watchingSince is when the watcher
	// started; zero if it did not.
	starting      bool
	watchingSince time.Time
	rotateWait    time.Duration
	// firstScan is the time of the first scan of the patterns that match a file, Unix nanoseconds.
	firstScan func(position) int64
}

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

// identify decides what to do with a file that is not being read.
func (v view) identify(c *candidate) action {
	kind := plain
	switch {
	case c.unmatched && c.size == 0, c.mayBeCompressed():
		return action{verb: skip}
	case isCompressed(c):
		kind = compressed
		if c.size > smallCompressed && v.age(c) < compressSettle && !v.starting {
			return action{verb: wait}
		}
	}
	a := v.decide(c, kind)
	if a.kind = kind; a.verb == resume {
		a.kind = a.from.kind
	}
	reads := a.verb == start || a.verb == resume || a.verb == resumeCopy
	switch {
	case kind == compressed && (reads || a.verb == markCopy) && c.grew(): // decided by a part of it
		return action{verb: wait}
	case reads && a.kind == compressed && !isComplete(c):
		return action{verb: wait}
	}
	return a
}

func (v view) age(c *candidate) time.Duration { return v.now.Sub(time.Unix(0, c.modified)) }

// decide is identify without checking that a compressed file is complete.
func (v view) decide(c *candidate, kind kind) action {
	p, known := v.lookUp(c)
	if c.knownOnly && known && !p.distinguishing() {
		return action{verb: wait}
	}
	if known && !p.distinguishing() {
		if a, ok := v.byContent(c, kind); ok {
			return a
		}
	}
	if known {
		switch fits := p.mayBeAt(c.path) && matchesContent(p, c, c.size); {
		case fits && p.kind == copied && c.size == p.offset:
			return action{verb: skip}
		case p.kind == copied: // it was modified and may be a copy no more
		case fits:
			return action{verb: resume, from: p}
		default:
			return action{verb: replaced, from: p}
		}
	}
	if c.knownOnly {
		return action{verb: wait}
	}
	if a, ok := v.byContent(c, kind); ok {
		return a
	}
	return v.unknown(c, kind)
}

// unknown decides about a file that is neither a known one nor a copy of one.
func (v view) unknown(c *candidate, kind kind) action {
	origin, unseen := v.rotatedUnseen(c)
	a := action{verb: start}
	switch {
	case c.unmatched && !unseen, kind == compressed && !unseen && !c.includeCompressed:
		return action{verb: skip}
	case kind == compressed && unseen && v.mayBeOpenedEarly(c) && v.waited(c) < minPollGap:
		return action{verb: wait} // until the files opened by the watcher are known
	case c.unmatched || kind == compressed && unseen:
		a.from = origin
	}
	if !c.fromEnd {
		return a
	}
	switch {
	case kind == compressed && c.includeCompressed:
		return action{verb: markCopy, kind: kind} // the next run must not read it either
	case kind == compressed:
		return action{verb: skip}
	}
	if print, err := readFingerprint(c, c.size); err == nil { // else it was just truncated
		a.offset, a.print = c.size, print
	}
	return a
}

// lookUp returns the position of a file that is not being read, also if its device number changed.
func (v view) lookUp(c *candidate) (position, bool) {
	if p, ok := v.known.past(c.id); ok {
		return p, true
	}
	for _, p := range v.known.onOtherDevices(c.id) {
		modified := p.kind == copied && p.offset != c.size // it may be a copy no more
		if filepath.Dir(p.resolvedPath()) == filepath.Dir(c.place) && p.print.length > 0 && !modified && matchesContent(p, c, c.size) {
			return p, true
		}
	}
	return position{}, false
}

// waited is how long a file was deferred.
func (v view) waited(c *candidate) time.Duration {
	if c.deferred.IsZero() {
		return 0
	}
	return v.now.Sub(c.deferred)
}

// mayBeOpenedEarly reports whether the original of a compressed file may have been opened
// by the watcher. The clock of file systems lags a little.
func (v view) mayBeOpenedEarly(c *candidate) bool {
	return !v.watchingSince.IsZero() && c.modified > v.watchingSince.Add(-time.Second).UnixNano()
}

// original is a known file of which another may be the copy or the rotated file.
type original struct {
	position
	live   live
	byName bool
}

// originals are the known files of which the name of c may be the rotated name.
func (v view) originals(c *candidate) []original {
	var all []original
	for origin, byName := range origins(filepath.Base(c.place)) {
		for _, k := range v.known.at(filepath.Join(filepath.Dir(c.place), origin)) {
			all = append(all, original{k.position(), k.live, byName})
		}
	}
	return all
}

// rotatedUnseen reports whether c has the rotated name of a file that is read, and was
// written after the first scan: then it was rotated before it was seen.
func (v view) rotatedUnseen(c *candidate) (origin position, ok bool) {
	for _, o := range v.originals(c) {
		if !o.byName || o.kind == copied || o.id == c.id {
			continue
		}
		if c.modified >= v.firstScan(o.position) || c.fromEnd && v.age(c) < lateWrites { // it may still be written to
			return o.position, true
		}
	}
	return position{}, false
}

// byContent looks for a known file of which c has the rotated name and the first bytes:
// then c is a copy of it, maybe compressed.
func (v view) byContent(c *candidate, kind kind) (action, bool) {
	var head []byte
	for _, o := range v.originals(c) {
		if o.id == c.id || o.kind == copied && (!o.byName || o.print.length < maxFingerprint) {
			continue
		}
		if head == nil {
			var err error
			if head, err = readHead(c, kind); err != nil {
				return action{verb: wait}, true
			}
		}
		a, decided := action{}, false
		switch {
		case o.live != nil:
			a, decided = v.compareLive(o, c, kind, head)
		case !o.startsLike(head):
		case o.kind == copied: // decompressed by hand, perhaps
			return action{verb: skip}, true
		case o.byName || o.print.length == maxFingerprint:
			a, decided = v.comparePast(o.position, c, kind)
		}
		if decided && a.verb == markCopy && kind == compressed && !isComplete(c) {
			return action{verb: wait}, true
		}
		if decided {
			return a, true
		}
	}
	return action{}, false
}

// comparePast decides about a file that starts like the file of p, which is not being read.
func (v view) comparePast(p position, c *candidate, kind kind) (action, bool) {
	e, exists, _ := v.dirs.find(p)
	if !exists {
		if kind == plain {
			p.offset = min(p.offset, c.size)
		}
		return action{verb: resumeCopy, from: p}, true
	}
	r, _, err := v.dirs.fs.open(e.path)
	if err != nil {
		return action{}, false
	}
	defer func() { _ = r.Close() }()
	return action{verb: markCopy}, kind != plain || sameContent(c, r, c.size, e.size)
}

// compareLive decides about a file with a head that may be a copy of one that is being read.
func (v view) compareLive(o original, c *candidate, kind kind, head []byte) (action, bool) {
	undecided := action{verb: wait, original: o.live}
	r, size, err := o.live.content()
	if err != nil {
		return undecided, true
	}
	own, err := readHead(r, o.kind)
	alike := err == nil && bytes.HasPrefix(own, head)
	switch {
	case o.kind == plain && !o.matchesHead(r) && (alike || o.startsLike(head)): // it was just truncated, which decides about its copy
		return undecided, true
	case !alike:
		return action{}, false
	case len(head) == 0 && kind == compressed:
		return action{verb: markCopy}, true
	case len(head) == 0: // maybe a copy that is being written
		return action{verb: wait}, len(own) > 0 && v.waited(c) < v.rotateWait
	case kind == plain && o.kind == plain && !sameContent(c, r, c.size, size):
		return action{}, false
	}
	return action{verb: markCopy, original: o.live}, true
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

// firstScanOf is the time of the first scan of the patterns that match a file.
func firstScanOf(patterns []*pattern, p position) int64 {
	since := int64(math.MaxInt64)
	for _, pattern := range patterns {
		if pattern.scanned && pattern.names(p.path) {
			at := pattern.firstScan
			if at == 0 { // unknown
				at = p.modified
			}
			since = min(since, at)
		}
	}
	return since
}
