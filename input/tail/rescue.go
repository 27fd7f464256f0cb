package tail

import (
	"os"
	"slices"
)

// rescue looks for a copy of what a file held before it was truncated or removed,
// and reads the rest of that.
func (t *Tailer) rescue(p position, dirs directories) bool {
	if p.print.length == 0 || p.kind != plain {
		return false
	}
	candidates := slices.Clone(dirs.rotations(p.place()))
	slices.SortFunc(candidates, func(a, b entry) int { return b.info.ModTime().Compare(a.info.ModTime()) })
	for _, e := range candidates {
		if t.files[e.id] == nil && t.takeCopy(p, e) {
			return true
		}
	}
	return false
}

// takeCopy goes on in a copy of p's file, if e is one.
func (t *Tailer) takeCopy(p position, e entry) bool {
	if q, known := t.past.byID[e.id]; known && q.kind != spare && q.id != p.id {
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
		t.spare(f, handle)
	default:
		f.inherit(p)
		f.gone = t.opts.Now()
		f.restart(p.offset, p.print, p.state)
		if t.open.add(f, handle) {
			t.files[f.id] = f
			t.old[f], t.work[f], t.warm[f] = true, true, true
			t.past.remove(f.id)
			t.pending = append(t.pending, f.positions(f.source.Point())...)
			return true
		}
	}
	_ = handle.Close()
	return false
}

func (t *Tailer) isCopy(p position, f *file, handle *os.File) bool {
	if isPacked(handle) {
		f.kind = packed
		if !whole(handle) {
			return false
		}
	}
	b, err := beginning(handle, f.kind)
	return err == nil && p.beginsLike(b)
}
