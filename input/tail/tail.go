// Package tail reads files and globs: once, to their end, or following them as
// they grow, are rotated and appear.
package tail

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"logstow/input"
)

// Options configure a [Tailer]; a zero field takes the default named at it.
type Options struct {
	input.Options
	// Paths are files and globs; ** stands for any number of directories.
	Paths []string
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
	files    map[fileID]*file
	// said holds the complaints that were logged and still hold.
	said map[string]bool
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
	t := &Tailer{opts: opts, files: make(map[fileID]*file), said: make(map[string]bool)}
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

// readAll reads all files to their end, in the order of the arguments and of their names.
func (t *Tailer) readAll(ctx context.Context) error {
	var failed []error
	var all []found
	seen := make(map[fileID]bool)
	for _, p := range t.patterns {
		files, errs := t.find(p)
		if len(files)+len(errs) == 0 {
			errs = append(errs, fmt.Errorf("no file matches %q", p.text))
		}
		failed = append(failed, errs...)
		for _, found := range files {
			if id := idOf(found.path, found.info); !seen[id] {
				seen[id] = true
				all = append(all, found)
			}
		}
	}
	renamed, err := t.renamed(ctx, seen)
	if err != nil {
		return err
	}
	for _, found := range append(renamed, all...) {
		fileErr, err := t.readWhole(ctx, found)
		if err != nil {
			return err
		}
		if fileErr != nil {
			failed = append(failed, explain(fileErr))
		}
	}
	return joined(failed)
}

// find returns the files that a pattern names now. A file named as it is is read wherever it is.
func (t *Tailer) find(p pattern) ([]found, []error) {
	files, errs := p.find()
	if p.rest == "" || len(t.opts.Skip) == 0 {
		return files, errs
	}
	return slices.DeleteFunc(files, func(f found) bool {
		path, err := filepath.Abs(f.path)
		return err == nil && slices.ContainsFunc(t.opts.Skip, func(dir string) bool {
			return strings.HasPrefix(path, dir+string(filepath.Separator))
		})
	}), errs
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

// readWhole reads one file to its end. Its first result is what is wrong with
// the file, its second what ends the run.
func (t *Tailer) readWhole(ctx context.Context, found found) (fileErr, err error) {
	f, err := t.open(found, false)
	if err != nil {
		return err, nil
	}
	defer f.close()
	if f.regular && f.source.Offset() > 0 {
		t.opts.Log.Info("reading on where an earlier run ended", "file", f.path, "offset", f.source.Offset())
	}
	if !f.regular { // reading a pipe may wait
		stop := context.AfterFunc(ctx, func() { _ = f.f.SetReadDeadline(time.Now()) })
		defer stop()
	}
	fileErr, err = f.readToEnd(ctx)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil || fileErr != nil {
		return fileErr, err
	}
	return nil, t.feed.End(ctx, f.source, f.reference())
}
