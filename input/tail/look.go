package tail

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

const (
	// settle is the least time between two looks at the files.
	settle = 100 * time.Millisecond
	// lineWait is the most between two looks while a line may have come to its end by time alone.
	lineWait = 400 * time.Millisecond
	// fewFiles is how many files are all looked at every PollInterval. Of more, only
	// those that grew lately are; the others, when the patterns are looked through.
	fewFiles = 1000
	// warmFor is how many PollIntervals a file that grew is looked at in each.
	warmFor = 10
	// share is which part of the time may be spent in looking through the patterns
	// by the clock, hurry that for which there is a reason.
	share, hurry = 100, 10
)

// lookAround finds out which files are to be looked at.
func (t *Tailer) lookAround(ctx context.Context, w *watcher) error {
	t.dirs = make(directories)
	now := t.opts.Now()
	t.takeNotices(w)
	if now.Sub(t.polled) >= t.opts.PollInterval {
		t.polled = now
		t.poll(now)
	}
	for f := range t.warm {
		if f.source.Waiting() {
			t.work[f] = true
		}
	}
	t.lookAgain()
	sinceScan := now.Sub(t.scanned)
	if t.rescan && sinceScan >= hurry*t.scanCost || sinceScan >= max(t.opts.ScanInterval, share*t.scanCost) {
		t.rescan = false
		w.renew(now)
		began := time.Now()
		t.scan(w, func(pattern) arrival { return arrival{} })
		t.scanned, t.scanCost = now, time.Since(began)
	}
	if len(t.rotated) > 0 && now.Sub(t.searched) >= hurry*t.searchCost {
		began := time.Now()
		t.siblings(t.dirs)
		t.forget()
		t.searched, t.searchCost = now, time.Since(began)
	}
	if now.Sub(t.cleaned) >= cleanInterval || t.searchesLeft > 0 && t.polled.Equal(now) {
		t.cleaned = now
		t.searchesLeft--
		t.renamed(t.searchesLeft >= 0)
		t.forget()
	}
	return t.flush(ctx)
}

// takeNotices takes in what the file system said.
func (t *Tailer) takeNotices(w *watcher) {
	n := w.take()
	if n.lost {
		t.rescan = true
		for _, f := range t.files {
			t.work[f] = true
		}
	}
	for _, c := range n.caught {
		t.lookAt(c.path, c.handle)
	}
	for path := range n.written {
		if f := t.byPath[path]; f != nil {
			t.work[f] = true
		}
	}
	for path := range n.named {
		if w.isDir(path) {
			t.rescan = true
		}
		if t.byPath[path] != nil || t.matches(path) {
			t.lookAt(path, nil)
			continue
		}
		if t.hasOrigin(path) {
			t.rotated[filepath.Dir(path)] = true
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
		if t.byPath[place] != nil || len(t.past.byPlace[place]) > 0 {
			return true
		}
	}
	return false
}

// poll looks at files by the clock.
func (t *Tailer) poll(now time.Time) {
	if len(t.files) <= fewFiles {
		for _, f := range t.files {
			t.work[f] = true
		}
	}
	for f := range t.warm {
		t.work[f] = true
		if f.gone.IsZero() && f.source.Held() == 0 && !f.source.Waiting() && now.Sub(f.grew) > warmFor*t.opts.PollInterval {
			delete(t.warm, f)
		}
	}
}

// lookAgain looks at what it could not be told of what it is.
func (t *Tailer) lookAgain() {
	again, dirs := t.again, t.againIn
	t.again, t.againIn = make(map[string]bool), make(map[string]bool)
	for path := range again {
		t.lookAt(path, nil)
	}
	for dir := range dirs {
		t.rotated[dir] = true
	}
}

// wait sleeps until something may have changed.
func (t *Tailer) wait(ctx context.Context, w *watcher) {
	rest := time.NewTimer(settle)
	defer rest.Stop()
	select {
	case <-rest.C:
	case <-ctx.Done():
		return
	}
	patience := t.opts.PollInterval - settle
	for f := range t.warm {
		if f.source.Waiting() {
			patience = min(patience, lineWait)
			break
		}
	}
	poll := time.NewTimer(max(patience, 0))
	defer poll.Stop()
	select {
	case <-w.wake:
	case <-poll.C:
	case <-ctx.Done():
	}
}

func dirOf(path string) string { return filepath.Dir(path) }
