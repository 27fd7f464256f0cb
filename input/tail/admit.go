package tail

import (
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"logstow/buffer"
)

const (
	// freshness is how long a compressed file of more than smallFile bytes must not
	// have been written to before it is looked into.
	compressSettle  = time.Second
	smallCompressed = 1 << 20
	// lateness is how long a program may write to a file after it was rotated.
	lateWrites = 24 * time.Hour
)

// verdict is what becomes of a file that was found.
type verdict uint8

const (
	// accept: it is read.
	accept verdict = iota
	// skip: its content was or will be read from another file.
	skip
	// wait: undecided; it is observed again at the next poll.
	wait
)

// arrival is how a file came to be found.
type discovery struct {
	// fromEnd reads it from its end where nothing is known of it.
	fromEnd bool
	// history reads compressed files of which nothing is known.
	includeCompressed bool
	// sibling is a file that no pattern names, but whose name is one that a file
	// which is read may have been rotated to.
	unmatched bool
}

// admit starts reading a file that is not being read yet, if it is to be read. A
// handle, if not nil, is the open file.
func (t *Tailer) admit(found found, handle *os.File, how discovery) (*file, verdict, error) {
	if handle == nil {
		var err error
		if handle, err = t.openFound(found); err != nil {
			return nil, skip, err
		}
	}
	f, err := t.newFile(found, handle)
	if err == nil && !f.regular && !t.opts.Once {
		err = fmt.Errorf("%s is not a regular file: pipe it in and give - as the file", found.path)
	}
	switch {
	case err != nil:
		_ = handle.Close()
		return nil, skip, err
	case f.id != idOf(found.path, found.info): // renamed just now
		_ = handle.Close()
		return nil, wait, nil
	case t.files[f.id] != nil:
		_ = handle.Close()
		return nil, skip, nil
	}
	v := accept
	if f.regular {
		v = t.start(f, handle, how)
	} else {
		f.startAt(0, fingerprint{}, "")
	}
	if v == accept && f.service == "" {
		v = skip
		t.logNoService(f)
	}
	if v != accept {
		_ = handle.Close()
		return nil, v, nil
	}
	t.add(f, handle)
	return f, accept, nil
}

// sayForeign says that a file is of no service, once.
func (t *Tailer) logNoService(f *file) {
	if !t.loggedNoService {
		t.loggedNoService = true
		t.opts.Log.Warn("a file is not read: no service can be told by its path (said once); exclude it, or name only files of containers", "file", f.firstPath)
	}
}

// add takes a file among those that are being read.
func (t *Tailer) add(f *file, handle *os.File) {
	t.files[f.id] = f
	t.due[f] = true
	t.history.remove(f.id)
	delete(t.removed, f.id) // that one had its identity before
	if f.previousID != (fileID{}) {
		t.pendingPositions = append(t.pendingPositions, f.positions(f.source.Point())...)
	}
	if !t.open.add(f, handle) { // its turn comes when others were read to their end
		_ = handle.Close()
	}
}

// openFound opens a file; a pipe only when it is to be read to its end.
func (t *Tailer) openFound(found found) (*os.File, error) {
	path := cmp.Or(found.shown, found.path)
	if t.opts.Once && !found.info.Mode().IsRegular() {
		return os.Open(path)
	}
	return openFile(path)
}

// start finds out where reading a file is to start.
func (t *Tailer) start(f *file, handle *os.File, how discovery) verdict {
	info, err := handle.Stat()
	if err != nil {
		return wait
	}
	if isCompressed(handle) {
		f.kind = compressed
		if info.Size() > smallCompressed && t.opts.Now().Sub(info.ModTime()) < compressSettle && !t.starting {
			return wait
		}
	}
	v := t.decide(f, handle, info, how)
	if v == accept && f.kind == compressed && !isComplete(handle) {
		return wait
	}
	return v
}

// decide is start without looking whether a compressed file is complete.
func (t *Tailer) decide(f *file, handle *os.File, info fs.FileInfo, how discovery) verdict {
	if how.unmatched && info.Size() == 0 {
		return skip // for now: there is nothing in it
	}
	p, known := t.lookUp(f, handle, info.Size())
	if known && !p.distinguishing() {
		if v, decided := t.fromContent(f, handle, info.Size()); decided {
			return v
		}
	}
	if known {
		if v, decided := t.resume(f, handle, info.Size(), p); decided {
			return v
		}
		if p.kind != copied && f.kind == plain {
			how.fromEnd = false // it was written since
		}
	}
	if v, decided := t.fromContent(f, handle, info.Size()); decided {
		return v
	}
	origin, rotatedUnseen := t.rotatedUnseen(f, info, how)
	switch {
	case how.unmatched && !rotatedUnseen, f.kind == compressed && !rotatedUnseen && !how.includeCompressed:
		return skip
	case f.kind == compressed && rotatedUnseen && t.mayBeOpenedEarly(info) && t.deferredLessThan(f, minPollGap):
		return wait // until what was caught is known
	case how.unmatched || f.kind == compressed && rotatedUnseen:
		f.adopt(origin)
	}
	offset := int64(0)
	if how.fromEnd && f.kind == compressed {
		return skip
	}
	if how.fromEnd {
		offset = info.Size()
	}
	print, err := readFingerprint(handle, offset)
	if err != nil { // truncated just now
		offset, print = 0, fingerprint{}
	}
	f.startAt(offset, print, "")
	return accept
}

// recall finds what is known of a file, also where its device has another number now.
func (t *Tailer) lookUp(f *file, handle *os.File, size int64) (position, bool) {
	if p, ok := t.history.byID[f.id]; ok {
		return p, true
	}
	for _, p := range t.history.elsewhere(f.id) {
		sameDir := filepath.Dir(p.resolvedPath()) == filepath.Dir(f.resolvedPath())
		if sameDir && p.print.length > 0 && matchesContent(p, handle, size) {
			f.previousID = p.id
			return p, true
		}
	}
	if value, ok := t.opts.Sink.Position(f.id.input(t.prefix)); ok {
		if _, err := decodePosition(value); err != nil { // of another version: the file is known, but not how far it was read
			t.opts.Log.Warn("a file's position can not be read: reading it from the start", "file", f.path, "error", err)
			return position{}, true
		}
	}
	return position{}, false
}

// fitsContent reports whether a file is the one that p is of, not shortened since.
func matchesContent(p position, handle *os.File, size int64) bool {
	if p.kind == compressed || p.kind == copied && isCompressed(handle) {
		b, err := readHead(handle, compressed)
		return err == nil && (p.print.length == 0 || p.startsLike(b))
	}
	return size >= p.offset && p.matchesHead(handle) && (p.distinguishing() || !isCompressed(handle))
}

// resume goes on where a position says, if it is one of this file.
func (t *Tailer) resume(f *file, handle *os.File, size int64, p position) (verdict, bool) {
	switch fits := p.mayBeAt(f.path) && matchesContent(p, handle, size); {
	case fits && p.kind == copied: // if it grew, is it still a copy?
		return skip, size == p.offset
	case fits:
		f.adopt(p)
		f.kind = p.kind
		f.startAt(p.offset, p.print, p.state)
		return accept, true
	case p.kind == copied:
		return skip, false
	}
	// Truncated since, or the inode is another file's now.
	t.pendingPositions = append(t.pendingPositions, buffer.Position{Input: p.id.input(t.prefix)})
	if t.history.remove(p.id); !t.resumeFromCopy(p, make(directories)) {
		t.orphanPosition(p)
	}
	if t.files[f.id] != nil { // f itself is the copy
		return skip, true
	}
	return skip, false
}

// member is a file that another may be a copy or a rotation of.
type original struct {
	position
	live   *file
	byName bool
}

// relatives are the files that f's name may be a rotation of.
func (t *Tailer) originals(f *file) []original {
	var all []original
	dir := filepath.Dir(f.resolvedPath())
	for origin, byName := range origins(filepath.Base(f.resolvedPath())) {
		for _, m := range t.knownAt(filepath.Join(dir, origin)) {
			m.byName = byName
			all = append(all, m)
		}
	}
	return all
}

// lineage are the known files that were found at a place.
func (t *Tailer) knownAt(place string) []original {
	var all []original
	add := func(f *file) {
		all = append(all, original{position: f.current(), live: f})
	}
	for f := range t.displaced {
		if f.resolvedPath() == place {
			add(f)
		}
	}
	if f := t.byPath[place]; f != nil && f.resolvedPath() == place && !t.displaced[f] {
		add(f)
	}
	for _, p := range t.history.at(place) {
		all = append(all, original{position: p})
	}
	return all
}

// mayBeCaught reports whether what a file was made of may have been opened by the
// watcher. The clock of file systems lags a little.
func (t *Tailer) mayBeOpenedEarly(info fs.FileInfo) bool {
	return !t.watchingSince.IsZero() && info.ModTime().After(t.watchingSince.Add(-time.Second))
}

// missed reports whether f is surely a rotation of a file that is read, and was
// written to after that was found first: then it was rotated before it was seen.
func (t *Tailer) rotatedUnseen(f *file, info fs.FileInfo, how discovery) (origin position, ok bool) {
	for _, m := range t.originals(f) {
		if !m.byName || m.kind == copied || m.id == f.id {
			continue
		}
		if since := t.firstScan(m.position); info.ModTime().UnixNano() >= since {
			return m.position, true
		}
		if how.fromEnd && t.opts.Now().Sub(info.ModTime()) < lateWrites {
			return m.position, true // it may still be written to
		}
	}
	return position{}, false
}

// contact is when the patterns that name a file were looked through first, in
// Unix nanoseconds.
func (t *Tailer) firstScan(p position) int64 {
	since := int64(math.MaxInt64)
	for _, pattern := range t.patterns {
		if at, ok := t.firstScans[pattern.absolute]; ok && pattern.names(p.path) {
			if at == 0 { // not known
				at = p.modified
			}
			since = min(since, at)
		}
	}
	return since
}

// keep is a position as the buffer takes it.
func (t *Tailer) encoded(p position) buffer.Position {
	return buffer.Position{Input: p.id.input(t.prefix), Value: p.encode()}
}
