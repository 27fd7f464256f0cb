package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"

	ucli "github.com/urfave/cli/v2"

	"logstow/buffer"
	"logstow/filestore"
	"logstow/input"
	"logstow/input/stdin"
	"logstow/internal/cli"
	"logstow/internal/decompress"
	"logstow/internal/units"
	"logstow/query"
	"logstow/query/output"
	"logstow/record"
)

// errEnough ends inputs after the records of the limit.
var errEnough = errors.New("the limit is reached")

// live prints the matching records of inputs as they pass them to it, as their sink. It is safe for concurrent use.
type live struct {
	input.Transient
	r        *request
	out      *output.Writer
	arriving *query.Arriving

	mu sync.Mutex
	// existing takes the records that exist when following begins; nil once they are printed, and if nothing is followed.
	existing *filestore.Store
	// printed is the number of records printed, newest the latest time of those printed before the current chunk, and latest
	// that of all; 0 if there are none.
	printed        uint64
	newest, latest int64
}

// newLive makes a live of a query.
func (r *request) newLive(q *query.Query, out *output.Writer) *live {
	return &live{r: r, out: out, arriving: q.Arriving(filesName, filestore.Service, filestore.Instance)}
}

// Append implements [input.Sink].
func (l *live) Append(ctx context.Context, c buffer.Chunk) (buffer.LSN, error) {
	if len(c.Records) == 0 {
		return 0, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.existing != nil {
		return l.existing.Sink().Append(ctx, c)
	}
	before := l.printed
	l.newest = l.latest
	err := l.arriving.Search(c.Parse, c.Records, l.print)
	if l.printed == before {
		return 0, err
	}
	if flushErr := l.out.Flush(); flushErr != nil {
		err = flushErr
	}
	return 0, err
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
func (r *request) arrive(c *ucli.Context) bool {
	if !slices.Equal(cli.List(c, "file"), []string{"-"}) {
		return false
	}
	return r.follow || !r.count && !r.sel.Newest && r.tail == 0 && r.sort == nil && r.distinct == nil &&
		r.around == (query.ContextLines{}) && r.output.Format != output.Parquet && !r.explain
}

// printArriving prints the matching records of standard input as they arrive. It calls finish behind the last one, and
// reports whether there were any.
func (r *request) printArriving(ctx context.Context, c *ucli.Context, q *query.Query, out *output.Writer, finish func() error) (found bool, err error) {
	l := r.newLive(q, out)
	if err := r.readStdin(ctx, c, l); err != nil {
		return false, err
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

// readStdin passes the records of standard input to l until its end, or that of ctx, which is an error. If it cannot be read to
// its end, that is a problem in the report.
func (r *request) readStdin(ctx context.Context, c *ucli.Context, l *live) error {
	var stats input.Stats
	opts := r.fileOptions(c).Input(l, &stats)
	opts.Log = slog.New(inputLog{&r.env})
	err := stdin.Run(ctx, readErrors{decompress.Stream(r.env.stdin)}, opts)
	problem := fileProblem("-", err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case problem != nil:
		l.arriving.Problem(problem)
	case err != nil && !errors.Is(err, errEnough):
		return err
	}
	if n := stats.NULs.Load(); n > 0 {
		r.notes = append(r.notes, filestore.NULNote(stdin.Source, n))
	}
	r.noteTruncated(stats.Cut.Load())
	return nil
}

// noteTruncated notes that lines were truncated.
func (r *request) noteTruncated(lines int64) {
	if lines > 0 {
		r.notes = append(r.notes, truncated(lines))
	}
}

// truncated is the note about truncated lines.
func truncated(lines int64) string {
	return fmt.Sprintf("%d lines are longer than %s and truncated", lines, units.FormatSize(record.MaxSize))
}

// readErrors marks the errors of a reader: a sink has others.
type readErrors struct{ r io.Reader }

func (e readErrors) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &filestore.ReadError{Err: err}
	}
	return n, err
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
		h.env.printf("%s", filestore.EncodingNote(values["source"].String(), encoding.String()))
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
