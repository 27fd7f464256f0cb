package tail

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"logstow/buffer"
)

const (
	// freshness is how long a compressed file of more than smallFile bytes must not
	// have been written to before it is looked into.
	freshness = time.Second
	smallFile = 1 << 20
	// lateness is how long a program may write to a file after it was rotated.
	lateness = 24 * time.Hour
)

// verdict is what becomes of a file that was found.
type verdict uint8

const (
	// taken files are read.
	taken verdict = iota
	// passed files are not: what they hold was or will be read from others.
	passed
	// later they are looked at again: it can not be told yet.
	later
)

// arrival is how a file came to be found.
type arrival struct {
	// fromEnd reads it from its end where nothing is known of it.
	fromEnd bool
	// history reads compressed files of which nothing is known.
	history bool
	// sibling is a file that no pattern names, but whose name is one that a file
	// which is read may have been rotated to.
	sibling bool
}

// admit starts reading a file that is not being read yet, if it is to be read. A
// handle, if not nil, is the open file.
func (t *Tailer) admit(found found, handle *os.File, how arrival) (*file, verdict, error) {
	if handle == nil {
		var err error
		if handle, err = t.openFound(found); err != nil {
			return nil, passed, err
		}
	}
	f, err := t.newFile(found, handle)
	if err == nil && !f.regular && !t.opts.Once {
		err = fmt.Errorf("%s is not a regular file: pipe it in and give - as the file", found.path)
	}
	switch {
	case err != nil:
		_ = handle.Close()
		return nil, passed, err
	case f.id != idOf(found.path, found.info): // renamed just now
		_ = handle.Close()
		return nil, later, nil
	case t.files[f.id] != nil:
		_ = handle.Close()
		return nil, passed, nil
	}
	v := taken
	if f.regular {
		v = t.start(f, handle, how)
	} else {
		f.restart(0, fingerprint{}, "")
	}
	if v != taken {
		_ = handle.Close()
		return nil, v, nil
	}
	if !t.open.add(f, handle) { // its turn comes when others were read to their end
		_ = handle.Close()
	}
	t.files[f.id] = f
	t.past.remove(f.id)
	t.work[f] = true
	return f, taken, nil
}

// openFound opens a file; a pipe only when it is to be read to its end.
func (t *Tailer) openFound(found found) (*os.File, error) {
	path := cmp.Or(found.shown, found.path)
	if t.opts.Once && !found.info.Mode().IsRegular() {
		return os.Open(path)
	}
	return openFile(path)
}

// start finds out where reading a file is to start.
func (t *Tailer) start(f *file, handle *os.File, how arrival) verdict {
	info, err := handle.Stat()
	if err != nil {
		return later
	}
	if isPacked(handle) {
		f.kind = packed
		if info.Size() > smallFile && t.opts.Now().Sub(info.ModTime()) < freshness && !t.starting {
			return later
		}
	}
	v := t.decide(f, handle, info, how)
	if v == taken && f.kind == packed && !whole(handle) {
		return later
	}
	return v
}

// decide is start without looking whether a compressed file is complete.
func (t *Tailer) decide(f *file, handle *os.File, info fs.FileInfo, how arrival) verdict {
	if how.sibling && info.Size() == 0 {
		return passed // for now: there is nothing in it
	}
	if p, known := t.recall(f, handle, info.Size()); known {
		if v, decided := t.resume(f, handle, info.Size(), p, how); decided {
			return v
		}
	}
	if v, decided := t.fromContent(f, handle, info.Size()); decided {
		return v
	}
	origin, missed := t.missed(f, info, how)
	switch {
	case how.sibling && !missed, f.kind == packed && !missed && !how.history:
		return passed
	case how.sibling || f.kind == packed && missed:
		f.inherit(origin)
	}
	offset := int64(0)
	if how.fromEnd && f.kind == packed {
		return passed
	}
	if how.fromEnd {
		offset = info.Size()
	}
	print, err := printOf(handle, offset)
	if err != nil { // truncated just now
		offset, print = 0, fingerprint{}
	}
	f.restart(offset, print, "")
	return taken
}

// recall finds what is known of a file, also where its device has another number now.
func (t *Tailer) recall(f *file, handle *os.File, size int64) (position, bool) {
	if p, ok := t.past.byID[f.id]; ok {
		return p, true
	}
	for _, p := range t.past.elsewhere(f.id) {
		sameDir := filepath.Dir(p.place()) == filepath.Dir(f.place())
		if sameDir && p.print.length > 0 && fitsContent(p, handle, size) {
			f.replaces = p.id
			return p, true
		}
	}
	value, ok := t.opts.Sink.Position(f.id.input(t.prefix))
	if !ok {
		return position{}, false
	}
	p, err := decodePosition(value)
	if err != nil { // of another version: the file is known, but not how far it was read
		t.opts.Log.Warn("a file's position can not be read: reading it from the start", "file", f.path, "error", err)
	}
	return p, true
}

// fitsContent reports whether a file is the one that p is of, not shortened since.
func fitsContent(p position, handle *os.File, size int64) bool {
	if p.kind == packed || p.kind == spare && isPacked(handle) {
		b, err := beginning(handle, packed)
		return err == nil && (p.print.length == 0 || p.beginsLike(b))
	}
	return size >= p.offset && p.fits(handle)
}

// resume goes on where a position says, if it is one of this file.
func (t *Tailer) resume(f *file, handle *os.File, size int64, p position, how arrival) (verdict, bool) {
	switch fits := fitsContent(p, handle, size); {
	case fits && p.kind == spare: // if it grew, is it still a copy?
		return passed, size == p.offset
	case fits:
		f.inherit(p)
		f.kind = p.kind
		f.restart(p.offset, p.print, p.state)
		return taken, true
	case p.kind == spare:
		return passed, false
	}
	// Truncated since, or the inode is another file's now.
	t.pending = append(t.pending, buffer.Position{Input: p.id.input(t.prefix)})
	t.rescue(p, make(directories))
	t.past.remove(p.id)
	if t.files[f.id] != nil { // f itself is the copy
		return passed, true
	}
	f.restart(0, fingerprint{}, "")
	return taken, f.kind == plain && !how.sibling
}

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
	if !m.same() { // truncated just now: what is to become of its copy is decided there
		if m.t.work[m] = true; m.now().beginsLike(b) {
			return later
		}
		return taken
	}
	own, err := beginning(m.handle, m.kind)
	if err != nil || !bytes.HasPrefix(own, b) {
		return taken
	}
	if len(b) == 0 && f.kind == packed {
		if whole(handle) { // of nothing
			return passed
		}
		return later
	}
	if len(b) == 0 { // a copy in the making?
		if len(own) > 0 && m.t.patient(f) {
			return later
		}
		return taken
	}
	info, err := m.handle.Stat()
	if err == nil && f.kind == plain && m.kind == plain && !alike(handle, m.handle, size, info.Size()) {
		return taken
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

// patient reports whether f, which may be a copy in the making, was found just now.
func (t *Tailer) patient(f *file) bool {
	now := t.opts.Now()
	first, ok := t.since[f.path]
	if !ok {
		first = now
		t.since[f.path] = now
	}
	return now.Sub(first) < t.opts.RotateWait
}

// spare notes that what f holds was or will be read from another file.
func (t *Tailer) spare(f *file, handle *os.File) {
	if p, ok := spareOf(f, handle); ok {
		t.past.add(p)
		t.pending = append(t.pending, t.keep(p))
	}
}

// member is a file that another may be a copy or a rotation of.
type member struct {
	position
	live *file
	sure bool
}

// relatives are the files that f's name may be a rotation of.
func (t *Tailer) relatives(f *file) []member {
	var all []member
	dir := filepath.Dir(f.place())
	for origin, sure := range origins(filepath.Base(f.place())) {
		for _, m := range t.lineage(filepath.Join(dir, origin)) {
			m.sure = sure
			all = append(all, m)
		}
	}
	return all
}

// lineage are the known files that were found at a place.
func (t *Tailer) lineage(place string) []member {
	var all []member
	add := func(f *file) {
		all = append(all, member{position: f.now(), live: f})
	}
	for f := range t.old {
		if f.place() == place {
			add(f)
		}
	}
	if f := t.byPath[place]; f != nil && f.place() == place && !t.old[f] {
		add(f)
	}
	for _, p := range t.past.at(place) {
		all = append(all, member{position: p})
	}
	return all
}

// missed reports whether f is surely a rotation of a file that is read, and was
// written to after that was found first: then it was rotated before it was seen.
func (t *Tailer) missed(f *file, info fs.FileInfo, how arrival) (origin position, ok bool) {
	for _, m := range t.relatives(f) {
		if !m.sure || m.kind == spare || m.id == f.id {
			continue
		}
		if since := t.contact(m.position); info.ModTime().UnixNano() >= since {
			return m.position, true
		}
		if how.fromEnd && t.opts.Now().Sub(info.ModTime()) < lateness {
			return m.position, true // it may still be written to
		}
	}
	return position{}, false
}

// contact is when the patterns that name a file were looked through first, in
// Unix nanoseconds.
func (t *Tailer) contact(p position) int64 {
	since := int64(math.MaxInt64)
	for _, pattern := range t.patterns {
		if at, ok := t.contacts[pattern.absolute]; ok && pattern.names(p.path) {
			if at == 0 { // not known
				at = p.modified
			}
			since = min(since, at)
		}
	}
	return since
}

// keep is a position as the buffer takes it.
func (t *Tailer) keep(p position) buffer.Position {
	return buffer.Position{Input: p.id.input(t.prefix), Value: p.encode()}
}
