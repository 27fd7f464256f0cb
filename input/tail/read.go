package tail

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"time"

	"logstow/input"
)

// activePolls is the number of PollIntervals for which a file that grew is active.
const activePolls = 10

// reader reads the files that are due.
type reader struct {
	scanner
	// stuck reports that all files with unread data wait for others to be closed.
	stuck bool
}

// readDue reads at most [readQuota] bytes of every file that is due, displaced files first, and
// closes finished ones. It reports whether any has unread data. While a displaced file has unread
// data, the files at its former path wait, unless it can only be opened after they are closed.
func (r *reader) readDue(ctx context.Context) (more bool, err error) {
	if err := r.flush(ctx); err != nil { // flushed first: the positions of records are newer
		return false, err
	}
	r.dirs = newListing(system{})
	waiting, progress := make(map[string]bool), false
	for _, f := range inOrder(maps.Keys(r.due)) {
		if r.files[f.id] != f || waiting[f.resolvedPath()] {
			continue
		}
		hasMore, err := r.follow(ctx, f)
		if err != nil {
			return false, err
		}
		progress = progress || !hasMore || f.opened != nil
		if hasMore {
			more = true
			waiting[f.resolvedPath()] = f.displaced() && !r.stuck
		} else if !f.lines.Waiting() {
			delete(r.due, f)
		}
	}
	r.stuck = more && !progress
	return more, r.flush(ctx)
}

// isActive reports whether a file must be polled.
func (r *reader) isActive(f *file) bool {
	return !f.goneSince.IsZero() || f.lines.Held() > 0 || r.opts.Now().Sub(f.lastRead) <= activePolls*r.opts.PollInterval
}

// follow reads what was appended, at most [readQuota], and reports whether there is
// more. Errors of the file are logged; err ends the run.
func (r *reader) follow(ctx context.Context, f *file) (more bool, err error) {
	e, fileErr := f.stat()
	if fileErr == nil && f.kind == plain && e.size == f.lines.Offset() && e.modified == f.modified {
		return false, r.idle(ctx, f)
	}
	if err := r.settle(ctx, f); err != nil {
		return false, err
	}
	if fileErr == nil {
		fileErr = f.reopen()
	}
	unchanged := true
	if fileErr == nil && f.kind == plain {
		unchanged, fileErr = f.matchesHead(f.opened)
		unchanged = unchanged && !f.isHole(f.opened)
	}
	switch {
	case errors.Is(fileErr, errTooManyOpen):
		return true, nil
	case errors.Is(fileErr, fs.ErrNotExist):
		return r.missing(ctx, f)
	case fileErr != nil:
		r.note(f.location, fileErr)
		r.open.close(&f.handle) // another handle may be readable
		return false, nil
	}
	f.size, f.modified = e.size, e.modified // set last: a file that could not be opened still counts as changed
	switch {
	case f.kind == plain && (f.size < f.lines.Offset() || !unchanged):
		return true, r.truncated(ctx, f) // a copy of the former content goes first
	case f.kind == plain && f.size == f.lines.Offset():
		return false, r.idle(ctx, f)
	}
	if err := r.carry(ctx, f); err != nil {
		return false, err
	}
	f.lastRead = r.opts.Now()
	if more, fileErr, err = f.read(ctx, r.feed, f.lastRead); err != nil {
		return false, err
	}
	r.note(f.location, fileErr)
	switch {
	case fileErr != nil:
		r.open.close(&f.handle)
	case f.kind == compressed && !more:
		return false, r.complete(ctx, f)
	}
	return more, nil
}

// end flushes what is held of a file; an incomplete line counts as a line.
func (r *reader) end(ctx context.Context, f *file) error {
	if err := r.settle(ctx, f); err != nil {
		return err
	}
	return r.feed.End(ctx, f.lines, f.reference(r.opts.Now()))
}

// idle handles a file without new data: partial lines, and the end of displaced files.
func (r *reader) idle(ctx context.Context, f *file) error {
	f.hasMore = false
	if f.continuedBy != nil || r.mayContinue(f) {
		return nil
	}
	now := r.opts.Now()
	if f.lines.Held() > 0 && now.Sub(f.lastRead) >= r.opts.PartialWait {
		if err := r.end(ctx, f); err != nil {
			return err
		}
	}
	if err := r.feed.Flush(ctx, f.lines, f.reference(now)); err != nil {
		return err
	}
	wait := r.opts.RotateWait
	if f.goneSince.IsZero() || now.Sub(f.goneSince) < wait || now.Sub(f.lastRead) < wait {
		return nil
	}
	if err := r.end(ctx, f); err != nil {
		return err
	}
	removed := f.isRemoved()
	if r.stop(f); removed {
		r.lost(f.position, true) // it may have been compressed
	}
	return nil
}

// complete stops reading a compressed file that was read to its end.
func (r *reader) complete(ctx context.Context, f *file) error {
	err := r.end(ctx, f)
	p, unreadable := copyOf(f.position, f.opened, f.size)
	if r.stop(f); unreadable == nil {
		r.store(p)
	}
	return err
}

// truncated restarts a file that was truncated. The rest of its former content is read
// from a copy, if there is one.
func (r *reader) truncated(ctx context.Context, f *file) error {
	r.opts.Log.Info("file was truncated: reading it from the start", "file", f.location)
	if err := r.feed.EndCarried(ctx, f.lines, f.reference(r.opts.Now())); err != nil {
		return err
	}
	r.dirs = newListing(system{})
	former := f.current()
	orphan := r.orphan(former)
	f.print, f.head = fingerprint{}, ""
	r.search()
	if _, left := r.known.past(orphan); left {
		f.print = former.print
		if err := r.end(ctx, f); err != nil {
			return err
		}
		r.forget(orphan)
		r.orphan(f.current())
		f.print = fingerprint{}
	}
	f.last = 0
	r.readFrom(f, input.Point{})
	r.storeFile(f)
	return r.flush(ctx)
}

// missing handles a closed file that is not at its path any more: it may have been
// renamed, copied or compressed.
func (r *reader) missing(ctx context.Context, f *file) (more bool, err error) {
	r.displace(f)
	p := f.current()
	e, found, certain := r.dirs.find(p)
	if found && e.path != f.location && p.distinguishing() { // otherwise it is identified as a rotated file
		f.location = e.path
		return true, nil
	}
	r.stop(f)
	r.lost(p, certain)
	r.search()
	if _, left := r.known.past(f.id); left { // otherwise the rest is read from a copy
		err = r.end(ctx, f)
		r.known.add(f.current())
		r.lost(p, certain)
	}
	return false, err
}

// readToEnd reads a file to its end and stops reading it. fileErr is an error of the file.
func (r *reader) readToEnd(ctx context.Context, f *file) (fileErr, err error) {
	fileErr, err = r.readRest(ctx, f)
	switch {
	case fileErr == nil && err == nil && f.kind == compressed:
		return nil, r.complete(ctx, f)
	case fileErr == nil && err == nil:
		err = r.end(ctx, f)
	}
	r.stop(f)
	return fileErr, err
}

// readRest reads a file to its end.
func (r *reader) readRest(ctx context.Context, f *file) (fileErr, err error) {
	if err := f.reopen(); err != nil {
		return err, nil
	}
	if f.pipe { // reading it may wait
		opened := f.opened // which is replaced when the file is closed
		stop := context.AfterFunc(ctx, func() { _ = opened.SetReadDeadline(time.Now()) })
		defer stop()
	} else if f.lines.Offset() > 0 {
		r.opts.Log.Info("resuming at the position of an earlier run", "file", f.location, "offset", f.lines.Offset())
	}
	for more := true; more && fileErr == nil && err == nil; {
		before := f.lines.Offset()
		more, fileErr, err = f.read(ctx, r.feed, r.opts.Now())
		if f.kind == plain {
			n := min(f.lines.Offset()-before, f.toRead)
			f.toRead -= n
			r.opts.Stats.FileBytesRead.Add(n)
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return fileErr, err
}
