package tail

import (
	"bytes"
	"io"
	"os"
	"time"
)

// fromContent looks for a file that began as f does among those that f's name
// may be a rotation of: then f is a copy of it, or it compressed.
func (t *Tailer) fromContent(f *file, handle *os.File, size int64) (verdict, bool) {
	var b []byte
	for _, m := range t.relatives(f) {
		if m.id == f.id || m.kind == spare && (!m.sure || m.print.length < maxPrint) {
			continue
		}
		if b == nil {
			var err error
			if b, err = beginning(handle, f.kind); err != nil {
				return later, true
			}
		}
		switch {
		case m.kind == spare:
			if m.beginsLike(b) { // unpacked by hand, perhaps
				return passed, true
			}
		case m.live == nil:
			if (m.sure || m.print.length == maxPrint) && m.beginsLike(b) && t.succeed(f, handle, size, m.position) {
				return t.settle(f, handle)
			}
		default:
			switch v := m.live.compare(f, handle, b, size); v {
			case passed:
				t.spare(f, handle)
				return passed, true
			case later:
				return later, true
			}
		}
	}
	return passed, false
}

// succeed goes on in f where a file that began as f does was read to.
func (t *Tailer) succeed(f *file, handle *os.File, size int64, p position) bool {
	offset := p.offset
	if f.kind == plain {
		offset = min(offset, size)
	}
	if path, info, _ := t.dirs.find(p); info != nil {
		other, err := openFile(path)
		if err != nil {
			return false
		}
		defer func() { _ = other.Close() }()
		if f.kind == plain && !alike(handle, other, size, info.Size()) {
			return false
		}
		f.source = nil // it is still there: what it holds is read from it
		return true
	}
	f.inherit(p)
	f.replaces = p.id
	f.restart(offset, p.print, p.state)
	return true
}

// settle says what became of f after succeed.
func (t *Tailer) settle(f *file, handle *os.File) (verdict, bool) {
	if f.source == nil {
		t.spare(f, handle)
		return passed, true
	}
	return taken, true
}

// compare reports what f, which begins with b, is to m, which is being read:
// passed is a copy of it, taken is none.
func (m *file) compare(f *file, handle *os.File, b []byte, size int64) verdict {
	if m.open() != nil {
		m.t.work[m] = true
		return later
	}
	own, err := beginning(m.handle, m.kind)
	alikeNow := err == nil && bytes.HasPrefix(own, b)
	if m.kind == plain && !m.same() { // truncated just now: what is to become of its copy is decided there
		if m.t.work[m] = true; alikeNow || m.now().beginsLike(b) {
			return later
		}
	}
	if !alikeNow {
		return taken
	}
	if len(b) == 0 && f.kind == packed {
		if whole(handle) { // of nothing
			return passed
		}
		return later
	}
	if len(b) == 0 { // a copy in the making?
		if len(own) > 0 && m.t.younger(f, m.t.opts.RotateWait) {
			return later
		}
		return taken
	}
	info, err := m.handle.Stat()
	if err == nil && f.kind == plain && m.kind == plain && !alike(handle, m.handle, size, info.Size()) {
		return taken
	}
	if m.kind == plain && len(own) > int(m.print.length) { // it may be emptied before it is read: then the copy is
		m.print = sumOf(own)
		m.t.pending = append(m.t.pending, m.positions(m.source.Point())...)
	}
	return passed
}

// alike reports whether a file of a size begins and, as far as it goes, ends as another does.
func alike(file, other io.ReaderAt, size, otherSize int64) bool {
	if size > otherSize {
		return false
	}
	const span = 4096
	a, b := make([]byte, min(span, size)), make([]byte, min(span, size))
	for _, at := range []int64{0, size - int64(len(a))} {
		if n, _ := file.ReadAt(a, at); n < len(a) {
			return false
		}
		if n, _ := other.ReadAt(b, at); n < len(b) || !bytes.Equal(a, b) {
			return false
		}
	}
	return true
}

// younger reports whether f was first looked at less than d ago.
func (t *Tailer) younger(f *file, d time.Duration) bool {
	now := t.opts.Now()
	first, ok := t.since[f.path]
	if !ok {
		first = now
		t.since[f.path] = now
	}
	return now.Sub(first) < d
}

// spare notes that what f holds was or will be read from another file.
func (t *Tailer) spare(f *file, handle *os.File) {
	if p, ok := spareOf(f, handle); ok {
		t.past.add(p)
		t.pending = append(t.pending, t.keep(p))
	}
}
