// Package converted makes segments of blobs that other programs wrote, so that queries read them like those of a store.
package converted

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"logstow/archive"
	"logstow/filestore"
	"logstow/input"
	"logstow/internal/decompress"
	"logstow/internal/hint"
	"logstow/internal/units"
	"logstow/layout"
	"logstow/message/parse"
	"logstow/query/source"
	"logstow/record"
	"logstow/record/recognize"
	"logstow/store"
)

// Options are the settings of a [Store].
type Options struct {
	// Name is the name of the store, Container that of its container or directory, without a path.
	Name, Container string
	// Directory is set for a directory.
	Directory bool
	// Zone is the zone of times in texts that name none; nil is UTC.
	Zone *time.Location
	// Parser finds the fields of lines; nil is [parse.Auto].
	Parser *parse.Parser
	// Keep is how long the records of a range are used without listing its blobs again, and ranges are rounded to hours: for a server. 0
	// is always, as the blobs were first.
	Keep time.Duration
	// TempDir is the directory of temporary files; "" is the system's.
	TempDir string
	// Now is the clock.
	Now func() time.Time
	// Progress shows a text until stop is called; nil shows none.
	Progress func(text func() string) (stop func())
	// Log receives messages about times; nil discards them.
	Log *slog.Logger
}

// maxWindows is the maximum number of ranges whose records are kept.
const maxWindows = 4

// Store makes segments of the blobs of a layout, for queries. It implements [source.Archive], and is safe for concurrent use. The segments
// are in temporary files, which are deleted when neither the Store nor a query uses them any more.
type Store struct {
	opts   Options
	layout *layout.Layout
	// turn has an element while no request converts.
	turn chan struct{}
	// windows are the converted ranges, the last used ones first. They are protected by turn.
	windows []*window
}

// window is the records of a range.
type window struct {
	from, to time.Time
	// listed identifies the blobs, checked is when they were listed.
	listed  [sha256.Size]byte
	checked time.Time
	source.Converted
}

// New makes a Store. Close must be called.
func New(l *layout.Layout, opts Options) *Store {
	s := &Store{opts: opts, layout: l, turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	return s
}

// Close releases the temporary files that no query uses.
func (s *Store) Close() error {
	<-s.turn
	s.windows = nil
	s.turn <- struct{}{}
	return nil
}

// Segments implements [source.Archive]. The segments have all records that were written from one time to another plus the slack, also
// those before and after.
func (s *Store) Segments(ctx context.Context, blobs store.BlobReader, from, to time.Time) (source.Converted, error) {
	if s.opts.Keep > 0 {
		from = from.Truncate(time.Hour)
		if to.Year() < 9999 {
			to = to.Add(time.Hour - 1).Truncate(time.Hour)
		}
	}
	select {
	case <-s.turn:
	case <-ctx.Done():
		return source.Converted{}, context.Cause(ctx)
	}
	defer func() { s.turn <- struct{}{} }()
	var known *window
	for i, w := range s.windows {
		if w.from.After(from) || w.to.Before(to) {
			continue
		}
		s.windows = slices.Insert(slices.Delete(s.windows, i, i+1), 0, w)
		if s.opts.Keep == 0 || s.opts.Now().Sub(w.checked) < s.opts.Keep {
			return w.Converted, nil
		}
		known, from, to = w, w.from, w.to
		break
	}
	checked := s.opts.Now()
	found, err := s.layout.Find(ctx, s.place(blobs), from, to)
	if err != nil {
		return source.Converted{}, err
	}
	listed := identity(found)
	if known != nil && known.listed == listed {
		known.checked = checked
		return known.Converted, nil
	}
	w := &window{from: from, to: to, listed: listed, checked: checked}
	if w.Converted, err = s.convert(ctx, blobs, found); err != nil {
		return source.Converted{}, err
	}
	s.windows = slices.DeleteFunc(s.windows, func(old *window) bool { return old == known || !old.from.Before(from) && !old.to.After(to) })
	s.windows = slices.Insert(s.windows, 0, w)
	s.windows = slices.Delete(s.windows, min(len(s.windows), maxWindows), len(s.windows))
	return w.Converted, nil
}

// Services implements [source.Archive]: those of the records that were read, or, before any were, of the last hour.
func (s *Store) Services(ctx context.Context, blobs store.BlobReader) (source.Converted, error) {
	select {
	case <-s.turn:
	case <-ctx.Done():
		return source.Converted{}, context.Cause(ctx)
	}
	var last *window
	if len(s.windows) > 0 {
		last = s.windows[0]
	}
	s.turn <- struct{}{}
	if last != nil {
		return last.Converted, nil
	}
	now := s.opts.Now()
	return s.Segments(ctx, blobs, now.Add(-time.Hour), now)
}

func (s *Store) place(blobs store.BlobReader) *layout.Place {
	return &layout.Place{Blobs: blobs, Container: s.opts.Container, Directory: s.opts.Directory}
}

// identity identifies versions of blobs.
func identity(found []layout.Blob) (id [sha256.Size]byte) {
	h := sha256.New()
	for i := range found {
		fmt.Fprintf(h, "%q %s %d\n", found[i].Name, found[i].ETag, found[i].Size)
	}
	h.Sum(id[:0])
	return id
}

// convert makes segments of blobs.
func (s *Store) convert(ctx context.Context, blobs store.BlobReader, found []layout.Blob) (made source.Converted, err error) {
	files, err := filestore.New(filestore.Options{TempDir: s.opts.TempDir})
	if err != nil {
		return made, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, files.Close())
		}
	}()
	stats := &input.Stats{}
	opts := input.Options{
		Service: filestore.Service, Sink: files.Sink(), Stats: stats, MaxRecord: record.MaxSize, Log: s.opts.Log,
		Recognize: recognize.Options{Zone: s.opts.Zone, Parser: s.opts.Parser},
	}
	if s.opts.Parser != nil {
		opts.Parse = s.opts.Parser.Stored()
	}
	reader, err := archive.NewReader(opts)
	if err != nil {
		return made, err
	}
	var size int64
	undated := 0
	for i := range found {
		size += found[i].Size
		if !found[i].Dated {
			undated++
		}
	}
	var done atomic.Int64
	if s.opts.Progress != nil {
		defer s.opts.Progress(func() string {
			return fmt.Sprintf("%s: %s of %s", s.opts.Name, units.FormatSize(done.Load()), units.FormatSize(size))
		})()
	}
	gone := 0
	err = reader.ReadAll(ctx, blobs, found, s.opts.Now, s.opts.TempDir, archive.Visit{End: func(b *layout.Blob, deleted bool, err error) error {
		done.Add(b.Size)
		if deleted {
			gone++
		}
		if err != nil {
			made.Problems = append(made.Problems, s.problem(b, err))
		}
		return nil
	}})
	if err == nil {
		err = files.End()
	}
	if err != nil {
		return made, err
	}
	made.Blobs, made.Tables = files, files
	made.Notes = append(files.Notes(), s.notes(found, size, undated, gone)...)
	if n := stats.Cut.Load(); n > 0 {
		made.Notes = append(made.Notes,
			fmt.Sprintf("truncated %s longer than %s", units.Count(n, "line"), units.FormatSize(record.MaxSize)))
	}
	return made, nil
}

// problem is the problem of a blob that cannot be read to its end.
func (s *Store) problem(b *layout.Blob, cause error) *source.Problem {
	object := "cannot read " + b.Name + " to its end"
	switch {
	case errors.Is(cause, decompress.ErrUnsupported):
		object = "cannot read " + b.Name
	case errors.Is(cause, io.ErrUnexpectedEOF):
		cause = hint.Wrap(cause, "the blob is damaged or incomplete; the records before the damage were read")
	}
	return &source.Problem{Store: s.opts.Name, Object: object, Err: cause}
}

// notes are what a query of the records should know.
func (s *Store) notes(found []layout.Blob, size int64, undated, gone int) (notes []string) {
	slack := s.layout.Slack()
	missed := "records that were stored later than their time are missed"
	if slack > 0 {
		missed = fmt.Sprintf("records that were stored more than %s after their time are missed", units.FormatDuration(slack))
	}
	notes = append(notes,
		fmt.Sprintf("%s: read %s of %s; %s (--layout-slack)", s.opts.Name, units.FormatSize(size), units.Count(len(found), "blob"), missed))
	if undated > 0 {
		notes = append(notes, fmt.Sprintf("%s: %s without a time in the name, read because of when they were written",
			s.opts.Name, units.Count(undated, "blob")))
	}
	if gone > 0 {
		notes = append(notes, fmt.Sprintf("%s: deleted meanwhile: %s", s.opts.Name, units.Count(gone, "blob")))
	}
	return notes
}
