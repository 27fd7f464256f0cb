package tail

import (
	"os"
	"path/filepath"
	"slices"
)

// bequeath is for what a file held that has other content now: p stays known, under
// an identity that no file has, until copies of it were looked for. One that is just
// being made, as by gzip, can not be told yet.
func (t *Tailer) orphanPosition(p position) {
	if p.print.length == 0 || p.kind != plain {
		return
	}
	p.id = p.orphanID()
	t.history.add(p)
	t.pendingPositions = append(t.pendingPositions, t.encoded(p))
	if !t.opts.Once { // else the next run looks
		t.removed[p.id] = false
		t.changedDirs[filepath.Dir(p.resolvedPath())] = true
	}
}

// rescue looks for a copy of what a file held before it was truncated or removed,
// and reads the rest of that.
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

// takeCopy goes on in a copy of p's file, if e is one.
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
