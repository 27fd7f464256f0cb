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
	// compressSettle is how long a compressed file of more than smallCompressed bytes
	// must be unmodified before it is read.
	compressSettle  = time.Second
	smallCompressed = 1 << 20
	// lateWrites is how long a program may write to a file after it was rotated.
	lateWrites = 24 * time.Hour
)

// verdict is the decision about a file that was found.
type verdict uint8

const (
	// accept: it is read.
	accept verdict = iota
	// skip: its content was or will be read from another file.
	skip
	// wait: undecided; it is observed again at the next poll.
	wait
)

// discovery is how a file was found.
type discovery struct {
	// fromEnd reads an unknown file from its end.
	fromEnd bool
	// includeCompressed reads unknown compressed files.
	includeCompressed bool
	// unmatched is a file that no pattern matches, but whose name is a rotated name of a
	// file that is read.
	unmatched bool
}

// admit starts reading a file that is not being read yet, if the decision is so. A
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

// logNoService logs once that a file has no service.
func (t *Tailer) logNoService(f *file) {
	if !t.loggedNoService {
		t.loggedNoService = true
		t.opts.Log.Warn("file skipped: its path gives no service (logged once); exclude it, or match only files of containers", "file", f.firstPath)
	}
}

// add adds a file to those being read.
func (t *Tailer) add(f *file, handle *os.File) {
	t.files[f.id] = f
	t.due[f] = true
	t.history.remove(f.id)
	delete(t.removed, f.id) // the removed file had the same identity
	if f.previousID != (fileID{}) {
		t.pendingPositions = append(t.pendingPositions, f.positions(f.source.Point())...)
	}
	if !t.open.add(f, handle) { // it is opened when others were read to their end
		_ = handle.Close()
	}
}

// openFound opens a file; it waits for the writer of a pipe with Once only.
func (t *Tailer) openFound(found found) (*os.File, error) {
	path := cmp.Or(found.shown, found.path)
	if t.opts.Once && !found.info.Mode().IsRegular() {
		return os.Open(path)
	}
	return openFile(path)
}

// start decides where to start reading a file.
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

// decide is start without checking that a compressed file is complete.
func (t *Tailer) decide(f *file, handle *os.File, info fs.FileInfo, how discovery) verdict {
	if how.unmatched && info.Size() == 0 {
		return skip // it is empty
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
			how.fromEnd = false // it was written since the last run
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
		return wait // until the files opened by the watcher are known
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

// lookUp returns the stored position of a file, also if its device number changed.
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
		if _, err := decodePosition(value); err != nil { // the file is known, but not its offset
			t.opts.Log.Warn("cannot decode the position of a file: reading it from the start", "file", f.path, "error", err)
			return position{}, true
		}
	}
	return position{}, false
}

// matchesContent reports whether a file has p's fingerprint and at least its size.
func matchesContent(p position, handle *os.File, size int64) bool {
	if p.kind == compressed || p.kind == copied && isCompressed(handle) {
		b, err := readHead(handle, compressed)
		return err == nil && (p.print.length == 0 || p.startsLike(b))
	}
	return size >= p.offset && p.matchesHead(handle) && (p.distinguishing() || !isCompressed(handle))
}

// resume continues at a position if it is one of this file.
func (t *Tailer) resume(f *file, handle *os.File, size int64, p position) (verdict, bool) {
	switch fits := p.mayBeAt(f.path) && matchesContent(p, handle, size); {
	case fits && p.kind == copied: // if it grew, it may be a copy no more
		return skip, size == p.offset
	case fits:
		f.adopt(p)
		f.kind = p.kind
		f.startAt(p.offset, p.print, p.state)
		return accept, true
	case p.kind == copied:
		return skip, false
	}
	// It was truncated, or the inode is another file's now.
	t.pendingPositions = append(t.pendingPositions, buffer.Position{Input: p.id.input(t.prefix)})
	if t.history.remove(p.id); !t.resumeFromCopy(p, make(directories)) {
		t.orphanPosition(p)
	}
	if t.files[f.id] != nil { // f itself is the copy
		return skip, true
	}
	return skip, false
}

// original is a known file of which another may be the copy or the rotated file.
type original struct {
	position
	live   *file
	byName bool
}

// originals are the known files of which f's name may be the rotated name.
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

// knownAt are the known files that were found at a path.
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

// mayBeOpenedEarly reports whether the original of a compressed file may have been opened
// by the watcher. The clock of file systems lags a little.
func (t *Tailer) mayBeOpenedEarly(info fs.FileInfo) bool {
	return !t.watchingSince.IsZero() && info.ModTime().After(t.watchingSince.Add(-time.Second))
}

// rotatedUnseen reports whether f has the rotated name of a file that is read, and was
// written after the first scan: then it was rotated before it was seen.
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

// firstScan is the time of the first scan of the patterns that match a file, in Unix
// nanoseconds.
func (t *Tailer) firstScan(p position) int64 {
	since := int64(math.MaxInt64)
	for _, pattern := range t.patterns {
		if at, ok := t.firstScans[pattern.absolute]; ok && pattern.names(p.path) {
			if at == 0 { // unknown
				at = p.modified
			}
			since = min(since, at)
		}
	}
	return since
}

// encoded is a position as the buffer stores it.
func (t *Tailer) encoded(p position) buffer.Position {
	return buffer.Position{Input: p.id.input(t.prefix), Value: p.encode()}
}
