package tail

import (
	"log/slog"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// rewatchInterval is how often watches are renewed: a directory may have been replaced.
	rewatchInterval = time.Minute
	// After duplicateEvents events that are already pending the watcher pauses for duplicatePause:
	// meanwhile the system merges equal events.
	duplicateEvents = 64
	duplicatePause  = 5 * time.Millisecond
)

// watcher collects file system events and opens new files at once, because they may be deleted
// before the next poll. If polling is configured or inotify is unavailable, it collects nothing.
type watcher struct {
	// wake receives a value after a change.
	wake chan struct{}
	// since is when it started; zero if it collects nothing.
	since  time.Time
	notify *fsnotify.Watcher
	done   sync.WaitGroup
	// files selects the files to open, at most maxOpen at a time.
	files   *selection
	maxOpen int
	log     *slog.Logger

	// Used by the reading goroutine only.
	watched   map[string]bool
	rewatched time.Time
	failed    bool

	mu      sync.Mutex
	pending events
}

// events are the changes since the last drain.
type events struct {
	// written are the paths of files that were written to, renamed the paths at which
	// a file was created, deleted or renamed.
	written, renamed map[string]bool
	// opened are new files, open.
	opened []*candidate
	// overflow reports that the system dropped events.
	overflow bool
}

func newEvents() events {
	return events{written: make(map[string]bool), renamed: make(map[string]bool)}
}

// watch starts a watcher; close stops it.
func watch(opts Options, files *selection) *watcher {
	w := &watcher{
		wake: make(chan struct{}, 1), files: files, maxOpen: opts.maxEarlyOpen(), log: opts.Log,
		watched: make(map[string]bool), rewatched: opts.Now(), pending: newEvents(),
	}
	if opts.Polling {
		return w
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		w.fail("", err)
		return w
	}
	w.notify, w.since = notify, opts.Now()
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

// note collects an event and reports whether it was not pending yet.
func (w *watcher) note(event fsnotify.Event) (isNew bool) {
	path := event.Name
	if event.Op == fsnotify.Chmod {
		return false
	}
	var opened *candidate
	if event.Op.Has(fsnotify.Create) {
		opened = w.open(path)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if event.Op == fsnotify.Write {
		isNew = !w.pending.written[path]
		w.pending.written[path] = true
		return isNew
	}
	isNew = !w.pending.renamed[path] || opened != nil
	w.pending.renamed[path] = true
	if opened != nil {
		w.pending.opened = append(w.pending.opened, opened)
	}
	return isNew
}

// open opens a new file that is selected. It returns nil if it cannot open the file or too many are
// open: then the next scan finds it.
func (w *watcher) open(path string) *candidate {
	w.mu.Lock()
	full := len(w.pending.opened) >= w.maxOpen
	w.mu.Unlock()
	p := w.files.pattern(path)
	if full || p == nil {
		return nil
	}
	f, e, err := openFile(path)
	switch {
	case err != nil:
		return nil
	case e.pipe:
		_ = f.Close()
		return nil
	}
	return &candidate{entry: e, source: p.sourceOf(path), content: f}
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
}

// fail logs once that changes are found by polling only.
func (w *watcher) fail(dir string, err error) {
	if !w.failed {
		w.failed = true
		w.log.Warn("inotify unavailable, polling", "dir", dir, "error", err)
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
		c.close()
	}
}
