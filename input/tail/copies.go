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
	for _, m := range t.originals(f) {
		if m.id == f.id || m.kind == copied && (!m.byName || m.print.length < maxFingerprint) {
			continue
		}
		if b == nil {
			var err error
			if b, err = readHead(handle, f.kind); err != nil {
				return wait, true
			}
		}
		switch {
		case m.kind == copied:
			if m.startsLike(b) { // unpacked by hand, perhaps
				return skip, true
			}
		case m.live == nil:
			if (m.byName || m.print.length == maxFingerprint) && m.startsLike(b) && t.succeed(f, handle, size, m.position) {
				return t.succeeded(f, handle)
			}
		default:
			switch v := m.live.compare(f, handle, b, size); v {
			case skip:
				t.markCopy(f, handle)
				return skip, true
			case wait:
				return wait, true
			}
		}
	}
	return skip, false
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
		if f.kind == plain && !sameContent(handle, other, size, info.Size()) {
			return false
		}
		f.source = nil // it is still there: what it holds is read from it
		return true
	}
	f.adopt(p)
	f.previousID = p.id
	f.startAt(offset, p.print, p.state)
	return true
}

// settle says what became of f after succeed.
func (t *Tailer) succeeded(f *file, handle *os.File) (verdict, bool) {
	if f.source == nil {
		t.markCopy(f, handle)
		return skip, true
	}
	return accept, true
}

// compare reports what f, which begins with b, is to m, which is being read:
// passed is a copy of it, taken is none.
func (m *file) compare(f *file, handle *os.File, b []byte, size int64) verdict {
	if m.open() != nil {
		m.t.due[m] = true
		return wait
	}
	own, err := readHead(m.handle, m.kind)
	alikeNow := err == nil && bytes.HasPrefix(own, b)
	if m.kind == plain && !m.sameHead() { // truncated just now: what is to become of its copy is decided there
		if m.t.due[m] = true; alikeNow || m.current().startsLike(b) {
			return wait
		}
	}
	if !alikeNow {
		return accept
	}
	if len(b) == 0 && f.kind == compressed {
		if isComplete(handle) { // of nothing
			return skip
		}
		return wait
	}
	if len(b) == 0 { // a copy in the making?
		if len(own) > 0 && m.t.deferredLessThan(f, m.t.opts.RotateWait) {
			return wait
		}
		return accept
	}
	info, err := m.handle.Stat()
	if err == nil && f.kind == plain && m.kind == plain && !sameContent(handle, m.handle, size, info.Size()) {
		return accept
	}
	if m.kind == plain && len(own) > int(m.print.length) { // it may be emptied before it is read: then the copy is
		m.print = fingerprintOf(own)
		m.t.pendingPositions = append(m.t.pendingPositions, m.positions(m.source.Point())...)
	}
	return skip
}

// alike reports whether a file of a size begins and, as far as it goes, ends as another does.
func sameContent(file, other io.ReaderAt, size, otherSize int64) bool {
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
func (t *Tailer) deferredLessThan(f *file, d time.Duration) bool {
	now := t.opts.Now()
	first, ok := t.deferredSince[f.path]
	if !ok {
		first = now
		t.deferredSince[f.path] = now
	}
	return now.Sub(first) < d
}

// spare notes that what f holds was or will be read from another file.
func (t *Tailer) markCopy(f *file, handle *os.File) {
	if p, ok := copyPosition(f, handle); ok {
		t.history.add(p)
		t.pendingPositions = append(t.pendingPositions, t.encoded(p))
	}
}
