package tail

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// rewatchInterval is how often watches are renewed: a directory may have been replaced.
	rewatchInterval = time.Minute
	// After duplicateEvents events without news the watcher pauses for duplicatePause:
	// meanwhile the system merges equal events.
	duplicateEvents = 64
	duplicatePause  = 5 * time.Millisecond
)

// watcher collects file system events and opens new files at once: they may be deleted
// before the next poll. Without inotify, by configuration or because the system's limit
// of watches is reached, it reports nothing.
type watcher struct {
	// wake receives a value after a change.
	wake   chan struct{}
	notify *fsnotify.Watcher
	t      *Tailer
	done   sync.WaitGroup

	// Used by the reading goroutine only.
	watched   map[string]bool
	rewatched time.Time
	failed    bool

	mu      sync.Mutex
	pending events
	// targets are the targets of symbolic links.
	targets map[string]bool
}

// events are the changes since the last drain.
type events struct {
	// written are the paths of files that were written to, renamed the paths at which
	// a file was created, deleted or renamed.
	written, renamed map[string]bool
	// opened are new files, open.
	opened []opened
	// overflow reports that the system dropped events.
	overflow bool
}

type opened struct {
	path   string
	handle *os.File
}

func newEvents() events {
	return events{written: make(map[string]bool), renamed: make(map[string]bool)}
}

// watch starts a watcher; close stops it.
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

// run collects events until the watcher is closed.
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

// note collects an event and reports whether it is news.
func (w *watcher) note(event fsnotify.Event) (isNew bool) {
	path := event.Name
	if event.Op == fsnotify.Chmod {
		return false
	}
	var handle *os.File
	if event.Op.Has(fsnotify.Create) && w.opensEarly(path) {
		handle, _ = openFile(path) // on failure the next poll finds it
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

// opensEarly reports whether a new file is to be opened at once.
func (w *watcher) opensEarly(path string) bool {
	w.mu.Lock()
	known, below := w.targets[path], len(w.pending.opened) < w.t.maxEarlyOpen
	w.mu.Unlock()
	return below && (known || w.t.matches(path))
}

// drain returns the events since the last call.
func (w *watcher) drain() events {
	w.mu.Lock()
	defer w.mu.Unlock()
	drained := w.pending
	w.pending = newEvents()
	return drained
}

// add creates a watch on a directory unless there is one.
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

// addTarget watches the target of a symbolic link.
func (w *watcher) addTarget(path string) {
	if w.notify == nil {
		return
	}
	w.add(filepath.Dir(path))
	w.mu.Lock()
	w.targets[path] = true
	w.mu.Unlock()
}

// isDir reports whether a path is or was a watched directory; its watch is created again by add.
func (w *watcher) isDir(path string) bool {
	known := w.watched[path]
	delete(w.watched, path)
	return known
}

// rewatch makes add create all watches again, once per rewatchInterval.
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

// fail logs once that changes are found by polling only.
func (w *watcher) fail(dir string, err error) {
	if !w.failed {
		w.failed = true
		w.t.opts.Log.Warn("inotify unavailable, polling", "dir", dir, "error", err)
	}
}

// close stops the watcher and waits for it.
func (w *watcher) close() {
	if w.notify == nil {
		return
	}
	_ = w.notify.Close() // nothing was written
	w.done.Wait()
	for _, c := range w.drain().opened {
		_ = c.handle.Close()
	}
}
