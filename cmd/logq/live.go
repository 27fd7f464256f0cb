package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"logstow/filestore"
	"logstow/internal/cli"
	"logstow/query"
	"logstow/query/output"
	"logstow/record"
)

// errEnough ends inputs after the records of the limit.
var errEnough = errors.New("the limit is reached")

// live prints the matching records of inputs as they pass them to it. It is safe for concurrent use.
type live struct {
	r        *request
	out      *output.Writer
	arriving *query.Arriving

	mu sync.Mutex
	// printed is the number of records printed, newest the latest time of those printed before the current chunk, and latest
	// that of all; 0 if there are none.
	printed        uint64
	newest, latest int64
}

// newLive makes a live of a query.
func (r *request) newLive(q *query.Query, out *output.Writer) *live {
	return &live{r: r, out: out, arriving: q.Arriving(filesName, filestore.Service, filestore.Instance)}
}

// receive is a [filestore.Receiver].
func (l *live) receive(parser string, records []record.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.printed
	l.newest = l.latest
	err := l.arriving.Search(parser, records, l.print)
	if l.printed == before {
		return err
	}
	if flushErr := l.out.Flush(); flushErr != nil {
		err = flushErr
	}
	return err
}

// print prints a record. With the last one of the limit, and instead of others, it returns errEnough.
func (l *live) print(m query.Match) error {
	if l.full() { // an input that has failed still passes what it holds
		return errEnough
	}
	write := l.out.Write
	if l.r.follow && l.newest > 0 && m.Time < l.newest-int64(followLate) {
		write = l.out.WriteLate
	}
	if err := write(m); err != nil {
		return err
	}
	l.printed++
	l.latest = max(l.latest, m.Time)
	if l.full() {
		return errEnough
	}
	return nil
}

// full reports whether the records of the limit are printed.
func (l *live) full() bool {
	return l.r.sel.Limit > 0 && l.printed >= uint64(l.r.sel.Limit) //nolint:gosec // not negative
}

// arrive reports whether the records of standard input are printed as they arrive: nothing else is read, and nothing that is
// printed depends on later records.
func (r *request) arrive() bool {
	if !slices.Equal(cli.List(r.c, "file"), []string{"-"}) {
		return false
	}
	return r.follow || !r.count && !r.sel.Newest && r.tail == 0 && r.sort == nil && r.distinct == nil &&
		r.around == (query.ContextLines{}) && r.output.Format != output.Parquet && !r.explain
}

// printArriving prints the matching records of standard input as they arrive. It calls finish behind the last one, and
// reports whether there were any.
func (r *request) printArriving(ctx context.Context, q *query.Query, out *output.Writer, finish func() error) (found bool, err error) {
	l := r.newLive(q, out)
	problem, err := r.readStdin(ctx, l)
	if err != nil && !errors.Is(err, errEnough) {
		return false, err
	}
	if problem != nil {
		l.arriving.Problem(problem)
	}
	if err := finish(); err != nil {
		return false, err
	}
	if l.printed > 0 {
		r.noteMissing(q, r.emptyColumns(out))
		return true, nil
	}
	if report := q.Report(); len(report.Problems) == 0 {
		r.reasons = append([]query.Reason{}, fileReasons(l.arriving.Explain(), r.sel.Patterns)...)
	}
	return false, nil
}

// readStdin passes the records of standard input to l until its end, or that of ctx, which is an error. problem is set if it cannot
// be read to its end.
func (r *request) readStdin(ctx context.Context, l *live) (problem *query.Problem, err error) {
	notes, err := filestore.Stream(ctx, r.env.stdin, r.liveOptions(), l.receive)
	r.notes = append(r.notes, notes...)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if problem := fileProblem("-", err); problem != nil {
		return problem, nil
	}
	return nil, err
}

// liveOptions are the settings for reading records as they arrive.
func (r *request) liveOptions() filestore.Options {
	opts := r.env.fileOptions(r.c)
	opts.Log = slog.New(inputLog{&r.env})
	return opts
}

// inputLog prints what the inputs of files log, except about times: those of old files are often unlike the current ones.
type inputLog struct{ env *environment }

// Enabled implements [slog.Handler].
func (inputLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle implements [slog.Handler].
func (h inputLog) Handle(_ context.Context, record slog.Record) error {
	values := map[string]slog.Value{}
	record.Attrs(func(a slog.Attr) bool {
		values[a.Key] = a.Value
		return true
	})
	file, ofFile := values["file"]
	encoding, converted := values["encoding"]
	err, failed := values["error"].Any().(error)
	switch {
	case converted:
		h.env.printf("%s: converted from %s to UTF-8", values["source"], encoding)
	case ofFile && failed:
		h.env.printf("%s: %v", record.Message, err)
	case ofFile:
		h.env.printf("%s: %s", file, record.Message)
	}
	return nil
}

// WithAttrs implements [slog.Handler].
func (h inputLog) WithAttrs([]slog.Attr) slog.Handler { return h }

// WithGroup implements [slog.Handler].
func (h inputLog) WithGroup(string) slog.Handler { return h }
