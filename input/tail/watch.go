package tail

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// renewal is how often directories are watched anew: one may have been replaced.
	rewatchInterval = time.Minute
	// repeats is after how many notices that say nothing new the watcher rests,
	// and rest for how long: the system folds equal notices meanwhile.
	duplicateEvents = 64
	duplicatePause  = 5 * time.Millisecond
)

// watcher collects what the file system says that changed, and opens files
// that appear at once: they may be gone when the reader comes to them. Without
// notices, by choice or because the system has none left, it says nothing.
type watcher struct {
	// wake holds a value once something changed.
	wake   chan struct{}
	notify *fsnotify.Watcher
	t      *Tailer
	done   sync.WaitGroup

	// Used by the reader alone.
	watched   map[string]bool
	rewatched time.Time
	failed    bool

	mu      sync.Mutex
	pending events
	// targets are the files that links lead to.
	targets map[string]bool
}

// notices are what changed since they were taken last.
type events struct {
	// written are the paths of files that were written to, named those where a
	// file appeared, went or was renamed.
	written, renamed map[string]bool
	// caught are files that appeared, open.
	opened []opened
	// lost says that there were more than could be told.
	overflow bool
}

type opened struct {
	path   string
	handle *os.File
}

func newEvents() events {
	return events{written: make(map[string]bool), renamed: make(map[string]bool)}
}

// watch starts a watcher; close ends it.
func (t *Tailer) watch() *watcher {
	w := &watcher{
		wake: make(chan struct{}, 1), t: t, watched: make(map[string]bool),
		rewatched: t.opts.Now(), pending: newEvents(), targets: make(map[string]bool),
	}
	if t.opts.Polling {
		return w
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		w.fail("", err)
		return w
	}
	w.notify = notify
	t.watchingSince = t.opts.Now()
	w.done.Go(w.run)
	return w
}

// run takes the notices in.
func (w *watcher) run() {
	known := 0
	for {
		isNew := true
		select {
		case event, ok := <-w.notify.Events:
			if !ok {
				return
			}
			isNew = w.note(event)
		case _, ok := <-w.notify.Errors:
			if !ok {
				return
			}
			w.mu.Lock()
			w.pending.overflow = true
			w.mu.Unlock()
		}
		if isNew {
			select {
			case w.wake <- struct{}{}:
			default:
			}
			continue
		}
		if known++; known%duplicateEvents == 0 {
			time.Sleep(duplicatePause)
		}
	}
}

// note takes one notice in and reports whether it says something new.
func (w *watcher) note(event fsnotify.Event) (isNew bool) {
	path := event.Name
	if event.Op == fsnotify.Chmod {
		return false
	}
	var handle *os.File
	if event.Op.Has(fsnotify.Create) && w.opensEarly(path) {
		handle, _ = openFile(path) // else it is looked for later
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if event.Op == fsnotify.Write {
		isNew = !w.pending.written[path]
		w.pending.written[path] = true
		return isNew
	}
	isNew = !w.pending.renamed[path] || handle != nil
	w.pending.renamed[path] = true
	if handle != nil {
		w.pending.opened = append(w.pending.opened, opened{path, handle})
	}
	return isNew
}

// wanted reports whether a file that appears is to be opened at once.
func (w *watcher) opensEarly(path string) bool {
	w.mu.Lock()
	known, room := w.targets[path], len(w.pending.opened) < w.t.maxEarlyOpen
	w.mu.Unlock()
	return room && (known || w.t.matches(path))
}

// take returns what changed since the last call.
func (w *watcher) drain() events {
	w.mu.Lock()
	defer w.mu.Unlock()
	drained := w.pending
	w.pending = newEvents()
	return drained
}

// add watches a directory; one that is watched already stays so.
func (w *watcher) add(dir string) {
	if w.notify == nil || w.watched[dir] {
		return
	}
	if err := w.notify.Add(dir); err != nil {
		w.fail(dir, err)
		return
	}
	w.watched[dir] = true
}

// addTarget watches a file that a link leads to.
func (w *watcher) addTarget(path string) {
	if w.notify == nil {
		return
	}
	w.add(filepath.Dir(path))
	w.mu.Lock()
	w.targets[path] = true
	w.mu.Unlock()
}

// isDir reports whether a path is, or was, that of a watched directory, and lets it be watched anew.
func (w *watcher) isDir(path string) bool {
	known := w.watched[path]
	delete(w.watched, path)
	return known
}

// renew lets all directories be watched anew, now and then.
func (w *watcher) rewatch(now time.Time) {
	if now.Sub(w.rewatched) < rewatchInterval {
		return
	}
	w.rewatched = now
	clear(w.watched)
	w.mu.Lock()
	clear(w.targets)
	w.mu.Unlock()
}

// fail says once that files are looked at by the clock instead.
func (w *watcher) fail(dir string, err error) {
	if !w.failed {
		w.failed = true
		w.t.opts.Log.Warn("no notices of changed files: looking at them by the clock instead", "dir", dir, "error", err)
	}
}

// close ends the watcher and waits for it.
func (w *watcher) close() {
	if w.notify == nil {
		return
	}
	_ = w.notify.Close() // there is nothing to lose
	w.done.Wait()
	for _, c := range w.drain().opened {
		_ = c.handle.Close()
	}
}
