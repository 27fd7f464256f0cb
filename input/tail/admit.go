package tail

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"logstow/buffer"
)

// view is what is known now.
func (t *Tailer) view() view {
	return view{
		known: t.known, dirs: t.dirs, now: t.opts.Now(), starting: t.starting, watchingSince: t.watchingSince,
		rotateWait: t.opts.RotateWait, firstScan: func(p position) int64 { return firstScanOf(t.patterns, p) },
	}
}

// admit reads a file that is not being read, if that is the decision. A handle, if not
// nil, is the open file. decided is false if the file is to be observed again at the next poll.
func (t *Tailer) admit(found found, handle *os.File, c *candidate) (f *file, decided bool, err error) {
	if handle == nil {
		if handle, err = t.openFound(found); err != nil {
			return nil, false, err
		}
	}
	c.content = handle
	defer c.close()
	info, err := handle.Stat()
	if err != nil {
		return nil, false, err
	}
	c.entry, c.source, c.deferred = newEntry(found.path, info), found.source, t.deferred[found.path]
	c.place, c.pipe = t.dirs.resolved(found.path), !info.Mode().IsRegular()
	switch {
	case c.pipe && !t.opts.Once:
		return nil, false, fmt.Errorf("%s is not a regular file: pipe it in and give - as the file", found.path)
	case c.id != idOf(found.path, found.info): // it was just renamed
		return nil, false, nil
	case t.known.isLive(c.id):
		return nil, true, nil
	case c.pipe:
		return t.startReading(c, action{verb: start}), true, nil
	}
	a := t.execute(t.view().resolve(c))
	if a.verb == start || a.verb == resume || a.verb == resumeCopy {
		f = t.files[c.id]
	}
	return f, a.verb != wait, nil
}

// execute executes actions and returns the last one.
func (t *Tailer) execute(all actions) (last action) {
	for c, a := range all {
		switch last = a; a.verb {
		case wait:
			if m, ok := a.original.(*file); ok {
				t.setDue(m)
			}
		case markCopy:
			if m, ok := a.original.(*file); ok {
				m.extendPrint()
			}
			if p, ok := copyPosition(t.newFile(c, a.kind), c.content); ok {
				t.store(p)
			}
		case start, resume, resumeCopy:
			t.startReading(c, a)
		case replaced:
			t.forget(a.from.id)
		case orphan:
			t.orphan(a.from)
		}
	}
	return last
}

// startReading starts reading a file, unless it has no service.
func (t *Tailer) startReading(c *candidate, a action) *file {
	f := t.newFile(c, a.kind)
	f.adopt(a.from)
	if f.service == "" {
		t.logNoService(f)
		return nil
	}
	if a.verb == start {
		f.startAt(a.offset, a.print, "")
	} else {
		f.startAt(a.from.offset, a.from.print, a.from.state)
		f.previousID = a.from.id
	}
	t.files[f.id] = f
	t.setDue(f)
	t.known.addLive(f.id, f.resolvedPath(), f)
	if f.previousID != (fileID{}) && f.previousID != f.id {
		t.pendingPositions = append(t.pendingPositions, f.positions(f.source.Point())...)
	}
	if handle, ok := c.content.(*os.File); ok && t.open.add(f, handle) { // otherwise it is opened later
		c.content = nil
	}
	if c.unmatched {
		t.displace(f)
	}
	return f
}

// logNoService logs once that a file has no service.
func (t *Tailer) logNoService(f *file) {
	if !t.loggedNoService {
		t.loggedNoService = true
		t.opts.Log.Warn("file skipped: its path gives no service (logged once); exclude it, or match only files of containers", "file", f.firstPath)
	}
}

// openFound opens a file; it waits for the writer of a pipe with Once only.
func (t *Tailer) openFound(found found) (*os.File, error) {
	path := cmp.Or(found.shown, found.path)
	if t.opts.Once && !found.info.Mode().IsRegular() {
		return os.Open(path)
	}
	return openFile(path)
}

// orphan keeps the position of a file that has other content now, under an identity that
// no file has, until copies were searched for: a copy that is being written, as by gzip,
// is not recognized yet.
func (t *Tailer) orphan(p position) {
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

// displace marks a file as being at no path that a pattern matches.
func (t *Tailer) displace(f *file) {
	if f.goneSince.IsZero() {
		f.goneSince = t.opts.Now()
	}
	f.displaced = true
	t.setActive(f)
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

// copyPosition is the position of a file, with content r, of which nothing is read any more.
func copyPosition(f *file, r io.ReaderAt) (position, bool) {
	head, err := readHead(r, f.kind)
	p := f.position(0, "")
	p.kind, p.print, p.offset = copied, fingerprintOf(head), f.size
	return p, err == nil
}

// encoded is a position as the buffer stores it.
func (t *Tailer) encoded(p position) buffer.Position {
	return buffer.Position{Input: p.id.input(t.prefix), Value: p.encode()}
}
