package main

import (
	"context"
	"errors"
	"slices"
	"sync"

	"logstow/filestore"
	"logstow/internal/cli"
	"logstow/query"
	"logstow/query/output"
)

// followFiles prints the matching records that files have, or the last of them, in the order of time, then those that are
// written to them and to standard input, as they are read, until ctx ends or the limit is reached.
func (r *request) followFiles(ctx context.Context, out *output.Writer) (err error) {
	q, err := r.compiled.Over(nil, r.opts)
	if err != nil {
		return err
	}
	r.printRange()
	l := r.newLive(q, out)
	paths := cli.List(r.c, "file")
	stdin := slices.Contains(paths, "-")
	paths = slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return path == "-" })
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	run := func(read func() error) {
		all.Go(func() {
			if err := read(); err != nil {
				cancel(err)
			}
		})
	}
	stop := sync.OnceFunc(r.env.line.Start(func() string { return "reading files" }))
	defer stop()
	begin := func(ctx context.Context, existing *filestore.Store) error {
		stop()
		if err := l.begin(ctx, existing); err != nil {
			return err
		}
		if stdin {
			run(func() error { return r.followStdin(ctx, l) })
		}
		return nil
	}
	run(func() error { return filestore.Follow(ctx, paths, r.liveOptions(), begin, l.receive) })
	<-ctx.Done()
	all.Wait()
	err = context.Cause(ctx)
	var path *filestore.PathError
	switch {
	case errors.As(err, &path):
		return cli.Usagef("--file: %w", path)
	case errors.Is(err, errEnough):
		return nil
	}
	return err
}

// followStdin prints the records of standard input beside those of files. What cannot be read is reported.
func (r *request) followStdin(ctx context.Context, l *live) error {
	problem, err := r.readStdin(ctx, l)
	if problem != nil {
		r.env.printf("%v", problem)
	}
	r.printNotes(nil)
	return err
}

// printNotes prints the notes, and those of a report.
func (r *request) printNotes(reported []string) {
	for _, note := range slices.Concat(r.notes, reported) {
		r.env.printf("%s", note)
	}
	r.notes = nil
}

// begin prints the matching records that the files had, in the order of time. From here on, records are printed as they are
// read.
func (l *live) begin(ctx context.Context, existing *filestore.Store) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	q, err := l.r.compiled.Over([]query.Store{filesOf(existing)}, l.r.opts)
	if err != nil {
		return err
	}
	p, err := q.Plan(ctx)
	if err != nil {
		return err
	}
	err = l.r.find(ctx, q, p, l.print)
	if flushErr := l.out.Flush(); flushErr != nil {
		return flushErr
	}
	if err == nil && l.printed == 0 {
		err = l.r.explainNone(ctx, q, p)
	}
	l.r.reportBegin(q)
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
		r.printNotes(report.Notes)
	}
	r.notes = nil
	if reasons != nil {
		r.env.printNone("no records match yet", reasons)
	}
}
