package tail

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"logstow/buffer"
)

const (
	// cleanInterval is how often positions of deleted files are searched for.
	cleanInterval = time.Hour
	// searchesAfterStart is how often missing files are searched for again after the start:
	// while files are renamed, a listing may lack one of them.
	searchesAfterStart = 3
	// keepGone is how long the position of a missing file is kept after it was stored: its
	// directory may be mounted again.
	keepGone = 3 * 24 * time.Hour
)

// truncated restarts a file that was truncated. The rest of its former content is read
// from a copy, if there is one.
func (f *file) truncated(ctx context.Context) error {
	f.t.opts.Log.Info("file was truncated: reading it from the start", "file", f.path)
	if !f.t.resumeFromCopy(f.current(), make(directories)) {
		if err := f.t.feed.End(ctx, f.source, f.reference()); err != nil {
			return err
		}
		f.t.orphanPosition(f.current())
	}
	f.startAt(0, fingerprint{}, "")
	f.t.pendingPositions = append(f.t.pendingPositions, f.positions(f.source.Point())...)
	return f.t.flush(ctx)
}

// missing handles a closed file that is not at its path any more: it may have been
// renamed, copied or compressed.
func (f *file) missing(ctx context.Context) (more bool, err error) {
	t := f.t
	t.nameLost(f)
	path, info, certain := t.dirs.find(f.current())
	if info != nil && path != f.path {
		f.path = path
		return true, nil
	}
	resumed := t.resumeFromCopy(f.current(), t.dirs)
	if !resumed {
		if err := t.feed.End(ctx, f.source, f.reference()); err != nil {
			return false, err
		}
	}
	t.stop(f)
	if resumed { // the rest is read from the copy
		t.history.remove(f.id)
		t.pendingPositions = append(t.pendingPositions, buffer.Position{Input: f.id.input(t.prefix)})
		return false, nil
	}
	if certain {
		t.removed[f.id] = false
	}
	return false, nil
}

// close stops reading a file that is idle and at no path that a pattern matches.
func (f *file) close(ctx context.Context) error {
	t := f.t
	if err := t.feed.End(ctx, f.source, f.reference()); err != nil {
		return err
	}
	gone := false
	if f.handle != nil {
		info, err := f.handle.Stat()
		gone = err == nil && removed(info)
	}
	t.stop(f)
	if gone {
		t.changedDirs[filepath.Dir(f.resolvedPath())] = true // it may have been compressed
		t.removed[f.id] = false
	}
	return nil
}

// complete stops reading a file that was read to its end and will not grow.
func (t *Tailer) complete(f *file) {
	handle := f.handle
	p, ok := copyPosition(f, handle)
	t.stop(f)
	if ok {
		t.history.add(p)
		t.pendingPositions = append(t.pendingPositions, t.encoded(p))
	}
}

// stop stops reading a file; its position stays known.
func (t *Tailer) stop(f *file) {
	p := f.current()
	t.open.close(f)
	for _, path := range []string{f.path, f.firstPath, f.resolvedPath()} {
		if t.byPath[path] == f {
			delete(t.byPath, path)
		}
	}
	delete(t.files, f.id)
	delete(t.due, f)
	delete(t.displaced, f)
	delete(t.active, f)
	t.history.add(p)
}

// maxRemoved is the maximum length of removed.
const maxRemoved = 10_000

// forgetRemoved deletes the positions of removed files once their copies were searched for.
func (t *Tailer) forgetRemoved() {
	putOff := len(t.deferred)+len(t.deferredDirs) > 0 // a copy may not be complete
	if putOff && len(t.removed) < maxRemoved {
		return
	}
	for id, looked := range t.removed {
		if !looked {
			continue
		}
		delete(t.removed, id)
		if t.files[id] == nil {
			t.history.remove(id)
			t.pendingPositions = append(t.pendingPositions, buffer.Position{Input: id.input(t.prefix)})
		}
	}
}

// findRenamed finds known files that were renamed to a path that no pattern matches or, at
// the start, were copied or compressed, oldest first. It marks files as removed that
// have been missing for keepGone.
func (t *Tailer) findRenamed(start bool) {
	type lostFile struct {
		entry
		position
	}
	var files []lostFile
	var gone []position
	for id, p := range t.history.byID {
		path, info, certain := t.dirs.find(p)
		switch {
		case info == nil && certain && start && p.kind != copied && t.matches(p.path):
			gone = append(gone, p)
		case info == nil && certain && t.opts.Now().Sub(time.Unix(p.at, 0)) >= keepGone:
			t.removed[id] = true
		case p.kind == copied || !t.matches(p.path):
		case info == nil || !info.Mode().IsRegular() || path == p.path: // or a pattern matches it
		case p.kind == compressed || info.Size() != p.offset || t.opts.Now().Sub(info.ModTime()) <= t.opts.RotateWait:
			files = append(files, lostFile{entry{path: path, info: info}, p})
		}
	}
	slices.SortFunc(files, func(a, b lostFile) int { return a.info.ModTime().Compare(b.info.ModTime()) })
	for _, l := range files {
		t.resumeRenamed(found{path: l.entry.path, source: l.source, info: l.info}, l.position)
	}
	slices.SortFunc(gone, func(a, b position) int { return int(a.modified - b.modified) })
	for _, p := range gone {
		t.resumeFromCopy(p, t.dirs)
	}
}

// resumeRenamed continues a file that was renamed.
func (t *Tailer) resumeRenamed(found found, p position) {
	handle, err := openFile(found.path)
	t.logOutage(found.path, explain(err))
	if err != nil {
		return
	}
	if !matchesContent(p, handle, found.info.Size()) {
		_ = handle.Close()
		return
	}
	f, _, err := t.admit(found, handle, discovery{})
	t.logOutage(found.path, explain(err))
	if f != nil {
		f.goneSince = t.opts.Now()
		t.displaced[f], t.active[f] = true, true
	}
}

// copyPosition is the position of a file of which nothing is read any more.
func copyPosition(f *file, handle *os.File) (position, bool) {
	info, err := handle.Stat()
	if err != nil {
		return position{}, false
	}
	b, err := readHead(handle, f.kind)
	p := f.position(0, "")
	p.kind, p.print, p.offset = copied, fingerprintOf(b), info.Size()
	return p, err == nil
}
