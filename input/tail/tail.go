// Package tail reads the files that paths and globs match: once to their end, or
// following them while they grow, are rotated and appear.
package tail

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"logstow/input"
)

// Tailer reads the files that its patterns match. It is used by one goroutine at a time.
type Tailer struct {
	reader
	// rescan reports that the patterns are to be evaluated.
	rescan          bool
	scans, searches schedule
	lastPoll        time.Time
	// lastSearchAll is when all files that are not being read were last searched for, searchInterval
	// the time until the next such search.
	lastSearchAll  time.Time
	searchInterval time.Duration
	// caughtUp is set when CaughtUp was called.
	caughtUp bool
	// started is closed by setStarted.
	started    chan struct{}
	setStarted func()
}

// New returns a Tailer. An invalid pattern is an error; missing files are none before Run.
func New(opts Options) (*Tailer, error) {
	var err error
	if opts, err = opts.withDefaults(); err != nil {
		return nil, err
	}
	s, err := newSelection(opts.Paths, opts.Exclude, opts.Skip)
	if err != nil {
		return nil, err
	}
	feed, err := input.NewFeed(opts.Options)
	if err != nil {
		return nil, err
	}
	started := make(chan struct{})
	return &Tailer{
		reader:  reader{scanner: scanner{tracker: newTracker(opts, feed, s)}},
		started: started, setStarted: sync.OnceFunc(func() { close(started) }),
	}, nil
}

// Started returns a channel that is closed when Run has stored the positions at which it begins to read the existing files:
// what is written to them later is read. It is also closed when Run ends.
func (t *Tailer) Started() <-chan struct{} { return t.started }

// Check returns the errors that Run would find now: paths and patterns that match no file, and
// files that cannot be opened. It reads nothing. It must be called before Run.
func (t *Tailer) Check() (missing, unreadable []error) {
	for _, p := range t.patterns {
		files, errs := t.find(p, func(string) {})
		if len(files)+len(errs) == 0 {
			missing = append(missing, noMatch(p))
		}
		for _, c := range files {
			if c.pipe { // opening it may wait
				continue
			}
			f, err := os.Open(cmp.Or(c.configuredPath, c.path))
			if err != nil {
				errs = append(errs, explain(err))
				continue
			}
			_ = f.Close() // nothing was written
		}
		for _, err := range errs {
			if errors.Is(err, fs.ErrNotExist) {
				missing = append(missing, err)
			} else {
				unreadable = append(unreadable, err)
			}
		}
	}
	return missing, unreadable
}

// Matches returns the paths, without symbolic links, of the files that Run would find now. It must be called before Run.
func (t *Tailer) Matches() (paths []string) {
	for _, p := range t.patterns {
		files, _ := t.find(p, func(string) {})
		for _, c := range files {
			if path, err := filepath.EvalSymlinks(c.path); err == nil { // otherwise it was removed
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// noMatch is the error of a pattern that matches no file.
func noMatch(p *pattern) error { return fmt.Errorf("no file matches %q", p.text) }
