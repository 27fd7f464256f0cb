package tail

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"logstow/input"
)

const (
	// lineFlushInterval is the maximum time between two polls while lines wait for their continuation.
	lineFlushInterval = 400 * time.Millisecond
	// pollAllLimit is the number of files up to which all are polled every PollInterval. If there are
	// more, only active files are polled, and scans check the others.
	pollAllLimit = 1000
	// Periodic scans take at most 1/scanShare of the time. Searches and scans after a change take at
	// most 1/urgentShare.
	scanShare, urgentShare = 100, 10
	// Files that are not being read are searched for at an interval that doubles from
	// firstSearchInterval to maxSearchInterval. It begins short because a file that is being renamed
	// may be missing in a listing.
	maxSearchInterval, firstSearchInterval = time.Hour, time.Second
)

// Run reads until the end of all files (Once) or until ctx is done. It begins with files
// that an earlier run read and that were renamed since. When ctx is done while following,
// Run reads to the current ends of the files (see [Options].Resume for last lines without
// newline) and returns nil. With Once, it returns the errors of unreadable files after all
// others were read. Run may be called once.
func (t *Tailer) Run(ctx context.Context) error {
	t.load(t.opts.Log)
	t.starting = true
	defer t.setStarted()
	defer func() {
		for _, f := range t.files {
			t.open.close(&f.handle)
		}
	}()
	if t.opts.Once {
		return t.readAll(ctx)
	}
	grace, cancel := input.Grace(ctx, t.opts.StopWait)
	defer cancel()
	w := watch(t.opts, &t.selection)
	t.watchingSince = w.since
	defer w.close()
	err := t.follow(ctx, grace, w)
	if t.opts.Resume && ctx.Err() != nil && grace.Err() != nil {
		t.opts.Log.Info("shutdown timeout: files were not read to their end; the next run resumes there")
		return nil
	}
	return err
}

// follow reads files as they grow until ctx is done. Then it reads to their current ends, until grace is done.
func (t *Tailer) follow(ctx, grace context.Context, w *watcher) error {
	if err := t.start(grace, w); err != nil {
		return err
	}
	t.setStarted()
	for {
		more, err := t.readDue(grace)
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return t.finish(grace, w)
		}
		if !more {
			if err := t.catchUp(ctx); err != nil {
				return err
			}
			t.wait(ctx, w)
		}
		if err := t.poll(grace, w); err != nil {
			return err
		}
	}
}

// catchUp passes the lines that are probably complete to the sink, and calls CaughtUp, the first time.
func (t *Tailer) catchUp(ctx context.Context) error {
	if t.opts.CaughtUp == nil || t.caughtUp {
		return nil
	}
	t.caughtUp = true
	if err := t.endSingle(ctx); err != nil {
		return err
	}
	return t.opts.CaughtUp(ctx)
}

// endSingle passes the lines that wait to the sink if they are probably complete.
func (t *Tailer) endSingle(ctx context.Context) error {
	for _, f := range inOrder(maps.Values(t.files)) {
		if f.continuedBy != nil {
			continue
		}
		if err := t.feed.EndSingle(ctx, f.lines, f.reference(t.opts.Now())); err != nil {
			return err
		}
	}
	return nil
}

// start opens the files that exist, stores the positions from which they are read, and finds the
// files that were renamed, copied or compressed since the last run.
func (t *Tailer) start(ctx context.Context, w *watcher) error {
	for _, p := range t.patterns {
		t.loadFirstScan(p)
	}
	t.scan(w.add, func(p *pattern) discovery {
		return discovery{fromEnd: p.isNew && !t.opts.FromStart, includeCompressed: p.isNew && t.opts.FromStart}
	})
	t.searchAll(false)
	t.search()
	t.forgetRemoved()
	t.starting = false // from here on an unknown file is a new one
	now := t.opts.Now()
	t.scans.last, t.lastSearchAll, t.searchInterval = now, now, firstSearchInterval
	for _, f := range inOrder(maps.Values(t.files)) {
		t.storeFile(f)
	}
	for _, p := range t.patterns {
		t.storeFirstScan(p)
	}
	return t.flush(ctx)
}

// finish reads to the current ends of the files and, without Resume, flushes their last lines.
func (t *Tailer) finish(ctx context.Context, w *watcher) error {
	if err := t.poll(ctx, w); err != nil {
		return err
	}
	t.scan(w.add, afterStart)
	t.dirs = newListing(system{})
	t.search()
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
		return t.flushWaiting(ctx, w)
	}
	for _, f := range inOrder(maps.Values(t.files)) {
		if err := t.end(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// flushWaiting waits for the lines that multi-line records wait for, so that the last records of a file are stored now and
// not when the next run reads them again. If there is no time for that, it flushes those that are probably complete.
func (t *Tailer) flushWaiting(ctx context.Context, w *watcher) error {
	isWaiting := func(f *file) bool { return f.lines.Waiting() }
	if timeout := t.opts.Lines.Multiline.Timeout; timeout <= t.opts.StopWait {
		waiting, cancel := context.WithTimeout(ctx, 2*timeout)
		defer cancel()
		for waiting.Err() == nil && slices.ContainsFunc(slices.Collect(maps.Keys(t.due)), isWaiting) {
			t.wait(waiting, w)
			if _, err := t.readDue(ctx); err != nil {
				return err
			}
		}
	}
	return t.endSingle(ctx)
}

// afterStart is the discovery of files after the first scan.
func afterStart(*pattern) discovery { return discovery{} }

// poll finds the files that are due.
func (t *Tailer) poll(ctx context.Context, w *watcher) error {
	t.dirs = newListing(system{})
	now := t.opts.Now()
	t.handleEvents(w)
	if now.Sub(t.lastPoll) >= t.opts.PollInterval {
		t.lastPoll = now
		for _, f := range t.files {
			if len(t.files) <= pollAllLimit || t.isActive(f) {
				t.due[f] = true
			}
		}
	}
	interval := t.opts.ScanInterval
	if len(t.deferred) > 0 {
		interval = min(interval, t.opts.PollInterval)
	}
	if t.rescan && t.scans.remaining(now, 0, urgentShare) <= 0 || t.scans.remaining(now, interval, scanShare) <= 0 {
		t.rescan = false
		w.rewatch(now)
		t.scans.do(now, func() { t.scan(w.add, afterStart) })
	}
	if now.Sub(t.lastSearchAll) >= t.searchInterval {
		t.lastSearchAll, t.searchInterval = now, min(2*t.searchInterval, maxSearchInterval)
		t.searchAll(t.searchInterval == maxSearchInterval)
	}
	if len(t.changed) > 0 && t.searches.remaining(now, 0, urgentShare) <= 0 {
		t.searches.do(now, t.search)
	}
	t.forgetRemoved()
	return t.flush(ctx)
}

// handleEvents handles the events of the file system.
func (t *Tailer) handleEvents(w *watcher) {
	n := w.drain()
	if n.overflow {
		t.rescan = true
		for _, f := range t.files {
			t.due[f] = true
		}
	}
	for _, c := range n.opened {
		t.observe(c)
	}
	for path := range n.written {
		if f := t.byPath[path]; f != nil {
			t.due[f] = true
		}
	}
	for path := range n.renamed {
		if w.isDir(path) || t.byPath[path] != nil || t.matches(path) {
			t.rescan = true
			continue
		}
		if t.hasOrigin(path, func(*knownFile) bool { return true }) {
			t.markChanged(path)
		}
		if info, err := os.Lstat(path); err == nil && info.IsDir() {
			t.rescan = true // it may contain files already
		}
	}
}

// wait sleeps until the next poll.
func (t *Tailer) wait(ctx context.Context, w *watcher) {
	gap := time.NewTimer(minPollGap)
	defer gap.Stop()
	select {
	case <-gap.C:
	case <-ctx.Done():
		return
	}
	now := t.opts.Now()
	timeout := t.opts.PollInterval - minPollGap
	if len(t.due) > 0 { // lines wait for their continuation
		timeout = min(timeout, lineFlushInterval)
	}
	if t.rescan {
		timeout = min(timeout, t.scans.remaining(now, 0, urgentShare))
	}
	if len(t.changed) > 0 {
		timeout = min(timeout, t.searches.remaining(now, 0, urgentShare))
	}
	poll := time.NewTimer(max(timeout, 0))
	defer poll.Stop()
	select {
	case <-w.wake:
	case <-poll.C:
	case <-ctx.Done():
	}
}

// readAll reads all files to their end, in the order of the patterns and of the file names.
func (t *Tailer) readAll(ctx context.Context) error {
	var failed []error
	var all []*candidate
	for _, p := range t.patterns {
		files, errs := t.find(p, func(string) {})
		if len(files)+len(errs) == 0 {
			errs = append(errs, noMatch(p))
		}
		failed, all = append(failed, errs...), append(all, files...)
	}
	read := func(f *file) error {
		fileErr, err := t.readToEnd(ctx, f)
		if fileErr != nil {
			failed = append(failed, explain(fileErr))
		}
		return err
	}
	readUnmatched := func() error {
		t.search()
		if err := t.flush(ctx); err != nil { // flushed first: the positions of records are newer
			return err
		}
		for _, f := range inOrder(maps.Values(t.files)) {
			if err := read(f); err != nil {
				return err
			}
		}
		return nil
	}
	t.searchAll(true)
	if err := readUnmatched(); err != nil {
		return err
	}
	present := make(map[fileID]bool)
	all = slices.DeleteFunc(all, func(c *candidate) bool {
		repeated := present[c.id]
		present[c.id] = true
		return repeated
	})
	for _, c := range all {
		t.opts.Stats.FileBytes.Add(c.size)
	}
	for _, c := range all {
		left := c.size
		c.discovery = discovery{fromEnd: t.opts.FromEnd, includeCompressed: true}
		if err := c.openPipe(ctx); ctx.Err() != nil {
			return context.Cause(ctx)
		} else if err != nil {
			failed = append(failed, explain(err))
			continue
		}
		f, decided, err := t.admit(c)
		if f != nil && t.opts.FromEnd { // otherwise the next run would not know the file
			t.storeFile(f)
		}
		if err := t.flush(ctx); err != nil {
			return err
		}
		switch {
		case err != nil:
			failed = append(failed, explain(err))
		case !decided:
			failed = append(failed, fmt.Errorf("cannot decompress %s: unexpected end of file: it is damaged or incomplete", c.path))
		case f != nil:
			f.toRead = left
			if err := read(f); err != nil {
				return err
			}
			left = f.toRead
		}
		t.opts.Stats.FileBytesRead.Add(left)
	}
	if err := readUnmatched(); err != nil { // copies of files that were replaced
		return err
	}
	t.forgetRemoved()
	if err := t.flush(ctx); err != nil {
		return err
	}
	return joinErrors(failed)
}
