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
	"path/filepath"
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
	if err := t.startFollowing(late, w); err != nil {
		return err
	}
	for {
		more, err := t.readDue(late)
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return t.finish(late, w)
		}
		if !more {
			t.wait(ctx, w)
		}
		if err := t.poll(late, w); err != nil {
			return err
		}
	}
}

// begin opens what is there at the start, notes where reading it starts, and
// finds the files that were renamed, copied or compressed while nobody read them.
func (t *Tailer) startFollowing(ctx context.Context, w *watcher) error {
	t.starting = true
	t.loadPositions()
	for _, p := range t.patterns {
		since, before := t.loadFirstScan(p)
		t.newPatterns[p.absolute], t.firstScans[p.absolute] = !before, since
	}
	t.scan(w, func(p pattern) discovery {
		first := t.newPatterns[p.absolute]
		return discovery{fromEnd: first && !t.opts.FromStart, includeCompressed: first && t.opts.FromStart}
	})
	t.findRenamed(true)
	for place := range t.byPath {
		t.changedDirs[filepath.Dir(place)] = true
	}
	t.scanRotated(t.dirs)
	t.forgetRemoved()
	clear(t.newPatterns)
	t.starting, t.startupSearches = false, searchesAfterStart
	// From here on a file that is not known is one that appeared later.
	all := t.pendingPositions
	t.pendingPositions = nil
	for _, f := range t.inOrder(maps.Values(t.files)) {
		all = append(all, f.positions(f.source.Point())...)
	}
	for _, p := range t.patterns {
		value := binary.AppendUvarint([]byte{positionVersion}, uint64(t.firstScans[p.absolute]))
		all = append(all, buffer.Position{Input: t.inputOf(p), Value: value})
	}
	t.lastScan, t.lastCleanup = t.opts.Now(), t.opts.Now()
	_, err := t.opts.Sink.Append(ctx, buffer.Chunk{Positions: all})
	return err
}

// contactOf is when a pattern was looked through first, in Unix nanoseconds: now, if
// it was not before; 0 is not known.
func (t *Tailer) loadFirstScan(p pattern) (since int64, before bool) {
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
func (t *Tailer) loadPositions() {
	for _, kept := range t.opts.Sink.Positions(t.prefix) {
		if p, err := decodePosition(kept.Value); err == nil {
			t.history.add(p)
		}
	}
}

// flush hands over the positions that were made without records.
func (t *Tailer) flush(ctx context.Context) error {
	if len(t.pendingPositions) == 0 {
		return nil
	}
	_, err := t.opts.Sink.Append(ctx, buffer.Chunk{Positions: t.pendingPositions})
	t.pendingPositions = nil
	return err
}

// pass gives every file that may have something one turn, those that lost their
// name before the others, and closes those that are done with. It reports
// whether any has more. While there is more in a file, those that took its place wait.
func (t *Tailer) readDue(ctx context.Context) (more bool, err error) {
	if err := t.flush(ctx); err != nil { // before records, which bring newer ones
		return false, err
	}
	t.dirs = make(directories)
	waiting := make(map[string]bool)
	for _, f := range t.inOrder(maps.Keys(t.due)) {
		if t.files[f.id] != f {
			delete(t.due, f)
			continue
		}
		if waiting[f.resolvedPath()] {
			continue
		}
		again, err := f.follow(ctx, t.opts.Now())
		if err != nil {
			return false, err
		}
		if again {
			more = true
			waiting[f.resolvedPath()] = f.isDisplaced()
			continue
		}
		delete(t.due, f)
	}
	return more, t.flush(ctx)
}

// isOld reports whether another file may have the name under which f was found first.
func (f *file) isDisplaced() bool { return f.t.displaced[f] }

// finish reads what the files hold by now and, unless the next run goes on there, ends them.
func (t *Tailer) finish(ctx context.Context, w *watcher) error {
	if err := t.poll(ctx, w); err != nil {
		return err
	}
	t.scan(w, func(pattern) discovery { return discovery{} })
	t.scanRotated(make(directories))
	for _, f := range t.files {
		t.due[f] = true
	}
	for more := true; more; {
		var err error
		if more, err = t.readDue(ctx); err != nil {
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
		switch aOld, bOld := a.isDisplaced(), b.isDisplaced(); {
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
		return f.idle(ctx, now)
	}
	if openErr := f.open(); openErr != nil {
		return f.failed(ctx, openErr)
	}
	if f.kind == compressed {
		return f.followCompressed(ctx, now)
	}
	size := info.Size()
	if size < f.source.Offset() || !f.sameHead() {
		return true, f.truncated(ctx) // what it held goes first
	}
	gained := size - f.source.Offset()
	if gained <= 0 {
		return f.idle(ctx, now)
	}
	f.lastRead, f.hasMore, f.t.active[f] = now, true, true
	fileErr, err := f.read(ctx, &section{f, f.source.Offset(), f.source.Offset() + min(gained, readQuota)})
	if err != nil {
		return false, err
	}
	f.t.logOutage(f.path, fileErr)
	f.hasMore = fileErr == nil && gained > readQuota
	if fileErr != nil {
		f.t.open.close(f)
	}
	return f.hasMore, nil
}

// failed deals with a file that can not be looked at or opened.
func (f *file) failed(ctx context.Context, wrong error) (more bool, err error) {
	switch {
	case errors.Is(wrong, errTooManyOpen):
		return true, nil
	case errors.Is(wrong, fs.ErrNotExist):
		return f.missing(ctx)
	default:
		f.t.logOutage(f.path, explain(wrong))
		return false, nil
	}
}

// quiet does what is due to a file that has gained nothing.
func (f *file) idle(ctx context.Context, now time.Time) (more bool, err error) {
	f.hasMore = false
	if f.source.Held() > 0 && now.Sub(f.lastRead) >= f.t.opts.PartialWait {
		if err := f.t.feed.End(ctx, f.source, f.reference()); err != nil {
			return false, err
		}
	}
	if err := f.t.feed.Flush(ctx, f.source, f.reference()); err != nil {
		return false, err
	}
	if f.finished(now) {
		return false, f.close(ctx)
	}
	return false, nil
}

// followPacked reads a turn of a compressed file; at its end it is done with.
func (f *file) followCompressed(ctx context.Context, now time.Time) (more bool, err error) {
	f.lastRead = now
	more, fileErr, err := f.readCompressed(ctx, readQuota)
	if err != nil || more {
		return more, err
	}
	if f.t.logOutage(f.path, fileErr); fileErr == nil {
		err = f.t.feed.End(ctx, f.source, f.reference())
		f.t.complete(f)
		return false, err
	}
	f.hasMore = false
	f.t.open.close(f)
	return false, nil
}

// finished reports whether a file without a name has been quiet for long enough.
func (f *file) finished(now time.Time) bool {
	wait := f.t.opts.RotateWait
	return !f.goneSince.IsZero() && now.Sub(f.goneSince) >= wait && now.Sub(f.lastRead) >= wait
}

// complain logs what is wrong with a file or pattern when it begins, and that
// it is over; nil is nothing wrong.
func (t *Tailer) logOutage(about string, err error) {
	switch {
	case err != nil && !t.failing[about]:
		t.failing[about] = true
		t.opts.Log.Warn("can not be read for now; trying again", "file", about, "error", err)
	case err == nil && t.failing[about]:
		delete(t.failing, about)
		t.opts.Log.Info("can be read again", "file", about)
	}
}
