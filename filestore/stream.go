package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/stdin"
	"logstow/internal/decompress"
	"logstow/internal/jsonlines"
	"logstow/internal/units"
	"logstow/record"
)

// Receiver receives records as they are read, in their order. All records of a call have a parser, as in the metadata of segments.
// They are valid until it returns. An error ends reading, before which it may be called again.
type Receiver func(parser string, records []record.Record) error

// Stream passes the records of standard input, which may be compressed with gzip or zstd, to a receiver as they are read. The last
// line waits for a second for others that continue its record. Stream returns when ctx ends, without an error, or when the stream
// does; what cannot be read to its end is a [ReadError]. The notes are what was changed. A read that blocks is not interrupted: it
// ends with the process, or when lines is closed.
func Stream(ctx context.Context, lines io.Reader, opts Options, receive Receiver) (notes []string, err error) {
	var stats input.Stats
	err = stdin.Run(ctx, readErrors{jsonlines.Reader(decompress.Stream(lines))}, opts.input(&receiver{receive: receive}, &stats))
	if n := stats.NULs.Load(); n > 0 {
		notes = append(notes, nulNote(stdin.Source, n))
	}
	if n := stats.Cut.Load(); n > 0 {
		notes = append(notes, truncatedNote(n))
	}
	return notes, err
}

// nulNote is the note about NUL bytes that were skipped.
func nulNote(name string, n int64) string {
	return fmt.Sprintf("%s: skipped %d NUL bytes at the start of lines", name, n)
}

// truncatedNote is the note about lines that were truncated.
func truncatedNote(n int64) string {
	return fmt.Sprintf("truncated %s longer than %s", units.Count(n, "line"), units.FormatSize(record.MaxSize))
}

// receiver is the sink of a [Receiver]. While existing is set, that takes the records.
type receiver struct {
	input.Transient
	receive  Receiver
	existing *Store
}

// Append implements [input.Sink].
func (r *receiver) Append(ctx context.Context, c buffer.Chunk) (buffer.LSN, error) {
	switch {
	case len(c.Records) == 0:
		return 0, nil
	case r.existing != nil:
		return r.existing.runs.Append(ctx, c)
	}
	return 0, r.receive(c.Parse, c.Records)
}

// readErrors marks the errors of a reader: a sink has others.
type readErrors struct{ r io.Reader }

// Read implements [io.Reader].
func (e readErrors) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &ReadError{err}
	}
	return n, err
}
