package tail

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"logstow/buffer"
)

const (
	// cleanInterval is how often positions of files that are gone are looked for.
	cleanInterval = time.Hour
	// searches is how often lost files are looked for again after the start: while
	// files are renamed, a directory may be listed without one of them.
	searches = 3
	// keepGone is how long the position of a file that is not found any more is
	// kept after it was last written down: its directory may come back.
	keepGone = 3 * 24 * time.Hour
)

// truncated begins anew with a file that was emptied and written again. The rest
// of what it held is read from a copy, if there is one.
func (f *file) truncated(ctx context.Context) error {
	f.t.opts.Log.Info("file was truncated: reading it from the start", "file", f.path)
	if !f.t.rescue(f.now(), make(directories)) {
		if err := f.t.feed.End(ctx, f.source, f.reference()); err != nil {
			return err
		}
		f.t.bequeath(f.now())
	}
	f.restart(0, fingerprint{}, "")
	f.t.pending = append(f.t.pending, f.positions(f.source.Point())...)
	return f.t.flush(ctx)
}

// lost deals with a closed file that is not under its name any more: it may have
// another one, or have been copied or compressed.
func (f *file) lost(ctx context.Context) (more bool, err error) {
	t := f.t
	t.displace(f)
	path, info, sure := t.dirs.find(f.now())
	if info != nil && path != f.path {
		f.path = path
		return true, nil
	}
	rescued := t.rescue(f.now(), t.dirs)
	if !rescued {
		if err := t.feed.End(ctx, f.source, f.reference()); err != nil {
			return false, err
		}
	}
	t.drop(f)
	if rescued { // what is not read yet is read from the copy
		t.past.remove(f.id)
		t.pending = append(t.pending, buffer.Position{Input: f.id.input(t.prefix)})
		return false, nil
	}
	if sure {
		t.forgotten[f.id] = false
	}
	return false, nil
}

// end is done with a file that has no name to be read under any more.
func (f *file) end(ctx context.Context) error {
	t := f.t
	if err := t.feed.End(ctx, f.source, f.reference()); err != nil {
		return err
	}
	gone := false
	if f.handle != nil {
		info, err := f.handle.Stat()
		gone = err == nil && removed(info)
	}
	t.drop(f)
	if gone {
		t.rotated[filepath.Dir(f.place())] = true // it may have been compressed
		t.forgotten[f.id] = false
	}
	return nil
}

// retire is done with a file that was read to its end and will not grow.
func (t *Tailer) retire(f *file) {
	handle := f.handle
	p, ok := spareOf(f, handle)
	t.drop(f)
	if ok {
		t.past.add(p)
		t.pending = append(t.pending, t.keep(p))
	}
}

// drop stops reading a file; it stays known.
func (t *Tailer) drop(f *file) {
	p := f.now()
	t.open.close(f)
	for _, path := range []string{f.path, f.home, f.place()} {
		if t.byPath[path] == f {
			delete(t.byPath, path)
		}
	}
	delete(t.files, f.id)
	delete(t.work, f)
	delete(t.old, f)
	delete(t.warm, f)
	t.past.add(p)
}

// maxForgotten bounds how many files wait for being forgotten.
const maxForgotten = 10_000

// forget lets the buffer forget the files that were removed, once their copies are known.
func (t *Tailer) forget() {
	putOff := len(t.again)+len(t.againIn) > 0 // a copy may not be complete
	if putOff && len(t.forgotten) < maxForgotten {
		return
	}
	for id, looked := range t.forgotten {
		if !looked {
			continue
		}
		delete(t.forgotten, id)
		if t.files[id] == nil {
			t.past.remove(id)
			t.pending = append(t.pending, buffer.Position{Input: id.input(t.prefix)})
		}
	}
}

// renamed finds the files that were being read under a name of our patterns and
// now have another one or, at the start, were copied or compressed, oldest first.
// Positions of files that are gone for long are forgotten on the way.
func (t *Tailer) renamed(start bool) {
	type lostFile struct {
		entry
		position
	}
	var files []lostFile
	var copied []position
	for id, p := range t.past.byID {
		path, info, sure := t.dirs.find(p)
		switch {
		case info == nil && sure && start && p.kind != spare && t.matches(p.path):
			copied = append(copied, p)
		case info == nil && sure && t.opts.Now().Sub(time.Unix(p.at, 0)) >= keepGone:
			t.forgotten[id] = true
		case p.kind == spare || !t.matches(p.path):
		case info == nil || !info.Mode().IsRegular() || path == p.path: // or the patterns find it by themselves
		case p.kind == packed || info.Size() != p.offset || t.opts.Now().Sub(info.ModTime()) <= t.opts.RotateWait:
			files = append(files, lostFile{entry{path: path, info: info}, p})
		}
	}
	slices.SortFunc(files, func(a, b lostFile) int { return a.info.ModTime().Compare(b.info.ModTime()) })
	for _, l := range files {
		t.readOn(found{path: l.entry.path, source: l.source, info: l.info}, l.position)
	}
	slices.SortFunc(copied, func(a, b position) int { return int(a.modified - b.modified) })
	for _, p := range copied {
		t.rescue(p, t.dirs)
	}
}

// readOn goes on with a file that was renamed.
func (t *Tailer) readOn(found found, p position) {
	handle, err := openFile(found.path)
	t.complain(found.path, explain(err))
	if err != nil {
		return
	}
	if !fitsContent(p, handle, found.info.Size()) {
		_ = handle.Close()
		return
	}
	f, _, err := t.admit(found, handle, arrival{})
	t.complain(found.path, explain(err))
	if f != nil {
		f.gone = t.opts.Now()
		t.old[f], t.warm[f] = true, true
	}
}

// spareOf is the position of a file of which nothing is to be read any more.
func spareOf(f *file, handle *os.File) (position, bool) {
	info, err := handle.Stat()
	if err != nil {
		return position{}, false
	}
	b, err := beginning(handle, f.kind)
	p := f.position(0, "")
	p.kind, p.print, p.offset = spare, sumOf(b), info.Size()
	return p, err == nil
}
