package main

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	ucli "github.com/urfave/cli/v2"

	"logstow/filestore"
	"logstow/input"
	"logstow/input/tail"
	"logstow/internal/cli"
	"logstow/internal/units"
	"logstow/query"
	"logstow/query/output"
)

// followFiles prints the matching records that files have, or the last of them, in the order of time, then those that are
// written to them and to standard input, as they are read, until ctx ends or the limit is reached.
func (r *request) followFiles(ctx context.Context, c *ucli.Context, compiled *query.Query, out *output.Writer) (err error) {
	q, err := compiled.Over(nil, r.opts)
	if err != nil {
		return err
	}
	l := r.newLive(q, out)
	if l.existing, err = filestore.New(r.fileOptions(c)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.end()) }()
	r.printRange()
	paths := cli.List(c, "file")
	stdin := slices.Contains(paths, "-")
	paths = slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return path == "-" })
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	defer all.Wait()
	run := func(read func() error) {
		all.Go(func() {
			if err := read(); err != nil {
				cancel(err)
			}
		})
	}
	var stats input.Stats
	opts := tail.Options{Options: r.fileOptions(c).Input(l, &stats), Paths: paths, ServiceOf: sourceOf(paths), FromStart: true, ScanInterval: time.Second}
	opts.Log = slog.New(inputLog{&r.env})
	stop := r.env.line.Start(func() string { return "reading: " + units.FormatSize(stats.Bytes.Load()) })
	defer stop()
	opts.CaughtUp = func(ctx context.Context) error {
		stop()
		if err := l.begin(ctx, compiled); err != nil {
			return err
		}
		if stdin {
			run(func() error { return r.readStdin(ctx, c, l) })
		}
		return nil
	}
	tailer, err := tail.New(opts)
	if err != nil {
		return cli.Usagef("--file: %w", err)
	}
	run(func() error { return tailer.Run(ctx) })
	<-ctx.Done()
	all.Wait()
	if err := context.Cause(ctx); !errors.Is(err, errEnough) {
		return err
	}
	return nil
}

// begin prints the matching records that the files had, in the order of time. From here on, records are printed as they are
// read.
func (l *live) begin(ctx context.Context, compiled *query.Query) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.existing.End(); err != nil {
		return err
	}
	q, err := compiled.Over([]query.Store{filesOf(l.existing)}, l.r.opts)
	if err != nil {
		return err
	}
	p, err := q.Plan(ctx)
	if err != nil {
		return err
	}
	if l.r.tail > 0 {
		err = l.r.printTail(ctx, q, p, l.print)
	} else {
		err = q.Run(ctx, p, l.print)
	}
	if flushErr := l.out.Flush(); flushErr != nil {
		return flushErr
	}
	if err == nil && l.printed == 0 {
		err = l.r.explainNone(ctx, q, p)
	}
	l.r.reportBegin(q)
	if endErr := l.end(); err == nil {
		err = endErr
	}
	return err
}

// end removes the records that the files had.
func (l *live) end() (err error) {
	if l.existing != nil {
		err = l.existing.Close()
		l.existing = nil
	}
	return err
}

// reportBegin prints the report about the records that the files had.
func (r *request) reportBegin(q *query.Query) {
	report := q.Report()
	reasons := r.reasons
	r.reasons = nil // what follows may match
	if r.explain {
		r.printReport(&report)
	} else {
		for _, p := range report.Problems {
			r.env.printf("%v", p)
		}
		for _, note := range slices.Concat(r.notes, report.Notes) {
			r.env.printf("%s", note)
		}
	}
	r.notes = nil
	if reasons != nil {
		r.env.printNone("no records match yet", reasons)
	}
}

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
				return filestore.Service, given, true
			}
			if matched, err := doublestar.PathMatch(full, path); err != nil || !matched || filepath.IsAbs(given) {
				continue
			}
			if here, err := filepath.Abs("."); err == nil {
				if below, err := filepath.Rel(here, path); err == nil {
					return filestore.Service, below, true
				}
			}
		}
		return filestore.Service, path, true
	}
}
