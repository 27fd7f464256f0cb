package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"logstow/query/explain"
	"logstow/query/source"

	"logstow/internal/parallel"
	"logstow/internal/units"
	"logstow/query/foreign"
	"logstow/record"
	"logstow/segment"
)

// convertForeign reads a whole foreign segment, keeps the records that match as blocks and returns their footer. Read
// failures are recorded as problems.
func (f *Fetcher) convertForeign(ctx context.Context, s *source.Segment) (*segment.Footer, error) {
	w := <-f.workers
	defer func() { f.workers <- w }()
	all := f.Matcher.AllChecks(s.Name.Service, s.Meta.Instance)
	c := newBlockBuilder(s.Meta, f.scratch, f.compressor)
	var line []byte
	outside, broken := 0, 0
	var failure error
	next, stop := iter.Pull(f.pieces(ctx, s))
	defer stop()
	left := s.Size
	defer func() { f.Recorder.ProcessedBytes(left) }()
	blob := &pieceReader{next: next, onRead: func(n int) {
		left -= int64(n)
		f.Recorder.ProcessedBytes(int64(n))
	}}
	defer func() { f.findings.AddRejections(w.scanner.TakeRejections()) }()
	var sampled []byte
	defer func() { f.findings.AddSample(sampled, "") }()
	for r, err := range foreign.Records(blob, s.Name.Bucket, f.limitDecoded(ctx, s)) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		switch {
		case errors.Is(err, foreign.ErrLine):
			broken, failure = broken+1, err
			continue
		case err != nil:
			f.readFailed(ctx, s, err)
			continue // Records ends after this error
		}
		line = record.AppendText(line[:0], r)
		if len(sampled) <= explain.SamplePart && !f.Matcher.TimeAndLevelOnly() {
			sampled = append(sampled, line...)
		}
		text := line[:len(line)-1]
		if _, ok := w.scanner.Match(text, all, bytes.IndexByte(r.Message, '\n') >= 0); !ok {
			continue
		}
		if r.Time < s.Meta.Start || r.Time > s.Meta.End {
			outside++
			continue
		}
		if err := c.add(line, r); err != nil {
			return nil, err
		}
	}
	if broken > 0 {
		f.readFailed(ctx, s, fmt.Errorf("%s: %w", units.Count(broken, "line"), failure))
	}
	if outside > 0 {
		f.readFailed(ctx, s, fmt.Errorf("left out %s with a time not in the hour of the name", units.Count(outside, "record")))
	}
	return c.end()
}

const (
	// decodedRatio and decodedLeast limit the decoded text of a foreign blob, to guard against decompression bombs: to
	// decodedRatio times its size, or decodedLeast bytes if that is more. Logs compress up to a hundredfold.
	decodedRatio = 200
	decodedLeast = 256 << 20
)

// limitDecoded returns a function that counts the decoded text of a foreign segment. It returns an error once ctx ends or
// the limit is exceeded.
func (f *Fetcher) limitDecoded(ctx context.Context, s *source.Segment) func(text []byte) error {
	limit := max(decodedLeast, decodedRatio*s.Size)
	left := limit
	return func(text []byte) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if left -= int64(len(text)); left < 0 {
			return fmt.Errorf("more than %s of text in %s stored; the rest is not read", units.FormatSize(limit), units.FormatSize(s.Size))
		}
		f.Recorder.BytesDecoded.Add(int64(len(text)))
		f.Recorder.LinesDecoded.Add(int64(bytes.Count(text, []byte("\n"))))
		return nil
	}
}

// piece is a range of a blob.
type piece struct {
	data []byte
	err  error
}

// pieces reads a segment's blob sequentially, with prefetch.
func (f *Fetcher) pieces(ctx context.Context, s *source.Segment) iter.Seq[piece] {
	offsets := func(yield func(int64) bool) {
		for off := int64(0); off < s.Size && yield(off); off += chunkBytes {
		}
	}
	length := func(off int64) int64 { return min(s.Size-off, chunkBytes) }
	return parallel.Ordered(ctx, parallel.Window{First: 1, Max: foreignPrefetch, Bytes: foreignPrefetch * chunkBytes}, offsets, length,
		func(ctx context.Context, off int64) piece {
			data, err := f.read(ctx, s, off, length(off))
			return piece{data, err}
		})
}

// foreignPrefetch is the number of pieces of a foreign blob that are read ahead.
const foreignPrefetch = 4

// pieceReader is an [io.Reader] of pieces.
type pieceReader struct {
	next func() (piece, bool)
	// onRead is called with the number of bytes of each Read.
	onRead func(n int)
	data   []byte
}

func (r *pieceReader) Read(p []byte) (int, error) {
	if len(r.data) == 0 {
		next, ok := r.next()
		if !ok {
			return 0, io.EOF
		}
		if next.err != nil {
			return 0, next.err
		}
		r.data = next.data
	}
	n := copy(p, r.data)
	r.onRead(n)
	r.data = r.data[n:]
	return n, nil
}
