package tail

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

const (
	// settle is the least time between two looks at the files.
	minPollGap = 100 * time.Millisecond
	// lineWait is the most between two looks while a line may have come to its end by time alone.
	lineFlushInterval = 400 * time.Millisecond
	// fewFiles is how many files are all looked at every PollInterval. Of more, only
	// those that grew lately are; the others, when the patterns are looked through.
	pollAllLimit = 1000
	// warmFor is how many PollIntervals a file that grew is looked at in each.
	activePolls = 10
	// share is which part of the time may be spent in looking through the patterns
	// by the clock, hurry that for which there is a reason.
	scanShare, urgentShare = 100, 10
)

// lookAround finds out which files are to be looked at.
func (t *Tailer) poll(ctx context.Context, w *watcher) error {
	t.dirs = make(directories)
	now := t.opts.Now()
	t.handleEvents(w)
	if now.Sub(t.lastPoll) >= t.opts.PollInterval {
		t.lastPoll = now
		t.pollFiles(now)
	}
	for f := range t.active {
		if f.source.Waiting() {
			t.due[f] = true
		}
	}
	t.retryDeferred()
	sinceScan := now.Sub(t.lastScan)
	if t.rescan && sinceScan >= urgentShare*t.scanCost || sinceScan >= max(t.opts.ScanInterval, scanShare*t.scanCost) {
		t.rescan = false
		w.rewatch(now)
		began := time.Now()
		t.scan(w, func(pattern) discovery { return discovery{} })
		t.lastScan, t.scanCost = now, time.Since(began)
	}
	if len(t.changedDirs) > 0 && now.Sub(t.lastDirScan) >= urgentShare*t.dirScanCost {
		began := time.Now()
		t.scanRotated(t.dirs)
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

// takeNotices takes in what the file system said.
func (t *Tailer) handleEvents(w *watcher) {
	n := w.drain()
	if n.overflow {
		t.rescan = true
		for _, f := range t.files {
			t.due[f] = true
		}
	}
	for _, c := range n.opened {
		t.checkPath(c.path, c.handle)
	}
	for path := range n.written {
		if f := t.byPath[path]; f != nil {
			t.due[f] = true
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
			t.changedDirs[filepath.Dir(path)] = true
		}
		if info, err := os.Lstat(path); err == nil && info.IsDir() {
			t.rescan = true // there may be files in it already
		}
	}
}

// hasOrigin reports whether a file that is known may have been rotated to a path.
func (t *Tailer) hasOrigin(path string) bool {
	for origin := range origins(filepath.Base(path)) {
		place := filepath.Join(filepath.Dir(path), origin)
		if t.byPath[place] != nil || len(t.history.byPlace[place]) > 0 {
			return true
		}
	}
	return false
}

// poll looks at files by the clock.
func (t *Tailer) pollFiles(now time.Time) {
	if len(t.files) <= pollAllLimit {
		for _, f := range t.files {
			t.due[f] = true
		}
	}
	for f := range t.active {
		t.due[f] = true
		if f.goneSince.IsZero() && f.source.Held() == 0 && !f.source.Waiting() && now.Sub(f.lastRead) > activePolls*t.opts.PollInterval {
			delete(t.active, f)
		}
	}
}

// lookAgain looks at what it could not be told of what it is.
func (t *Tailer) retryDeferred() {
	again, dirs := t.deferred, t.deferredDirs
	t.deferred, t.deferredDirs = make(map[string]bool), make(map[string]bool)
	for path := range again {
		t.checkPath(path, nil)
	}
	for dir := range dirs {
		t.changedDirs[dir] = true
	}
}

// wait sleeps until something may have changed.
func (t *Tailer) wait(ctx context.Context, w *watcher) {
	rest := time.NewTimer(minPollGap)
	defer rest.Stop()
	select {
	case <-rest.C:
	case <-ctx.Done():
		return
	}
	timeout := t.opts.PollInterval - minPollGap
	for f := range t.active {
		if f.source.Waiting() {
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
