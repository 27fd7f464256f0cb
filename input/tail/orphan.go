package tail

import (
	"os"
	"path/filepath"
	"slices"
)

// orphanPosition keeps the position of a file that has other content now, under an
// identity that no file has, until copies were searched for: a copy that is being
// written, as by gzip, is not recognized yet.
func (t *Tailer) orphanPosition(p position) {
	if p.print.length == 0 || p.kind != plain {
		return
	}
	p.id = p.orphanID()
	t.history.add(p)
	t.pendingPositions = append(t.pendingPositions, t.encoded(p))
	if !t.opts.Once { // with Once, the next run searches
		t.removed[p.id] = false
		t.changedDirs[filepath.Dir(p.resolvedPath())] = true
	}
}

// resumeFromCopy looks for a copy of a file made before it was truncated or deleted, and
// continues in it.
func (t *Tailer) resumeFromCopy(p position, dirs directories) bool {
	if p.print.length == 0 || p.kind != plain {
		return false
	}
	candidates := slices.Clone(dirs.rotations(p.resolvedPath()))
	slices.SortFunc(candidates, func(a, b entry) int { return b.info.ModTime().Compare(a.info.ModTime()) })
	for _, e := range candidates {
		if t.files[e.id] == nil && t.continueInCopy(p, e) {
			return true
		}
	}
	return false
}

// continueInCopy continues in e if it is a copy of p's file.
func (t *Tailer) continueInCopy(p position, e entry) bool {
	if q, known := t.history.byID[e.id]; known && q.kind != copied && q.id != p.id && q.distinguishing() {
		return false
	}
	handle, err := openFile(e.path)
	if err != nil {
		return false
	}
	f, err := t.newFile(found{path: e.path, source: p.source, info: e.info}, handle)
	switch {
	case err != nil || f.id != e.id || !t.isCopy(p, f, handle):
	case f.kind == plain && e.info.Size() < p.offset: // more was read than was copied
		t.markCopy(f, handle)
	default:
		if f.adopt(p); f.service == "" {
			break
		}
		f.goneSince = t.opts.Now()
		f.startAt(p.offset, p.print, p.state)
		f.previousID = p.id
		t.add(f, handle)
		t.displaced[f], t.active[f] = true, true
		return true
	}
	_ = handle.Close()
	return false
}

func (t *Tailer) isCopy(p position, f *file, handle *os.File) bool {
	if isCompressed(handle) {
		f.kind = compressed
		if !isComplete(handle) {
			return false
		}
	}
	b, err := readHead(handle, f.kind)
	return err == nil && p.startsLike(b)
}
