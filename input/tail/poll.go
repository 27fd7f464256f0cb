package tail

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"time"
)

const (
	// minPollGap is the minimum time between two polls.
	minPollGap = 100 * time.Millisecond
	// lineFlushInterval is the maximum time between two polls while lines wait for their continuation.
	lineFlushInterval = 400 * time.Millisecond
	// pollAllLimit is the number of files up to which all are polled every PollInterval. Of
	// more, only active files are; the others are checked by scans.
	pollAllLimit = 1000
	// activePolls is the number of PollIntervals for which a file that grew is active.
	activePolls = 10
	// Periodic scans take at most 1/scanShare of the time, scans after a change at most
	// 1/urgentShare.
	scanShare, urgentShare = 100, 10
)

// poll finds the files that are due.
func (t *Tailer) poll(ctx context.Context, w *watcher) error {
	t.dirs = newListing(system{})
	now := t.opts.Now()
	t.handleEvents(w)
	if now.Sub(t.lastPoll) >= t.opts.PollInterval {
		t.lastPoll = now
		t.pollFiles(now)
	}
	for f := range t.busy {
		f.due = f.due || f.active && f.source.Waiting()
	}
	t.retryDeferred()
	sinceScan := now.Sub(t.lastScan)
	if t.rescan && sinceScan >= urgentShare*t.scanCost || sinceScan >= max(t.opts.ScanInterval, scanShare*t.scanCost) {
		t.rescan = false
		w.rewatch(now)
		began := time.Now()
		t.scan(w, func(*pattern) discovery { return discovery{} })
		t.lastScan, t.scanCost = now, time.Since(began)
	}
	if t.anyChanged && now.Sub(t.lastDirScan) >= urgentShare*t.dirScanCost {
		began := time.Now()
		t.scanRotated()
		t.forgetRemoved()
		t.lastDirScan, t.dirScanCost = now, time.Since(began)
	}
	if now.Sub(t.lastCleanup) >= cleanInterval || t.startupSearches > 0 && t.lastPoll.Equal(now) {
		t.lastCleanup = now
		t.startupSearches--
		t.findRenamed(t.startupSearches >= 0)
		t.forgetRemoved()
	}
	return t.flush(ctx)
}

// handleEvents handles the events of the file system.
func (t *Tailer) handleEvents(w *watcher) {
	n := w.drain()
	if n.overflow {
		t.rescan = true
		for _, f := range t.files {
			t.setDue(f)
		}
	}
	for _, c := range n.opened {
		t.checkPath(c.path, c.handle)
	}
	for path := range n.written {
		if f := t.byPath[path]; f != nil {
			t.setDue(f)
		}
	}
	for path := range n.renamed {
		if w.isDir(path) {
			t.rescan = true
		}
		if t.byPath[path] != nil || t.matches(path) {
			t.checkPath(path, nil)
			continue
		}
		if t.hasOrigin(path) {
			t.markChanged(filepath.Dir(path))
		}
		if info, err := os.Lstat(path); err == nil && info.IsDir() {
			t.rescan = true // it may contain files already
		}
	}
}

// hasOrigin reports whether a known file may have been rotated to a path.
func (t *Tailer) hasOrigin(path string) bool {
	for origin := range origins(filepath.Base(path)) {
		place := filepath.Join(filepath.Dir(path), origin)
		if t.byPath[place] != nil || len(t.known.at(place)) > 0 {
			return true
		}
	}
	return false
}

// pollFiles marks the files to be polled as due.
func (t *Tailer) pollFiles(now time.Time) {
	if len(t.files) <= pollAllLimit {
		for _, f := range t.files {
			t.setDue(f)
		}
	}
	for f := range t.busy {
		f.due = f.due || f.active
		if f.goneSince.IsZero() && f.source.Held() == 0 && !f.source.Waiting() && now.Sub(f.lastRead) > activePolls*t.opts.PollInterval {
			f.active = false
		}
	}
}

// setDue marks a file to be read next.
func (t *Tailer) setDue(f *file) {
	f.due = true
	t.busy[f] = true
}

// setActive marks a file to be polled.
func (t *Tailer) setActive(f *file) {
	f.active = true
	t.busy[f] = true
}

// retryDeferred observes deferred files again.
func (t *Tailer) retryDeferred() {
	for path := range maps.Clone(t.deferred) {
		if t.matches(path) {
			t.checkPath(path, nil)
		} else {
			t.markChanged(filepath.Dir(path))
		}
	}
}

// wait sleeps until the next poll.
func (t *Tailer) wait(ctx context.Context, w *watcher) {
	rest := time.NewTimer(minPollGap)
	defer rest.Stop()
	select {
	case <-rest.C:
	case <-ctx.Done():
		return
	}
	timeout := t.opts.PollInterval - minPollGap
	for f := range t.busy {
		if f.active && f.source.Waiting() {
			timeout = min(timeout, lineFlushInterval)
			break
		}
	}
	poll := time.NewTimer(max(timeout, 0))
	defer poll.Stop()
	select {
	case <-w.wake:
	case <-poll.C:
	case <-ctx.Done():
	}
}
