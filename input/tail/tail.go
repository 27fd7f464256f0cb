// Package tail reads files and globs: once, to their end, or following them as
// they grow, are rotated and appear.
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
	// ServiceOf finds the service of a file by the absolute path under which it was found
	// first, and the source of its records; an empty source is the usual one. Files of which it
	// knows none are of Service, or are not read where that is empty, which is logged once.
	// nil makes all files those of Service.
	ServiceOf func(path string) (service, source string, ok bool)
	// Name tells the positions of several Tailers with one sink apart: letters,
	// digits and . _ -. It must stay the same between runs. Two Tailers of different
	// names read a file that both name twice; two of one name must not name the same file.
	Name string
	// Exclude are globs: files that match one are not found by the globs of Paths. One
	// without a slash is compared with the file's name, else with its absolute path.
	Exclude []string
	// MaxOpen is how many files may be open at once, at least 8; default a quarter
	// of what the process may open, at most 1,024. Files with something to be read come first.
	MaxOpen int
	// Skip are directories in which globs find nothing: those that Logstow itself writes to.
	Skip []string
	// Once reads to the end of every file and stops.
	Once bool
	// FromStart reads files that are there at the start from their beginning, not
	// from their end. Once implies it.
	FromStart bool
	// Polling looks for changes by the clock alone, without notices of the file system.
	Polling bool
	// PollInterval is how often files are looked at without a notice; default one second.
	PollInterval time.Duration
	// ScanInterval is how often globs are looked through without a notice; default five seconds.
	ScanInterval time.Duration
	// PartialWait is how long a last line without newline is waited for before it
	// counts as a line; default five seconds.
	PartialWait time.Duration
	// RotateWait is how long a file that was renamed or deleted must not have
	// grown before it is closed; default five seconds.
	RotateWait time.Duration
	// Resume says that the sink keeps positions over the end of the process: then a
	// last line whose newline is missing when the end is asked for is left for the
	// next run, and what can not be handed over within StopWait is, too.
	Resume bool
	// StopWait is how long may be used, after the end is asked for, to hand over
	// what the files hold by then; default ten seconds.
	StopWait time.Duration
}

// Tailer reads the files that its patterns name.
type Tailer struct {
	opts     Options
	patterns []pattern
	feed     *input.Feed
	prefix   string

	// files are those being read, byPath those by the paths at which they are.
	files  map[fileID]*file
	byPath map[string]*file
	open   handles
	// work are the files to be looked at next, warm those to be looked at by the
	// clock, old those whose name another one has or may get.
	due, active, displaced map[*file]bool
	created                int

	history history
	// passed are files that are not read, as they were written to last.
	skipped map[fileID]time.Time
	// again are files to be looked at later, and since when; againIn directories.
	deferred, deferredDirs map[string]bool
	deferredSince          map[string]time.Time
	// rotated are the directories in which files lost their names.
	changedDirs map[string]bool
	// changedAt is when directories of known files were changed last, as seen.
	dirTimes map[string]time.Time
	// forgotten are files to be forgotten once their copies were looked for, and whether
	// that was begun since.
	removed map[fileID]bool
	// contacts is when patterns were looked through first, Unix nanoseconds.
	firstScans map[string]int64
	// first are the patterns that are being looked through for the first time.
	newPatterns map[string]bool
	// pending are positions that come without records.
	pendingPositions []buffer.Position
	// dirs are the directories as they are in this look.
	dirs directories

	// starting says that what was there at the start is being looked at.
	starting                                     bool
	rescan                                       bool
	lastPoll, lastScan, lastDirScan, lastCleanup time.Time
	scanCost, dirScanCost                        time.Duration
	startupSearches                              int
	// catches is how many files the watcher may open, catching since when it does; zero
	// is not at all.
	maxEarlyOpen  int
	watchingSince time.Time
	// said holds the complaints that were logged and still hold.
	failing map[string]bool
	// foreign says that it was logged that a file is of no service.
	loggedNoService bool
}

// New makes a Tailer. A pattern that can not be read is an error; files that
// are missing are not, before Run.
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
		t.patterns = append(t.patterns, p)
	}
	t.feed, err = input.NewFeed(opts.Options)
	return t, err
}

func newTailer(opts Options) *Tailer {
	maxEarlyOpen := opts.MaxOpen / 4
	return &Tailer{
		opts: opts, prefix: inputPrefix(fileInput, opts.Name),
		files: make(map[fileID]*file), byPath: make(map[string]*file),
		open: handles{limit: opts.MaxOpen - maxEarlyOpen}, maxEarlyOpen: maxEarlyOpen,
		due: make(map[*file]bool), active: make(map[*file]bool), displaced: make(map[*file]bool),
		history: newHistory(), skipped: make(map[fileID]time.Time), dirs: make(directories),
		deferred: make(map[string]bool), deferredDirs: make(map[string]bool), deferredSince: make(map[string]time.Time),
		changedDirs: make(map[string]bool), newPatterns: make(map[string]bool), firstScans: make(map[string]int64), failing: make(map[string]bool),
		removed: make(map[fileID]bool),
	}
}

func setDefault(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}

// Run reads until the files end (Once) or ctx does. It begins with files that
// were being read under one of its names in an earlier run and were renamed since.
// When ctx ends while files are followed, it hands over what they hold by then
// (see [Options].Resume for last lines without newline) and returns nil. With
// Once, files that could not be read are an error after all others were read. It
// may be called once.
func (t *Tailer) Run(ctx context.Context) error {
	if t.opts.Once {
		return t.readAll(ctx)
	}
	return t.follow(ctx)
}

// Check reports what Run could not read now, without reading anything: names and
// patterns without a file, and files that cannot be opened. It is called before Run.
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

// noMatchError is a pattern that names no file.
type noMatchError string

func noMatch(p pattern) error { return noMatchError(p.text) }

func (e noMatchError) Error() string { return fmt.Sprintf("no file matches %q", string(e)) }

// Is makes it one of the files that do not exist.
func (e noMatchError) Is(target error) bool { return target == fs.ErrNotExist } //nolint:errorlint // the sentinel itself

// find returns the files that a pattern names now, and says which directories
// it looked into. A file named as it is is read wherever it is.
func (t *Tailer) find(p pattern, dirs func(string)) ([]found, []error) {
	files, errs := p.find(dirs)
	return slices.DeleteFunc(files, func(f found) bool { return p.rest != "" && t.excluded(f.path) }), errs
}

// matches reports whether a file of an absolute path is read, if it is there.
func (t *Tailer) matches(path string) bool {
	return slices.ContainsFunc(t.patterns, func(p pattern) bool { return t.covers(p, path) })
}

// covers is matches for one pattern.
func (t *Tailer) covers(p pattern, path string) bool {
	return p.names(path) && (p.rest == "" || !t.excluded(path))
}

// excluded reports whether globs do not find a file.
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

// inputOf is the name under which the buffer keeps that a pattern was looked through.
func (t *Tailer) inputOf(p pattern) string {
	return inputPrefix(patternInput, t.opts.Name) + p.absolute
}

// joined is one error of many; what is said twice is said once.
func joined(errs []error) error {
	said := make(map[string]bool)
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool {
		again := said[err.Error()]
		said[err.Error()] = true
		return again
	})...)
}
