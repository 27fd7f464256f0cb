package tail

import (
	"os"
	"path/filepath"
	"slices"
)

// bequeath is for what a file held that has other content now: p stays known, under
// an identity that no file has, until copies of it were looked for. One that is just
// being made, as by gzip, can not be told yet.
func (t *Tailer) bequeath(p position) {
	if p.print.length == 0 || p.kind != plain {
		return
	}
	p.id = p.standIn()
	t.past.add(p)
	t.pending = append(t.pending, t.keep(p))
	if !t.opts.Once { // else the next run looks
		t.forgotten[p.id] = false
		t.rotated[filepath.Dir(p.place())] = true
	}
}

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
	if q, known := t.past.byID[e.id]; known && q.kind != spare && q.id != p.id && q.telling() {
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
		if f.inherit(p); f.service == "" {
			break
		}
		f.gone = t.opts.Now()
		f.restart(p.offset, p.print, p.state)
		f.replaces = p.id
		t.add(f, handle)
		t.old[f], t.warm[f] = true, true
		return true
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
