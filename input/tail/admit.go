package tail

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"logstow/buffer"
)

// discovery is how unknown files are read: from their end, and compressed ones at all.
type discovery struct {
	fromEnd, includeCompressed bool
}

// view is what is known now.
func (t *Tailer) view() view {
	return view{
		known: t.known, dirs: t.dirs, now: t.opts.Now(), starting: t.starting, watchingSince: t.watchingSince,
		rotateWait: t.opts.RotateWait, firstScan: func(p position) int64 { return firstScanOf(t.patterns, p) },
	}
}

// admit identifies a file that is not being read and reads it if that is the decision. A
// handle, if not nil, is the open file; admit closes it if the file is not read. ok
// is false if it is to be identified again at the next poll.
func (t *Tailer) admit(found found, handle *os.File, c candidate) (f *file, ok bool, err error) {
	if handle == nil {
		if handle, err = t.openFound(found); err != nil {
			return nil, false, err
		}
	}
	defer func() {
		if f == nil || f.handle != handle {
			_ = handle.Close()
		}
	}()
	f, err = t.newFile(found, handle)
	switch {
	case err != nil:
		return nil, false, err
	case !f.regular && !t.opts.Once:
		return nil, false, fmt.Errorf("%s is not a regular file: pipe it in and give - as the file", found.path)
	case f.id != idOf(found.path, found.info): // it was just renamed
		return nil, false, nil
	case t.known.isLive(f.id):
		return nil, true, nil
	}
	a := action{verb: start}
	if f.regular {
		info, err := handle.Stat()
		if err != nil {
			return nil, false, nil
		}
		c.entry, c.ReaderAt, c.place, c.deferred = newEntry(found.path, info), handle, f.resolvedPath(), t.deferred[found.path]
		a = t.identify(&c)
	}
	return t.apply(a, f, handle)
}

// identify decides about a file after it has handled files whose identity it has now.
func (t *Tailer) identify(c *candidate) action {
	for {
		a := t.view().identify(*c)
		if a.verb != replaced {
			return a
		}
		t.orphan(a.from)
		if c.fromEnd = c.fromEnd && isCompressed(c); t.known.isLive(c.id) { // it is the copy
			return action{verb: skip}
		}
	}
}

// apply does with a file what was decided about it.
func (t *Tailer) apply(a action, f *file, handle *os.File) (*file, bool, error) {
	f.kind = a.kind
	switch a.verb {
	case wait:
		if m, ok := a.original.(*file); ok {
			m.due = true
		}
		return nil, false, nil
	case markCopy:
		if m, ok := a.original.(*file); ok {
			m.extendPrint()
		}
		t.storeCopy(f, handle)
		return nil, true, nil
	case start:
		f.adopt(a.from)
		f.startAt(a.offset, a.print, "")
	case resume, resumeCopy:
		f.adopt(a.from)
		f.previousID = a.from.id
		f.startAt(a.from.offset, a.from.print, a.from.state)
	default:
		return nil, true, nil
	}
	if f.service == "" {
		t.logNoService(f)
		return nil, true, nil
	}
	t.add(f, handle)
	return f, true, nil
}

// logNoService logs once that a file has no service.
func (t *Tailer) logNoService(f *file) {
	if !t.loggedNoService {
		t.loggedNoService = true
		t.opts.Log.Warn("file skipped: its path gives no service (logged once); exclude it, or match only files of containers", "file", f.firstPath)
	}
}

// add adds a file to those being read.
func (t *Tailer) add(f *file, handle *os.File) {
	t.files[f.id] = f
	t.known.addLive(f.id, f.resolvedPath(), f)
	f.due = true
	if f.previousID != (fileID{}) && f.previousID != f.id {
		t.pendingPositions = append(t.pendingPositions, f.positions(f.source.Point())...)
	}
	t.open.add(f, handle) // if it cannot, f is opened when others were read to their end
}

// openFound opens a file; it waits for the writer of a pipe with Once only.
func (t *Tailer) openFound(found found) (*os.File, error) {
	path := cmp.Or(found.shown, found.path)
	if t.opts.Once && !found.info.Mode().IsRegular() {
		return os.Open(path)
	}
	return openFile(path)
}

// orphan handles a position whose file was truncated or whose inode another file has now:
// it is resumed in a copy, or kept until copies were searched for.
func (t *Tailer) orphan(p position) {
	t.forget(p.id)
	if t.dirs = newListing(system{}); !t.resumeFromCopy(p) {
		t.orphanPosition(p)
	}
}

// orphanPosition keeps the position of a file that has other content now, under an
// identity that no file has, until copies were searched for: a copy that is being
// written, as by gzip, is not recognized yet.
func (t *Tailer) orphanPosition(p position) {
	if p.print.length == 0 || p.kind != plain {
		return
	}
	p.id = p.orphanID()
	t.store(p)
	if !t.opts.Once { // with Once, the next run searches
		t.known.byID[p.id].state = removed
		t.markChanged(filepath.Dir(p.resolvedPath()))
	}
}

// resumeFromCopy looks for a copy of a file that was truncated, replaced or deleted, and
// continues in it.
func (t *Tailer) resumeFromCopy(p position) bool {
	for _, a := range t.view().findCopies(p) {
		handle, err := openFile(a.path)
		if err != nil {
			continue
		}
		info, err := handle.Stat()
		if err != nil || idOf(a.path, info) != a.id {
			_ = handle.Close()
			continue
		}
		f, err := t.newFile(found{path: a.path, source: p.source, info: info}, handle)
		if err == nil {
			f, _, err = t.apply(a.action, f, handle)
		}
		if err != nil || f == nil || f.handle != handle {
			_ = handle.Close()
		}
		if err == nil && f != nil {
			t.displace(f)
			return true
		}
	}
	return false
}

// displace marks a file as being at no path that a pattern matches.
func (t *Tailer) displace(f *file) {
	if f.goneSince.IsZero() {
		f.goneSince = t.opts.Now()
	}
	f.displaced, f.active = true, true
}

// forget deletes the position of a file that is not being read.
func (t *Tailer) forget(id fileID) {
	t.known.forget(id)
	t.pendingPositions = append(t.pendingPositions, buffer.Position{Input: id.input(t.prefix)})
}

// store stores the position of a file that is not being read.
func (t *Tailer) store(p position) {
	t.known.add(p)
	t.pendingPositions = append(t.pendingPositions, t.encoded(p))
}

// storeCopy stores that nothing is to be read of a file any more.
func (t *Tailer) storeCopy(f *file, handle *os.File) {
	if p, ok := copyPosition(f, handle); ok {
		t.store(p)
	}
}

// encoded is a position as the buffer stores it.
func (t *Tailer) encoded(p position) buffer.Position {
	return buffer.Position{Input: p.id.input(t.prefix), Value: p.encode()}
}

// copyPosition is the position of a file of which nothing is read any more.
func copyPosition(f *file, handle *os.File) (position, bool) {
	info, err := handle.Stat()
	if err != nil {
		return position{}, false
	}
	head, err := readHead(handle, f.kind)
	p := f.position(0, "")
	p.kind, p.print, p.offset = copied, fingerprintOf(head), info.Size()
	return p, err == nil
}
