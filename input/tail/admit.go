package tail

import (
	"cmp"
	"fmt"
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
	if v == taken && f.service == "" {
		v = passed
		t.sayForeign(f)
	}
	if v != taken {
		_ = handle.Close()
		return nil, v, nil
	}
	t.add(f, handle)
	return f, taken, nil
}

// sayForeign says that a file is of no service, once.
func (t *Tailer) sayForeign(f *file) {
	if !t.foreign {
		t.foreign = true
		t.opts.Log.Warn("a file is not read: no service can be told by its path (said once); exclude it, or name only files of containers", "file", f.home)
	}
}

// add takes a file among those that are being read.
func (t *Tailer) add(f *file, handle *os.File) {
	t.files[f.id] = f
	t.work[f] = true
	t.past.remove(f.id)
	delete(t.forgotten, f.id) // that one had its identity before
	if f.replaces != (fileID{}) {
		t.pending = append(t.pending, f.positions(f.source.Point())...)
	}
	if !t.open.add(f, handle) { // its turn comes when others were read to their end
		_ = handle.Close()
	}
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
	p, known := t.recall(f, handle, info.Size())
	if known && !p.telling() {
		if v, decided := t.fromContent(f, handle, info.Size()); decided {
			return v
		}
	}
	if known {
		if v, decided := t.resume(f, handle, info.Size(), p); decided {
			return v
		}
		if p.kind != spare && f.kind == plain {
			how.fromEnd = false // it was written since
		}
	}
	if v, decided := t.fromContent(f, handle, info.Size()); decided {
		return v
	}
	origin, missed := t.missed(f, info, how)
	switch {
	case how.sibling && !missed, f.kind == packed && !missed && !how.history:
		return passed
	case f.kind == packed && missed && t.mayBeCaught(info) && t.younger(f, settle):
		return later // until what was caught is known
	case how.sibling || f.kind == packed && missed:
		f.inherit(origin)
	}
	offset := int64(0)
	if how.fromEnd && f.kind == packed {
		if p, ok := spareOf(f, handle); ok && t.opts.Once {
			t.pending = append(t.pending, t.keep(p))
		}
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
	if value, ok := t.opts.Sink.Position(f.id.input(t.prefix)); ok {
		if _, err := decodePosition(value); err != nil { // of another version: the file is known, but not how far it was read
			t.opts.Log.Warn("a file's position can not be read: reading it from the start", "file", f.path, "error", err)
			return position{}, true
		}
	}
	return position{}, false
}

// fitsContent reports whether a file is the one that p is of, not shortened since.
func fitsContent(p position, handle *os.File, size int64) bool {
	if p.kind == packed || p.kind == spare && isPacked(handle) {
		b, err := beginning(handle, packed)
		return err == nil && (p.print.length == 0 || p.beginsLike(b))
	}
	return size >= p.offset && p.fits(handle) && (p.telling() || !isPacked(handle))
}

// resume goes on where a position says, if it is one of this file.
func (t *Tailer) resume(f *file, handle *os.File, size int64, p position) (verdict, bool) {
	switch fits := p.mayBeAt(f.path) && fitsContent(p, handle, size); {
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
	if t.past.remove(p.id); !t.rescue(p, make(directories)) {
		t.bequeath(p)
	}
	if t.files[f.id] != nil { // f itself is the copy
		return passed, true
	}
	return passed, false
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

// mayBeCaught reports whether what a file was made of may have been opened by the
// watcher. The clock of file systems lags a little.
func (t *Tailer) mayBeCaught(info fs.FileInfo) bool {
	return !t.catching.IsZero() && info.ModTime().After(t.catching.Add(-time.Second))
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
