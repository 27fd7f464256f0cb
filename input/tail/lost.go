package tail

import (
	"context"
	"path/filepath"
	"time"
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
	t := f.t
	t.opts.Log.Info("file was truncated: reading it from the start", "file", f.path)
	t.dirs = newListing(system{})
	if !t.resumeFromCopy(f.current()) {
		if err := t.feed.End(ctx, f.source, f.reference()); err != nil {
			return err
		}
		t.orphan(f.current())
	}
	f.startAt(0, fingerprint{}, "")
	t.pendingPositions = append(t.pendingPositions, f.positions(f.source.Point())...)
	return t.flush(ctx)
}

// resumeFromCopy looks for a copy of a file that was truncated, replaced or deleted, and
// continues in it.
func (t *Tailer) resumeFromCopy(p position) bool {
	return t.execute(t.view().lost(p)).verb == resumeCopy
}

// missing handles a closed file that is not at its path any more: it may have been
// renamed, copied or compressed.
func (f *file) missing(ctx context.Context) (more bool, err error) {
	t := f.t
	t.nameLost(f)
	p := f.current()
	e, found, certain := t.dirs.find(p)
	if found && e.path != f.path && p.distinguishing() { // otherwise it is identified as a rotated file
		f.path = e.path
		return true, nil
	}
	resumed := t.resumeFromCopy(p)
	if !resumed {
		if err := t.feed.End(ctx, f.source, f.reference()); err != nil {
			return false, err
		}
	}
	t.stop(f)
	switch {
	case resumed: // the rest is read from the copy
		t.forget(f.id)
	case certain:
		t.known.byID[f.id].state = removed
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
		gone = err == nil && isRemoved(info)
	}
	t.stop(f)
	if gone {
		t.markChanged(filepath.Dir(f.resolvedPath())) // it may have been compressed
		t.known.byID[f.id].state = removed
	}
	return nil
}

// complete stops reading a file that was read to its end and will not grow.
func (t *Tailer) complete(f *file) {
	p, ok := copyPosition(f, f.handle)
	if t.stop(f); ok {
		t.store(p)
	}
}

// stop stops reading a file; its position stays known.
func (t *Tailer) stop(f *file) {
	p := f.current()
	t.open.close(f)
	t.removePaths(f)
	delete(t.files, f.id)
	delete(t.busy, f)
	t.known.add(p)
}

// maxRemoved is the maximum number of files whose removal waits for deferred files.
const maxRemoved = 10_000

// forgetRemoved deletes the positions of removed files once their copies were searched for.
func (t *Tailer) forgetRemoved() {
	var ids []fileID
	for id, k := range t.known.byID {
		if k.state == searched {
			ids = append(ids, id)
		}
	}
	if len(t.deferred) > 0 && len(ids) < maxRemoved { // one of them may become a copy
		return
	}
	for _, id := range ids {
		t.forget(id)
	}
}

// findRenamed finds known files that were renamed to a path that no pattern matches or, at
// the start, were copied or compressed. It marks files as removed that have been missing
// for keepGone.
func (t *Tailer) findRenamed(start bool) {
	renamed, gone := t.view().relocated()
	for _, r := range renamed {
		if t.matches(r.from.path) {
			t.resumeRenamed(r.entry, r.from)
		}
	}
	for _, p := range gone {
		switch {
		case start && p.kind != copied && t.matches(p.path):
			t.resumeFromCopy(p)
		case t.opts.Now().Sub(time.Unix(p.at, 0)) >= keepGone:
			t.known.byID[p.id].state = searched
		}
	}
}

// resumeRenamed continues a file that was renamed.
func (t *Tailer) resumeRenamed(e entry, p position) {
	handle, err := openFile(e.path)
	t.logOutage(e.path, explain(err))
	if err != nil {
		return
	}
	info, err := handle.Stat()
	if err != nil || !matchesContent(p, handle, info.Size()) {
		_ = handle.Close()
		return
	}
	f, _, err := t.admit(found{path: e.path, source: p.source, info: info}, handle, &candidate{})
	t.logOutage(e.path, explain(err))
	if f != nil {
		t.displace(f)
	}
}
