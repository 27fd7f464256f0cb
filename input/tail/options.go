package tail

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"logstow/input"
	"logstow/internal/descriptors"
)

// minOpen is the least number of open files.
const minOpen = descriptors.Minimum

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
	// Skip are directories that globs skip: the directories that Logstow itself writes to.
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
	// CaughtUp is called by Run, once, when the sink has the records that the files had at the start; an error ends Run. The last
	// record of a file comes later if it may go on. With Once it is not called. It may be nil.
	CaughtUp func(context.Context) error
	// StopWait is the maximum time on shutdown for reading what the files hold by then;
	// default ten seconds.
	StopWait time.Duration
}

// withDefaults fills in defaults and validates the options.
func (opts Options) withDefaults() (Options, error) {
	var err error
	if opts.Options, err = opts.WithDefaults(); err != nil {
		return opts, err
	}
	setDefault(&opts.PollInterval, time.Second)
	setDefault(&opts.ScanInterval, 5*time.Second)
	setDefault(&opts.PartialWait, 5*time.Second)
	setDefault(&opts.RotateWait, 5*time.Second)
	setDefault(&opts.StopWait, 10*time.Second)
	if opts.Name != "" && !regexp.MustCompile(`^[A-Za-z0-9._-]+$`).MatchString(opts.Name) {
		return opts, fmt.Errorf("name %q: want letters, digits and . _ -", opts.Name)
	}
	if opts.MaxOpen == 0 {
		_, files := descriptors.Divide(descriptors.Limit())
		opts.MaxOpen = files.Take(descriptors.MaxFiles, 0)
	}
	if opts.MaxOpen < minOpen {
		return opts, fmt.Errorf("%d open files: want at least %d", opts.MaxOpen, minOpen)
	}
	return opts, nil
}

func setDefault(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}

// maxEarlyOpen is the maximum number of files opened by the watcher; the others are those being read.
func (opts Options) maxEarlyOpen() int { return opts.MaxOpen / 4 }
