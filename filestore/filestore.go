// Package filestore makes a store of plain log files, so that they can be queried as if a shipper had stored them. [Stream] and
// [Follow] pass the records of standard input and of growing files on as they arrive.
//
// The lines become records as in the shipper's inputs (package input): the wrapping of container runtimes is removed, stack
// traces are joined, times and levels are recognized. Records are collected in runs of up to 16 MiB, sorted by time, and
// written as segments of an hour each to a temporary file. Runs of many hours are written to a second temporary file first
// and merged, so that a file without order has one segment for each hour, too. Apart from about 300 bytes for each segment,
// memory is bounded regardless of the length of a file.
package filestore

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"time"

	"logstow/input"
	"logstow/input/multiline"
	"logstow/input/otlp"
	"logstow/internal/decompress"
	"logstow/internal/jsonlines"
	"logstow/internal/tempfile"
	"logstow/message/parse"
	"logstow/record"
	"logstow/record/recognize"
	"logstow/store"
)

// Service is the service of all records, and Instance their instance.
const (
	Service  = "file"
	Instance = "-"
)

// listPage is the number of blobs or prefixes in a page of a listing.
const listPage = 5000

// Options are the settings of a [Store].
type Options struct {
	// Zone is the zone of times that name none; nil is UTC.
	Zone *time.Location
	// Parser finds the fields of lines; nil is [parse.Auto].
	Parser *parse.Parser
	// Now is the clock; nil is [time.Now].
	Now func() time.Time
	// TempDir is the directory of the temporary file; "" is the system's.
	TempDir string
	// RunSize is the number of bytes of records that are put into order in memory; 0 is 16 MiB.
	RunSize int
	// Log receives messages about files that are followed, and about times; nil discards them.
	Log *slog.Logger
}

// input returns the settings of an input that makes records of files, for a sink.
func (o Options) input(sink input.Sink, stats *input.Stats) input.Options {
	opts := input.Options{
		Service: Service, Sink: sink, Stats: stats, MaxRecord: record.MaxSize, Now: o.Now, Log: o.Log,
		Recognize: recognize.Options{Zone: o.Zone, Parser: o.Parser},
		Lines:     input.Lines{Multiline: multiline.Options{Auto: true}},
	}
	if o.Parser != nil {
		opts.Parse = o.Parser.Stored()
	}
	opts.Parts = otlp.Parts(opts)
	return opts
}

// Store is a store of the records of files, as segments. Files must be added by one goroutine before the store is read.
// Reading is safe for concurrent use.
type Store struct {
	store.NoTables // there is no index
	opts           Options
	stats          input.Stats
	runs           *runs
	notes          []string
}

// New makes an empty store. Close must be called.
func New(opts Options) (*Store, error) {
	file, err := tempfile.Create(opts.TempDir)
	if err != nil {
		return nil, err
	}
	return &Store{opts: opts, runs: newRuns(file, opts.TempDir, opts.RunSize)}, nil
}

// Close removes the temporary files.
func (s *Store) Close() error { return s.runs.close() }

// Add adds the records of lines, which may be compressed with gzip or zstd; name is their source.
// The objects of a JSON array are lines. Times without a year are near ref, which is not after now. What cannot be read to its end is a
// [ReadError]; the records before are added. Add returns when ctx ends, but does not interrupt a read.
func (s *Store) Add(ctx context.Context, name string, lines io.Reader, ref time.Time) error {
	feed, err := input.NewFeed(s.opts.input(s.runs, &s.stats))
	if err != nil {
		return err
	}
	src := feed.NewSource(record.CleanSource(name))
	nuls := s.stats.NULs.Load()
	readErr, err := s.read(ctx, feed, src, lines, ref)
	if err != nil {
		return err
	}
	if e := src.Encoding(); e != input.UTF8 {
		s.notes = append(s.notes, fmt.Sprintf("%s: converted from %s to UTF-8", name, e))
	}
	if nuls = s.stats.NULs.Load() - nuls; nuls > 0 {
		s.notes = append(s.notes, nulNote(name, nuls))
	}
	if err := s.runs.end(); err != nil {
		return err
	}
	if readErr != nil && ctx.Err() == nil {
		return &ReadError{readErr}
	}
	return context.Cause(ctx)
}

// ReadError is an error of a text that was added in part.
type ReadError struct{ Err error }

// Error is the cause's text.
func (e *ReadError) Error() string { return e.Err.Error() }

// Unwrap is the cause.
func (e *ReadError) Unwrap() error { return e.Err }

// read reads all lines. readErr is an error of their reader, err any other one.
func (s *Store) read(ctx context.Context, feed *input.Feed, src *input.Source, lines io.Reader, ref time.Time) (readErr, err error) {
	text, done, readErr := decompress.Reader(lines)
	if readErr != nil {
		return readErr, nil
	}
	defer done()
	return feed.ReadWhole(ctx, src, jsonlines.Reader(text), ref)
}

// Sink returns the sink of the store, which takes records of any services. [Store.End] must be called behind the last one.
func (s *Store) Sink() input.Sink { return s.runs }

// End completes what the sink has taken, so that it can be read.
func (s *Store) End() error { return s.runs.end() }

// Notes are what was changed in the added files: converted encodings, skipped bytes, and truncated lines.
func (s *Store) Notes() []string {
	notes := slices.Clone(s.notes)
	if n := s.stats.Cut.Load(); n > 0 {
		notes = append(notes, truncatedNote(n))
	}
	return notes
}

// Read implements [store.BlobReader].
func (s *Store) Read(ctx context.Context, ref store.BlobRef, off, n int64) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	fail := func(class error) ([]byte, error) {
		return nil, &store.Error{Op: "read", Object: ref.Name, Class: class}
	}
	blobs := s.runs.segments.blobs
	i, found := slices.BinarySearchFunc(blobs, ref.Name, compareName)
	switch {
	case n <= 0 || off < 0:
		return fail(store.ErrInvalid)
	case !found, ref.ETag != "" && ref.ETag != blobs[i].stored().ETag:
		return fail(store.ErrNotFound)
	case n > blobs[i].size-off:
		return fail(store.ErrRange)
	}
	data := make([]byte, n)
	if _, err := s.runs.segments.file.ReadAt(data, blobs[i].offset+off); err != nil {
		return nil, fmt.Errorf("cannot read temporary file: %w", err)
	}
	return data, nil
}

// List implements [store.BlobReader].
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) {
		for page, err := range pages(ctx, s.blobs(prefix)) {
			var all []store.Blob
			for i := range page {
				all = append(all, page[i].stored())
			}
			if !yield(all, err) {
				return
			}
		}
	}
}

// blobs returns the blobs whose names have a prefix.
func (s *Store) blobs(prefix string) []blob {
	all := s.runs.segments.blobs
	from, _ := slices.BinarySearchFunc(all, prefix, compareName)
	all = all[from:]
	if n := slices.IndexFunc(all, func(b blob) bool { return !strings.HasPrefix(b.name, prefix) }); n >= 0 {
		all = all[:n]
	}
	return all
}

func compareName(b blob, name string) int { return strings.Compare(b.name, name) }

// ListPrefixes implements [store.BlobReader].
func (s *Store) ListPrefixes(ctx context.Context, prefix string) iter.Seq2[[]string, error] {
	var all []string
	for _, b := range s.blobs(prefix) {
		if child, _, more := strings.Cut(b.name[len(prefix):], "/"); more {
			all = append(all, prefix+child+"/")
		}
	}
	return pages(ctx, slices.Compact(all))
}

// pages yields the pages of a listing.
func pages[T any](ctx context.Context, all []T) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		for page := range slices.Chunk(all, listPage) {
			if ctx.Err() != nil {
				yield(nil, context.Cause(ctx))
				return
			}
			if !yield(page, nil) {
				return
			}
		}
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
		}
	}
}
