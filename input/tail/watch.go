package tail

import (
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/fsnotify/fsnotify"
)

// watcher wakes the reader when the file system says that something changed.
// Without notices, by choice or because the system has none left, it never does.
type watcher struct {
	// wake holds a value once something changed.
	wake   chan struct{}
	names  atomic.Bool
	notify *fsnotify.Watcher
	failed bool
	t      *Tailer
	done   sync.WaitGroup
}

// watch starts a watcher; close ends it.
func (t *Tailer) watch() *watcher {
	w := &watcher{wake: make(chan struct{}, 1), t: t}
	if t.opts.Polling {
		return w
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		w.fail("", err)
		return w
	}
	w.notify = notify
	w.done.Go(w.run)
	return w
}

// run takes the notices in.
func (w *watcher) run() {
	errs := w.notify.Errors
	for {
		select {
		case event, ok := <-w.notify.Events:
			if !ok {
				return
			}
			if !event.Op.Has(fsnotify.Write) {
				w.names.Store(true)
			}
		case _, ok := <-errs: // notices were lost
			if !ok {
				errs = nil
				continue
			}
			w.names.Store(true)
		}
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// takeNames reports whether files appeared, went or were renamed since the last call.
func (w *watcher) takeNames() bool { return w.names.Swap(false) }

// addParent watches the directory that a file is in.
func (w *watcher) addParent(path string) { w.add(filepath.Dir(path)) }

// add watches a directory; one that is watched already stays so.
func (w *watcher) add(dir string) {
	if w.notify == nil {
		return
	}
	if err := w.notify.Add(dir); err != nil {
		w.fail(dir, err)
	}
}

// fail says once that files are looked at by the clock instead.
func (w *watcher) fail(dir string, err error) {
	if !w.failed {
		w.failed = true
		w.t.opts.Log.Warn("no notices of changed files: looking at them by the clock instead", "directory", dir, "error", err)
	}
}

// close ends the watcher and waits for it.
func (w *watcher) close() {
	if w.notify != nil {
		_ = w.notify.Close() // there is nothing to lose
		w.done.Wait()
	}
}
