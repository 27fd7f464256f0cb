package tail

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"time"

	"logstow/internal/decompress"
)

const (
	// compressSettle is how long a compressed file of more than smallCompressed bytes
	// must be unmodified before it is read.
	compressSettle  = time.Second
	smallCompressed = 1 << 20
	// lateWrites is how long a program may write to a file after it was rotated.
	lateWrites = 24 * time.Hour
	// minPollGap is the minimum time between two polls.
	minPollGap = 100 * time.Millisecond
)

// verb is what to do with a file that was found.
type verb uint8

const (
	// skip does not read the file until it is modified.
	skip verb = iota
	// wait is undecided: the file is identified again at the next poll.
	wait
	// start reads the file from action.offset.
	start
	// resume continues at action.from: that is the position of the file.
	resume
	// resumeCopy continues at action.from in a copy of the file of that position, which does not exist
	// any more.
	resumeCopy
	// markCopy stores that the content was or will be read from another file.
	markCopy
	// replaced is for a file with the identity, but not the content, of action.from: the file of that
	// position is lost. After that is recorded, the file is identified again.
	replaced
)

// action is what to do with a file.
type action struct {
	verb verb
	kind kind
	// from is the position to continue at. For start, it is the position of the file of which this is
	// the rotated file, if there is one.
	from position
	// offset is where to start, print the fingerprint of the bytes before it.
	offset int64
	print  fingerprint
	// original is the file being read of which this is, or may be, a copy. For markCopy, print is the
	// fingerprint of both.
	original live
}

// discovery configures how a file that is not being read is identified.
type discovery struct {
	// fromEnd reads an unknown file from its end, includeCompressed reads unknown
	// compressed files.
	fromEnd, includeCompressed bool
	// knownOnly decides only about a file with the identity and content of a known one; for others
	// the action is wait.
	knownOnly bool
	// copyOnly decides only about a copy of a file that does not exist any more; for others the
	// action is skip.
	copyOnly bool
}

// view is the input of decisions: the known files, the directories and the time. Its methods
// change none of them; besides, they only read the content of files.
type view struct {
	known *catalog
	dirs  listing
	now   time.Time
	// starting reports that the first scan is running, watchingSince is when the watcher
	// started; zero if it did not.
	starting      bool
	watchingSince time.Time
	rotateWait    time.Duration
	// matches reports whether a pattern matches a path. firstScan returns the time of the first scan of
	// the patterns that match a file, in Unix nanoseconds; the maximum if there was none.
	matches   func(path string) bool
	firstScan func(position) int64
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
	case kind == compressed && (reads || a.verb == markCopy) && c.grew(): // only a part of it was examined
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
	switch {
	case c.copyOnly:
		return v.copyOfLost(c, kind, p, known)
	case known && p.isWeak(c.size) && c.knownOnly: // it may be a copy of a file that is identified later
		return action{verb: wait}
	case known && !p.distinguishing():
		if a, ok := v.byContent(c, kind, 0); ok {
			return a
		}
	case known && p.isWeak(c.size):
		if a, ok := v.byContent(c, kind, int(p.print.length)+1); ok && a.verb == wait {
			return a
		} else if ok {
			return action{verb: replaced, from: p}
		}
	}
	if known {
		switch fits := p.mayBeAt(c.path) && matchesContent(p, c, c.size); {
		case fits && p.kind == copied && c.size == p.offset:
			return action{verb: skip}
		case p.kind == copied: // it was modified and may not be a copy any more
		case fits:
			return action{verb: resume, from: p}
		default:
			return action{verb: replaced, from: p}
		}
	}
	if c.knownOnly {
		return action{verb: wait}
	}
	if a, ok := v.byContent(c, kind, 0); ok {
		return a
	}
	return v.unknown(c, kind)
}

// copyOfLost decides about a file with [discovery].copyOnly. p is its position if it is known.
func (v view) copyOfLost(c *candidate, kind kind, p position, known bool) action {
	least := 0
	switch {
	case known && p.kind != copied && p.distinguishing():
		return action{verb: skip}
	case known && p.kind == copied && p.offset == c.size:
		least = int(p.print.length) // its original has the same bytes
	}
	if a, ok := v.byContent(c, kind, least); ok && a.verb == resumeCopy {
		return a
	}
	return action{verb: skip}
}

// unknown decides about a file that is neither known nor a copy of a known one.
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
		return action{verb: markCopy} // the next run must not read it either
	case kind == compressed:
		return action{verb: skip}
	}
	if print, err := readFingerprint(c, c.size); err == nil { // otherwise it was just truncated
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
		modified := p.kind == copied && p.offset != c.size // it may not be a copy any more
		if filepath.Dir(p.resolvedPath()) == filepath.Dir(c.resolved) && p.print.length > 0 && !modified && matchesContent(p, c, c.size) {
			return p, true
		}
	}
	return position{}, false
}

// waited returns how long a file has been deferred.
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

// original is a known file of which another file may be a copy or the rotated file. byName reports
// that the name alone proves the rotation.
type original struct {
	position
	live   live
	byName bool
}

// originals returns the known files of which the name of c may be the rotated name.
func (v view) originals(c *candidate) []original {
	var all []original
	for origin, byName := range origins(filepath.Base(c.resolved)) {
		for _, k := range v.known.at(filepath.Join(filepath.Dir(c.resolved), origin)) {
			all = append(all, original{k.position(), k.live, byName})
		}
	}
	return all
}

// rotatedUnseen reports whether c was rotated before it was found: it has the rotated name of
// a file that is read, and was written after the first scan.
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

// byContent looks for a known file of which c has the rotated name and at least so many first
// bytes: then c is a copy of it, which may be compressed. If there are several, the one with the most
// common bytes decides, because many files match a short fingerprint.
func (v view) byContent(c *candidate, kind kind, least int) (best action, found bool) {
	var head []byte
	for _, o := range v.originals(c) {
		switch {
		case o.id == c.id, o.kind == copied && (!o.byName || o.print.length < maxFingerprint):
			continue
		}
		if head == nil {
			var err error
			if head, err = readHead(c, kind); err != nil {
				return action{verb: wait}, true
			}
		}
		if o.live == nil && !o.startsLike(head) {
			continue
		}
		a, common := v.compare(o, c, kind, head)
		if a.verb == markCopy && kind == compressed && !c.copyOnly && !isComplete(c) {
			a = action{verb: wait}
		}
		if common > least || common == least && (!found || c.copyOnly && a.verb == resumeCopy) {
			best, least, found = a, common, true
		}
	}
	return best, found
}

// noCopy is the result of [view.compare] for a file that is not a copy.
const noCopy = -1

// compare decides about a file that may be a copy of o. head are its first bytes. common is the number
// of first bytes that both have, or noCopy.
func (v view) compare(o original, c *candidate, kind kind, head []byte) (a action, common int) {
	undecided := action{verb: wait, original: o.live}
	fits := 0
	if o.startsLike(head) {
		fits = min(int(o.print.length), len(head))
	}
	var r io.ReaderAt
	var size int64
	switch {
	case o.live != nil:
		var err error
		if r, size, err = o.live.content(); err != nil {
			return undecided, fits
		}
	case o.kind == copied: // compressed later, or decompressed by hand
		return action{verb: markCopy}, fits
	case !o.byName && o.print.length < maxFingerprint && !c.copyOnly:
		return action{}, noCopy
	default:
		e, exists, _ := v.dirs.find(o.position)
		if !exists {
			if kind == plain {
				o.offset = min(o.offset, c.size)
			}
			return action{verb: resumeCopy, from: o.position}, fits
		}
		opened, e, err := v.dirs.fs.open(e.path)
		if err != nil {
			return action{}, noCopy
		}
		defer func() { _ = opened.Close() }()
		r, size = opened, e.size
	}
	own, err := readHead(r, o.kind)
	alike := err == nil && bytes.HasPrefix(own, head)
	unchanged := true
	if err == nil && o.live != nil && o.kind == plain {
		unchanged, err = o.matchesHead(r)
		unchanged = unchanged && !o.isHole(r)
	}
	switch {
	case o.kind == plain && err != nil: // it cannot be read now
		return undecided, fits
	case !unchanged && alike: // o was just truncated; decide when that is handled
		return undecided, len(head)
	case !unchanged && o.startsLike(head):
		return undecided, fits
	case !alike:
		return action{}, noCopy
	case len(head) == 0 && kind == compressed:
		return action{verb: markCopy}, 0
	case len(head) == 0 && (len(own) == 0 || v.waited(c) >= v.rotateWait):
		return action{}, noCopy
	case len(head) == 0: // maybe a copy that is being written
		return action{verb: wait}, 0
	case kind == plain && o.kind == plain && !sameContent(c, r, c.size, size):
		return action{}, noCopy
	}
	return action{verb: markCopy, original: o.live, print: fingerprintOf(head)}, len(head)
}

// candidate is a file to be identified.
type candidate struct {
	entry
	// source is the source of its records. configuredPath is the path as configured, if it differs
	// from the entry's.
	source, configuredPath string
	// content is the open file; nil if it is not open, or after a file that is being read took it.
	content
	// resolved is the path with symbolic links resolved.
	resolved string
	discovery
	// unmatched is set for a file that no pattern matches, but that may be a known file or has the
	// rotated name of one.
	unmatched bool
	// deferred is when it was first found; zero if it was not found before.
	deferred time.Time
}

// close closes a file that is not read.
func (c *candidate) close() {
	if c.content != nil {
		_ = c.Close()
		c.content = nil
	}
}

// position returns the position at the start of the file.
func (c *candidate) position(kind kind) position {
	p := position{id: c.id, kind: kind, modified: c.modified, path: c.path, source: c.source}
	if c.resolved != c.path {
		p.target = c.resolved
	}
	return p
}

// mayBeCompressed reports whether the file has the name of a compressed one, but is still too short to tell.
func (c *candidate) mayBeCompressed() bool {
	if c.size < decompress.HeadSize && decompress.HasUnsupportedSuffix(c.path) {
		return true
	}
	return c.size < int64(len(gzipMagic)) && strings.HasSuffix(c.path, compressedSuffix) &&
		strings.HasPrefix(gzipMagic, readPrefix(c, c.size))
}

// grew reports whether the file has more bytes than when it was opened.
func (c *candidate) grew() bool {
	n, _ := c.ReadAt(make([]byte, 1), c.size)
	return n > 0
}
