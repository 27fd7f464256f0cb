package tail

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
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

// follow reads files as they grow until ctx is done.
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
		t.opts.Log.Info("shutdown timeout: files were not read to their end; the next run resumes there")
		return nil
	}
	return err
}

// read reads files until ctx is done, and then, until late is done, what they hold by then.
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

// startFollowing opens the files that exist, stores the positions from which they are read,
// and finds the files that were renamed, copied or compressed since the last run.
func (t *Tailer) startFollowing(ctx context.Context, w *watcher) error {
	t.starting = true
	t.loadPositions()
	for _, p := range t.patterns {
		since, before := t.loadFirstScan(p)
		p.scanned, p.isNew, p.firstScan = true, !before, since
	}
	t.scan(w, func(p *pattern) discovery {
		return discovery{fromEnd: p.isNew && !t.opts.FromStart, includeCompressed: p.isNew && t.opts.FromStart}
	})
	t.findRenamed(true)
	for place := range t.byPath {
		t.markChanged(filepath.Dir(place))
	}
	t.scanRotated()
	t.forgetRemoved()
	t.starting, t.startupSearches = false, searchesAfterStart
	// From here on an unknown file is a new one.
	all := t.pendingPositions
	t.pendingPositions = nil
	for _, f := range inOrder(maps.Values(t.files)) {
		all = append(all, f.positions(f.source.Point())...)
	}
	for _, p := range t.patterns {
		value := binary.AppendUvarint([]byte{positionVersion}, uint64(p.firstScan))
		all = append(all, buffer.Position{Input: t.inputOf(p), Value: value})
	}
	t.lastScan, t.lastCleanup = t.opts.Now(), t.opts.Now()
	_, err := t.opts.Sink.Append(ctx, buffer.Chunk{Positions: all})
	return err
}

// fileClock is how far the times of files lag behind the clock: Linux takes that of its last tick,
// of which there are at least a hundred a second.
const fileClock = 10 * time.Millisecond

// loadFirstScan is the time of a pattern's first scan, in Unix nanoseconds by the clock of the files:
// now if there was none before, 0 if it is unknown.
func (t *Tailer) loadFirstScan(p *pattern) (since int64, before bool) {
	value, before := t.opts.Sink.Position(t.inputOf(p))
	if !before {
		return t.opts.Now().Add(-fileClock).UnixNano(), false
	}
	if len(value) > 1 && value[0] == positionVersion {
		if at, n := binary.Uvarint(value[1:]); n > 0 && at <= math.MaxInt64 {
			return int64(at), true
		}
	}
	return 0, true
}

// loadPositions loads the positions of files from the buffer. A file whose position cannot
// be decoded is read from its start.
func (t *Tailer) loadPositions() {
	for _, stored := range t.opts.Sink.Positions(t.prefix) {
		p, err := decodePosition(stored.Value)
		if err != nil {
			t.opts.Log.Warn("cannot decode the position of a file: reading it from the start", "position", stored.Input, "error", err)
			_, _ = fmt.Sscanf(stored.Input, t.prefix+"%x:%x", &p.id.device, &p.id.inode) // otherwise no file has it
		}
		t.known.add(p)
	}
}

// flush stores the positions without records.
func (t *Tailer) flush(ctx context.Context) error {
	if len(t.pendingPositions) == 0 {
		return nil
	}
	_, err := t.opts.Sink.Append(ctx, buffer.Chunk{Positions: t.pendingPositions})
	t.pendingPositions = nil
	return err
}

// readDue reads at most [readQuota] of every file that is due, displaced files first, and
// closes finished ones. It reports whether any has more. While a displaced file has
// more, the files at its former path wait.
func (t *Tailer) readDue(ctx context.Context) (more bool, err error) {
	if err := t.flush(ctx); err != nil { // before records, whose positions are newer
		return false, err
	}
	t.dirs = newListing(system{})
	waiting := make(map[string]bool)
	for _, f := range inOrder(maps.Keys(t.busy)) {
		if !f.due || t.files[f.id] != f || waiting[f.resolvedPath()] {
			continue
		}
		again, err := f.follow(ctx, t.opts.Now())
		if err != nil {
			return false, err
		}
		if again {
			more = true
			waiting[f.resolvedPath()] = f.displaced
			continue
		}
		if f.due = false; !f.active {
			delete(t.busy, f)
		}
	}
	return more, t.flush(ctx)
}

// finish reads what the files hold by now and, without Resume, ends their last lines.
func (t *Tailer) finish(ctx context.Context, w *watcher) error {
	if err := t.poll(ctx, w); err != nil {
		return err
	}
	t.scan(w, func(*pattern) discovery { return discovery{} })
	t.dirs = newListing(system{})
	t.scanRotated()
	for _, f := range t.files {
		t.setDue(f)
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
	for _, f := range inOrder(maps.Values(t.files)) {
		if err := t.feed.End(ctx, f.source, f.reference()); err != nil {
			return err
		}
	}
	return nil
}

// inOrder sorts files: displaced ones first, then by modification time.
func inOrder(files iter.Seq[*file]) []*file {
	return slices.SortedFunc(files, func(a, b *file) int {
		if a.displaced != b.displaced {
			if a.displaced {
				return -1
			}
			return 1
		}
		return cmp.Or(a.modified.Compare(b.modified), cmp.Compare(a.order, b.order))
	})
}

// follow reads what was appended, at most [readQuota], and reports whether there is
// more. Errors of the file are logged; err ends the run.
func (f *file) follow(ctx context.Context, now time.Time) (more bool, err error) {
	info, lookErr := f.look()
	if lookErr != nil {
		return f.failed(ctx, lookErr)
	}
	changed := !info.ModTime().Equal(f.modified)
	f.size, f.modified = info.Size(), info.ModTime()
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
		return true, f.truncated(ctx) // a copy of the former content goes first
	}
	gained := size - f.source.Offset()
	if gained <= 0 {
		return f.idle(ctx, now)
	}
	f.lastRead, f.hasMore = now, true
	f.t.setActive(f)
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

// failed handles a file that cannot be opened.
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

// idle handles a file without new data: partial lines, and the end of displaced files.
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

// followCompressed reads at most [readQuota] of a compressed file, and stops reading it at its end.
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

// finished reports whether a file without a path has been idle for RotateWait.
func (f *file) finished(now time.Time) bool {
	wait := f.t.opts.RotateWait
	return !f.goneSince.IsZero() && now.Sub(f.goneSince) >= wait && now.Sub(f.lastRead) >= wait
}

// logOutage logs when a file or pattern becomes unreadable, and when it is readable again (err nil).
func (t *Tailer) logOutage(about string, err error) {
	switch {
	case err != nil && !t.failing[about]:
		t.failing[about] = true
		t.opts.Log.Warn("cannot read, retrying", "file", about, "error", err)
	case err == nil && t.failing[about]:
		delete(t.failing, about)
		t.opts.Log.Info("readable again", "file", about)
	}
}
