// Package tail reads the files that paths and globs match: once to their end, or
// following them while they grow, are rotated and appear.
package tail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"logstow/buffer"
	"logstow/input"
)

// Options configure a [Tailer]; a zero field takes the default named at it.
type Options struct {
	input.Options
	// Paths are files and globs; ** stands for any number of directories.
	Paths []string
	// ServiceOf returns the service of a file and the source of its records, given the absolute
	// path at which the file was first found. An empty source means the default source. If ok is
	// false, Service is used; if that is empty too, the file is skipped, which is logged once.
	// nil means Service for all files.
	ServiceOf func(path string) (service, source string, ok bool)
	// Name separates the positions of several Tailers that share a sink: letters,
	// digits and . _ -. It must stay the same between runs. A file that two Tailers with
	// different names match is read by both; two Tailers with the same name must not match the same file.
	Name string
	// Exclude are globs: the globs of Paths skip files that match one of them. A glob
	// without a slash is matched against the file name, otherwise against the absolute path.
	Exclude []string
	// MaxOpen is the maximum number of open files, at least 8; default a quarter of the
	// process's limit of open files, at most 1,024. Files with unread data take precedence.
	MaxOpen int
	// Skip are directories that globs skip: those that Logstow itself writes to.
	Skip []string
	// Once reads to the end of every file and stops.
	Once bool
	// FromStart reads files that exist when a pattern is first used from their start
	// instead of from their end. Once implies it.
	FromStart bool
	// FromEnd reads unknown files that exist at the start from their end, also with Once.
	FromEnd bool
	// Polling disables file system notifications (inotify); changes are found by polling only.
	Polling bool
	// PollInterval is the interval at which files are polled; default one second.
	PollInterval time.Duration
	// ScanInterval is the interval at which globs are evaluated; default five seconds.
	ScanInterval time.Duration
	// PartialWait is the time without new data after which a last line without newline
	// counts as a line; default five seconds.
	PartialWait time.Duration
	// RotateWait is the time without new data after which a renamed or deleted file is
	// closed; default five seconds.
	RotateWait time.Duration
	// Resume states that the sink's positions survive the process: on shutdown, a last
	// line without newline and data that is not read within StopWait are left for the next run.
	Resume bool
	// StopWait is the maximum time on shutdown for reading what the files hold by then;
	// default ten seconds.
	StopWait time.Duration
}

// Tailer reads the files that its patterns match. It is used by one goroutine at a time.
type Tailer struct {
	opts     Options
	patterns []*pattern
	feed     *input.Feed
	prefix   string

	// files are the files being read, byPath the same by path.
	files  map[fileID]*file
	byPath map[string]*file
	// busy are those of them that are due or active.
	busy    map[*file]bool
	open    handles
	created int

	// known are the files being read and those of the past.
	known *catalog
	// skipped are the files that are not read unless they change.
	skipped map[fileID]version
	// deferred are the paths of undecided files, with the time of the first decision.
	deferred map[string]time.Time
	// dirStates are the directories of known files, anyChanged reports that one changed.
	dirStates  map[string]dirState
	anyChanged bool
	// pendingPositions are positions to be stored without records.
	pendingPositions []buffer.Position
	// dirs are the directories as listed in this poll.
	dirs listing

	// starting reports that the first scan is running.
	starting                                     bool
	rescan                                       bool
	lastPoll, lastScan, lastDirScan, lastCleanup time.Time
	scanCost, dirScanCost                        time.Duration
	startupSearches                              int
	// maxEarlyOpen is the maximum number of files opened by the watcher, watchingSince
	// when it started; zero if it did not.
	maxEarlyOpen  int
	watchingSince time.Time
	// failing are the paths and patterns with a logged outage.
	failing map[string]bool
	// loggedNoService reports that a file without service was logged.
	loggedNoService bool
}

// New returns a Tailer. An invalid pattern is an error; missing files are none before Run.
func New(opts Options) (*Tailer, error) {
	var err error
	if opts.Options, err = opts.WithDefaults(); err != nil {
		return nil, err
	}
	setDefault(&opts.PollInterval, time.Second)
	setDefault(&opts.ScanInterval, 5*time.Second)
	setDefault(&opts.PartialWait, 5*time.Second)
	setDefault(&opts.RotateWait, 5*time.Second)
	setDefault(&opts.StopWait, 10*time.Second)
	opts.Skip = slices.Clone(opts.Skip)
	opts.Exclude = slices.Clone(opts.Exclude)
	if opts.Name != "" && !regexp.MustCompile(`^[A-Za-z0-9._-]+$`).MatchString(opts.Name) {
		return nil, fmt.Errorf("name %q: want letters, digits and . _ -", opts.Name)
	}
	if opts.MaxOpen == 0 {
		opts.MaxOpen = defaultMaxOpen()
	}
	if opts.MaxOpen < minOpen {
		return nil, fmt.Errorf("%d open files: want at least %d", opts.MaxOpen, minOpen)
	}
	for _, text := range opts.Exclude {
		if !doublestar.ValidatePattern(filepath.ToSlash(text)) {
			return nil, fmt.Errorf("%q is not a valid pattern: a bracket or brace is not closed", text)
		}
	}
	t := newTailer(opts)
	for i, dir := range opts.Skip {
		absolute, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		opts.Skip[i] = absolute
	}
	for _, text := range opts.Paths {
		p, err := parsePattern(text)
		if err != nil {
			return nil, err
		}
		t.patterns = append(t.patterns, &p)
	}
	t.feed, err = input.NewFeed(opts.Options)
	return t, err
}

func newTailer(opts Options) *Tailer {
	maxEarlyOpen := opts.MaxOpen / 4
	return &Tailer{
		opts: opts, prefix: inputPrefix(fileInput, opts.Name),
		files: make(map[fileID]*file), byPath: make(map[string]*file), busy: make(map[*file]bool),
		open: handles{limit: opts.MaxOpen - maxEarlyOpen}, maxEarlyOpen: maxEarlyOpen,
		known: newCatalog(), skipped: make(map[fileID]version), deferred: make(map[string]time.Time),
		dirStates: make(map[string]dirState), dirs: newListing(system{}), failing: make(map[string]bool),
	}
}

func setDefault(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}

// Run reads until the end of all files (Once) or until ctx is done. It begins with files
// that an earlier run read and that were renamed since. When ctx is done while
// following, Run reads what the files hold by then (see [Options].Resume for last
// lines without newline) and returns nil. With Once, unreadable files are reported
// after all others were read. Run may be called once.
func (t *Tailer) Run(ctx context.Context) error {
	if t.opts.Once {
		return t.readAll(ctx)
	}
	return t.follow(ctx)
}

// Check reports what Run could not read now, without reading anything: paths and
// patterns that match no file, and files that cannot be opened. It is called before Run.
func (t *Tailer) Check() (missing, unreadable []error) {
	for _, p := range t.patterns {
		files, errs := t.find(p, func(string) {})
		if len(files)+len(errs) == 0 {
			errs = []error{noMatch(p)}
		}
		for _, f := range files {
			if !f.info.Mode().IsRegular() { // opening a pipe may wait
				continue
			}
			handle, err := os.Open(cmp.Or(f.shown, f.path))
			if err != nil {
				errs = append(errs, explain(err))
				continue
			}
			_ = handle.Close() // nothing was written
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

// noMatchError is a pattern that matches no file.
type noMatchError string

func noMatch(p *pattern) error { return noMatchError(p.text) }

func (e noMatchError) Error() string { return fmt.Sprintf("no file matches %q", string(e)) }

// Is makes it an fs.ErrNotExist.
func (e noMatchError) Is(target error) bool { return target == fs.ErrNotExist } //nolint:errorlint // the sentinel itself

// find returns the files that a pattern matches now and calls dirs for each directory
// that it read. Excludes do not apply to a path without wildcards.
func (t *Tailer) find(p *pattern, dirs func(string)) ([]found, []error) {
	files, errs := p.find(dirs)
	return slices.DeleteFunc(files, func(f found) bool { return p.rest != "" && t.excluded(f.path) }), errs
}

// matches reports whether a pattern matches an absolute path.
func (t *Tailer) matches(path string) bool {
	return slices.ContainsFunc(t.patterns, func(p *pattern) bool { return t.covers(p, path) })
}

// covers reports whether p matches an absolute path that is not excluded.
func (t *Tailer) covers(p *pattern, path string) bool {
	return p.names(path) && (p.rest == "" || !t.excluded(path))
}

// excluded reports whether globs skip a path.
func (t *Tailer) excluded(path string) bool {
	return slices.ContainsFunc(t.opts.Skip, func(dir string) bool {
		return strings.HasPrefix(path, dir+string(filepath.Separator))
	}) || slices.ContainsFunc(t.opts.Exclude, func(pattern string) bool {
		name := path
		if !strings.ContainsRune(pattern, filepath.Separator) {
			name = filepath.Base(path)
		}
		ok, err := doublestar.PathMatch(pattern, name)
		return ok && err == nil
	})
}

// inputOf is the position name of a pattern in the buffer.
func (t *Tailer) inputOf(p *pattern) string {
	return inputPrefix(patternInput, t.opts.Name) + p.absolute
}

// joined joins errors without duplicates.
func joined(errs []error) error {
	seen := make(map[string]bool)
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool {
		duplicate := seen[err.Error()]
		seen[err.Error()] = true
		return duplicate
	})...)
}
