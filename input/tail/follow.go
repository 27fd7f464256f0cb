package tail

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"logstow/buffer"
	"logstow/input"
)

// follow reads files as they grow until ctx ends.
func (t *Tailer) follow(ctx context.Context) error {
	late, cancel := input.Grace(ctx, t.opts.StopWait)
	defer cancel()
	w := t.watch()
	defer w.close()
	defer func() {
		for _, f := range t.files {
			t.open.close(f)
		}
	}()
	err := t.read(ctx, late, w)
	if t.opts.Resume && ctx.Err() != nil && late.Err() != nil {
		t.opts.Log.Info("files were not read to their end in time; the next run goes on where this one ended")
		return nil
	}
	return err
}

// read reads files until ctx ends, and then, until late ends, what they hold.
func (t *Tailer) read(ctx, late context.Context, w *watcher) error {
	if err := t.begin(late, w); err != nil {
		return err
	}
	for {
		more, err := t.pass(late)
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return t.finish(late, w)
		}
		if !more {
			t.wait(ctx, w)
		}
		if err := t.lookAround(late, w); err != nil {
			return err
		}
	}
}

// begin opens what is there at the start, notes where reading it starts, and
// finds the files that were renamed, copied or compressed while nobody read them.
func (t *Tailer) begin(ctx context.Context, w *watcher) error {
	t.starting = true
	t.recallAll()
	for _, p := range t.patterns {
		since, before := t.contactOf(p)
		t.first[p.absolute], t.contacts[p.absolute] = !before, since
	}
	t.scan(w, func(p pattern) arrival {
		first := t.first[p.absolute]
		return arrival{fromEnd: first && !t.opts.FromStart, history: first && t.opts.FromStart}
	})
	t.renamed(true)
	for place := range t.byPath {
		t.rotated[dirOf(place)] = true
	}
	t.siblings(t.dirs)
	t.forget()
	clear(t.first)
	t.starting, t.searchesLeft = false, searches
	// From here on a file that is not known is one that appeared later.
	all := t.pending
	t.pending = nil
	for _, f := range t.inOrder(maps.Values(t.files)) {
		all = append(all, f.positions(f.source.Point())...)
	}
	for _, p := range t.patterns {
		value := binary.AppendUvarint([]byte{positionVersion}, uint64(t.contacts[p.absolute]))
		all = append(all, buffer.Position{Input: t.inputOf(p), Value: value})
	}
	t.scanned, t.cleaned = t.opts.Now(), t.opts.Now()
	_, err := t.opts.Sink.Append(ctx, buffer.Chunk{Positions: all})
	return err
}

// contactOf is when a pattern was looked through first, in Unix nanoseconds: now, if
// it was not before; 0 is not known.
func (t *Tailer) contactOf(p pattern) (since int64, before bool) {
	value, before := t.opts.Sink.Position(t.inputOf(p))
	if !before {
		return t.opts.Now().UnixNano(), false
	}
	if len(value) > 1 && value[0] == positionVersion {
		if at, n := binary.Uvarint(value[1:]); n > 0 && at <= math.MaxInt64 {
			return int64(at), true
		}
	}
	return 0, true
}

// recallAll takes in what the buffer knows of files.
func (t *Tailer) recallAll() {
	for _, kept := range t.opts.Sink.Positions(t.prefix) {
		if p, err := decodePosition(kept.Value); err == nil {
			t.past.add(p)
		}
	}
}

// flush hands over the positions that were made without records.
func (t *Tailer) flush(ctx context.Context) error {
	if len(t.pending) == 0 {
		return nil
	}
	_, err := t.opts.Sink.Append(ctx, buffer.Chunk{Positions: t.pending})
	t.pending = nil
	return err
}

// pass gives every file that may have something one turn, those that lost their
// name before the others, and closes those that are done with. It reports
// whether any has more. While there is more in a file, those that took its place wait.
func (t *Tailer) pass(ctx context.Context) (more bool, err error) {
	if err := t.flush(ctx); err != nil { // before records, which bring newer ones
		return false, err
	}
	t.dirs = make(directories)
	waiting := make(map[string]bool)
	for _, f := range t.inOrder(maps.Keys(t.work)) {
		if t.files[f.id] != f {
			delete(t.work, f)
			continue
		}
		if waiting[f.place()] {
			continue
		}
		again, err := f.follow(ctx, t.opts.Now())
		if err != nil {
			return false, err
		}
		if again {
			more = true
			waiting[f.place()] = f.isOld()
			continue
		}
		delete(t.work, f)
	}
	return more, t.flush(ctx)
}

// isOld reports whether another file may have the name under which f was found first.
func (f *file) isOld() bool { return f.t.old[f] }

// finish reads what the files hold by now and, unless the next run goes on there, ends them.
func (t *Tailer) finish(ctx context.Context, w *watcher) error {
	if err := t.lookAround(ctx, w); err != nil {
		return err
	}
	t.scan(w, func(pattern) arrival { return arrival{} })
	t.siblings(make(directories))
	for _, f := range t.files {
		t.work[f] = true
	}
	for more := true; more; {
		var err error
		if more, err = t.pass(ctx); err != nil {
			return err
		}
	}
	if t.opts.Resume {
		return nil
	}
	for _, f := range t.inOrder(maps.Values(t.files)) {
		if err := t.feed.End(ctx, f.source, f.reference()); err != nil {
			return err
		}
	}
	return nil
}

// inOrder lists files: those that lost their name before the others, and those
// last written to before those that were written to later.
func (t *Tailer) inOrder(files iter.Seq[*file]) []*file {
	return slices.SortedFunc(files, func(a, b *file) int {
		switch aOld, bOld := a.isOld(), b.isOld(); {
		case aOld && !bOld:
			return -1
		case bOld && !aOld:
			return 1
		}
		return cmp.Or(a.modified.Compare(b.modified), cmp.Compare(a.order, b.order))
	})
}

// follow reads what the file gained, at most a turn of it, and reports whether
// there is more. What is wrong with the file is logged, err ends the run.
func (f *file) follow(ctx context.Context, now time.Time) (more bool, err error) {
	info, lookErr := f.look()
	if lookErr != nil {
		return f.failed(ctx, lookErr)
	}
	changed := !info.ModTime().Equal(f.modified)
	f.modified = info.ModTime()
	if f.kind == plain && info.Size() == f.source.Offset() && !changed {
		return f.quiet(ctx, now)
	}
	if openErr := f.open(); openErr != nil {
		return f.failed(ctx, openErr)
	}
	if f.kind == packed {
		return f.followPacked(ctx, now)
	}
	size := info.Size()
	if size < f.source.Offset() || !f.same() {
		return true, f.truncated(ctx) // what it held goes first
	}
	gained := size - f.source.Offset()
	if gained <= 0 {
		return f.quiet(ctx, now)
	}
	f.grew, f.unread, f.t.warm[f] = now, true, true
	fileErr, err := f.read(ctx, &section{f, f.source.Offset(), f.source.Offset() + min(gained, turn)})
	if err != nil {
		return false, err
	}
	f.t.complain(f.path, fileErr)
	f.unread = fileErr == nil && gained > turn
	if fileErr != nil {
		f.t.open.close(f)
	}
	return f.unread, nil
}

// failed deals with a file that can not be looked at or opened.
func (f *file) failed(ctx context.Context, wrong error) (more bool, err error) {
	switch {
	case errors.Is(wrong, errBusy):
		return true, nil
	case errors.Is(wrong, fs.ErrNotExist):
		return f.lost(ctx)
	default:
		f.t.complain(f.path, explain(wrong))
		return false, nil
	}
}

// quiet does what is due to a file that has gained nothing.
func (f *file) quiet(ctx context.Context, now time.Time) (more bool, err error) {
	f.unread = false
	if f.source.Held() > 0 && now.Sub(f.grew) >= f.t.opts.PartialWait {
		if err := f.t.feed.End(ctx, f.source, f.reference()); err != nil {
			return false, err
		}
	}
	if err := f.t.feed.Flush(ctx, f.source, f.reference()); err != nil {
		return false, err
	}
	if f.finished(now) {
		return false, f.end(ctx)
	}
	return false, nil
}

// followPacked reads a turn of a compressed file; at its end it is done with.
func (f *file) followPacked(ctx context.Context, now time.Time) (more bool, err error) {
	f.grew = now
	more, fileErr, err := f.readPacked(ctx, turn)
	if err != nil || more {
		return more, err
	}
	if f.t.complain(f.path, fileErr); fileErr == nil {
		err = f.t.feed.End(ctx, f.source, f.reference())
		f.t.retire(f)
		return false, err
	}
	f.unread = false
	f.t.open.close(f)
	return false, nil
}

// finished reports whether a file without a name has been quiet for long enough.
func (f *file) finished(now time.Time) bool {
	wait := f.t.opts.RotateWait
	return !f.gone.IsZero() && now.Sub(f.gone) >= wait && now.Sub(f.grew) >= wait
}

// complain logs what is wrong with a file or pattern when it begins, and that
// it is over; nil is nothing wrong.
func (t *Tailer) complain(about string, err error) {
	switch {
	case err != nil && !t.said[about]:
		t.said[about] = true
		t.opts.Log.Warn("can not be read for now; trying again", "file", about, "error", err)
	case err == nil && t.said[about]:
		delete(t.said, about)
		t.opts.Log.Info("can be read again", "file", about)
	}
}
