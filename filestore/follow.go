package filestore

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"logstow/input/tail"
)

// scanInterval is the interval at which files are looked for that could not be read or that a glob matches.
const scanInterval = time.Second

// Follow reads the files of paths and globs, plain or compressed with gzip, and follows them while they grow, are rotated and
// appear. It calls begin once with the records that they have, and then passes new records to a receiver as they are read. When ctx
// ends, it passes what has been written and returns nil. A path that is not a valid glob is a [PathError]. Messages about files that
// cannot be read are logged.
func Follow(ctx context.Context, paths []string, opts Options, begin func(context.Context, *Store) error, receive Receiver) (err error) {
	existing, err := New(opts)
	if err != nil {
		return err
	}
	to := &receiver{receive: receive, existing: existing}
	end := func() (err error) {
		if to.existing != nil {
			err = existing.Close()
			to.existing = nil
		}
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	tailer, err := tail.New(tail.Options{
		Options: opts.input(to, &existing.stats), Paths: paths, ServiceOf: sourceOf(paths), FromStart: true, ScanInterval: scanInterval,
		CaughtUp: func(ctx context.Context) error {
			err := existing.runs.end()
			if err == nil {
				err = begin(ctx, existing)
			}
			return errors.Join(err, end())
		},
	})
	if err != nil {
		return &PathError{err}
	}
	return tailer.Run(ctx)
}

// PathError is the error of a path that is not a valid glob.
type PathError struct{ Err error }

// Error is the cause's text.
func (e *PathError) Error() string { return e.Err.Error() }

// Unwrap is the cause.
func (e *PathError) Unwrap() error { return e.Err }

// sourceOf names the source of a file as reading files once does: by its path as it was given, and by the path from the current
// directory if it was found by a relative glob.
func sourceOf(paths []string) func(path string) (service, source string, ok bool) {
	return func(path string) (service, source string, ok bool) {
		for _, given := range paths {
			full, err := filepath.Abs(given)
			if err != nil { // the current directory was deleted
				break
			}
			if full == path {
				return Service, given, true
			}
			if matched, err := doublestar.PathMatch(full, path); err != nil || !matched || filepath.IsAbs(given) {
				continue
			}
			if here, err := filepath.Abs("."); err == nil {
				if below, err := filepath.Rel(here, path); err == nil {
					return Service, below, true
				}
			}
		}
		return Service, path, true
	}
}
