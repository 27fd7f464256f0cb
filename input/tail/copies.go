package tail

import (
	"bytes"
	"io"
	"os"
	"time"
)

// fromContent looks for a file that starts like f among those of which f's name may be
// the rotated name: then f is a copy of it, maybe compressed.
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
			if m.startsLike(b) { // decompressed by hand, perhaps
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

// succeed continues in f at the position of a file that starts like f.
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
		f.source = nil // the file itself still exists and is read instead
		return true
	}
	f.adopt(p)
	f.previousID = p.id
	f.startAt(offset, p.print, p.state)
	return true
}

// succeeded is the decision about f after succeed.
func (t *Tailer) succeeded(f *file, handle *os.File) (verdict, bool) {
	if f.source == nil {
		t.markCopy(f, handle)
		return skip, true
	}
	return accept, true
}

// compare compares f, which starts with b, with m, which is being read: skip if f is a
// copy of it, accept if not.
func (m *file) compare(f *file, handle *os.File, b []byte, size int64) verdict {
	if m.open() != nil {
		m.t.due[m] = true
		return wait
	}
	own, err := readHead(m.handle, m.kind)
	alikeNow := err == nil && bytes.HasPrefix(own, b)
	if m.kind == plain && !m.sameHead() { // it was just truncated, which decides about its copy
		if m.t.due[m] = true; alikeNow || m.current().startsLike(b) {
			return wait
		}
	}
	if !alikeNow {
		return accept
	}
	if len(b) == 0 && f.kind == compressed {
		if isComplete(handle) { // it is empty
			return skip
		}
		return wait
	}
	if len(b) == 0 { // maybe a copy that is being written
		if len(own) > 0 && m.t.deferredLessThan(f, m.t.opts.RotateWait) {
			return wait
		}
		return accept
	}
	info, err := m.handle.Stat()
	if err == nil && f.kind == plain && m.kind == plain && !sameContent(handle, m.handle, size, info.Size()) {
		return accept
	}
	if m.kind == plain && len(own) > int(m.print.length) { // if it is truncated before it is read, the copy is read
		m.print = fingerprintOf(own)
		m.t.pendingPositions = append(m.t.pendingPositions, m.positions(m.source.Point())...)
	}
	return skip
}

// sameContent reports whether a file of a size has the first and last bytes of the same part of another.
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

// deferredLessThan reports whether f was first deferred less than d ago.
func (t *Tailer) deferredLessThan(f *file, d time.Duration) bool {
	now := t.opts.Now()
	first, ok := t.deferredSince[f.path]
	if !ok {
		first = now
		t.deferredSince[f.path] = now
	}
	return now.Sub(first) < d
}

// markCopy stores that the content of f was or will be read from another file.
func (t *Tailer) markCopy(f *file, handle *os.File) {
	if p, ok := copyPosition(f, handle); ok {
		t.history.add(p)
		t.pendingPositions = append(t.pendingPositions, t.encoded(p))
	}
}
