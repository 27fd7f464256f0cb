package archive

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"time"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/container"
	"logstow/input/multiline"
	"logstow/input/otlp"
	"logstow/internal/decompress"
	"logstow/internal/jsonlines"
	"logstow/layout"
	"logstow/message/parse"
	"logstow/record"
)

// ReadError is an error of a blob that was read in part, or not at all.
type ReadError struct{ Err error }

// Error is the cause's text.
func (e *ReadError) Error() string { return e.Err.Error() }

// Unwrap is the cause.
func (e *ReadError) Unwrap() error { return e.Err }

// Reader makes records of blobs, and passes them to a sink. Not safe for concurrent use.
type Reader struct {
	opts  input.Options
	feeds map[layout.Content]*input.Feed
	// read is the time of reading that records get which have none: that until which the blob was written.
	read time.Time
	// keep is that of the [Visit]; nil keeps everything.
	keep func(b *layout.Blob, text []byte, err error) bool
}

// NewReader makes a Reader. Options are those of an input; its service is replaced by that of each blob.
func NewReader(opts input.Options) (*Reader, error) {
	r := &Reader{feeds: map[layout.Content]*input.Feed{}}
	opts.Now, opts.TimeFrom = func() time.Time { return r.read }, input.TimeProtocol
	var err error
	r.opts, err = opts.WithDefaults()
	return r, err
}

// Read reads the text of a blob, which may be compressed with gzip or zstd, to its end. What cannot be read is a [ReadError]; the records
// before were passed on. now is the time by the clock.
func (r *Reader) Read(ctx context.Context, b *layout.Blob, body io.Reader, now time.Time) error {
	r.read = b.End.Add(-1) // a query of the period finds them
	if b.Modified.After(b.Start) && b.Modified.Before(b.End) {
		r.read = b.Modified
	}
	if r.read.After(now) || r.read.IsZero() {
		r.read = now
	}
	text, done, err := decompress.Reader(body)
	if err != nil {
		return &ReadError{err}
	}
	defer done()
	if b.Content == layout.OTLP {
		return r.otlp(ctx, b, text)
	}
	feed, err := r.feed(b.Content)
	if err != nil {
		return err
	}
	lines := jsonlines.Reader(text)
	if b.Content > layout.CSV {
		lines = jsonlines.Records(withoutMark(text))
	}
	if r.keep != nil {
		lines = newLastLine(lines, func(text []byte, err error) bool { return r.keep(b, text, err) })
	}
	src := feed.NewSource(b.Source).Of(b.Service)
	readErr, err := feed.ReadWhole(ctx, src, lines, r.read)
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case readErr != nil:
		return &ReadError{readErr}
	}
	return nil
}

// withoutMark returns a text without a byte order mark of UTF-8 at its start.
func withoutMark(text io.Reader) io.Reader {
	const mark = "\xef\xbb\xbf"
	in := bufio.NewReader(text)
	if start, _ := in.Peek(len(mark)); string(start) == mark { // a short text has none, and an error comes again
		_, _ = in.Discard(len(mark))
	}
	return in
}

// decoders make the records of lines that are JSON objects.
func decoders() map[layout.Content]func([]byte) ([]input.Event, bool) {
	return map[layout.Content]func([]byte) ([]input.Event, bool){
		layout.Resource: resourceEvents, layout.Flow: flowEvents, layout.FluentBit: fluentEvents, layout.Vector: vectorEvents,
	}
}

// feed returns the feed for a content.
func (r *Reader) feed(of layout.Content) (*input.Feed, error) {
	if f := r.feeds[of]; f != nil {
		return f, nil
	}
	opts := r.opts
	opts.Lines = input.Lines{Format: container.None}
	events := decoders()[of]
	switch of {
	case layout.CSV:
		if opts.Parse == "" {
			parser, err := parse.Compile("csv")
			if err != nil {
				return nil, err
			}
			opts.Parse, opts.Recognize.Parser = parser.Stored(), parser
		}
		opts.Lines.Multiline.Auto = true
	case layout.Lines:
		opts.Lines = input.Lines{Multiline: multiline.Options{Auto: true}}
		opts.Parts = otlp.Parts(opts)
	}
	if events != nil {
		opts.Parts = &input.Parts{Prefix: "{", Events: events, Sources: true}
	}
	f, err := input.NewFeed(opts)
	if err == nil {
		r.feeds[of] = f
	}
	return f, err
}

const (
	// maxChunk and maxChunkBytes limit the records that are passed on at once.
	maxChunk      = 16384
	maxChunkBytes = 4 << 20
)

// otlp reads requests of OpenTelemetry.
func (r *Reader) otlp(ctx context.Context, b *layout.Blob, text io.Reader) error {
	stored := otlp.NewStored(r.opts)
	err := stored.Read(text, func(service string, events []input.Event) error {
		if service == "" {
			service = b.Service
		}
		return r.pass(ctx, service, b.Source, events)
	})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil && stored.Rejected > 0:
		err = fmt.Errorf("records that are nested too deep: %d", stored.Rejected)
	case err == nil, otlp.IsEmitError(err):
		return err
	}
	return &ReadError{err}
}

// pass passes events on as records of a service.
func (r *Reader) pass(ctx context.Context, service, source string, events []input.Event) error {
	opts := r.opts
	opts.Service = service
	stamper := input.NewStamper(&opts)
	size := 0
	flush := func() error {
		defer stamper.Reset()
		size = 0
		if err := context.Cause(ctx); err != nil || len(stamper.Records()) == 0 {
			return err
		}
		n := len(stamper.Records())
		_, err := opts.Sink.Append(ctx, buffer.Chunk{
			Service: service, Class: opts.Class, Parse: opts.Parse, Read: r.read.UnixNano(), Records: stamper.Records(),
		})
		if err == nil {
			opts.Stats.Records.Add(int64(n))
		}
		return err
	}
	for i := range events {
		e := events[i]
		if e.Source == "" {
			e.Source = source
		}
		e.Source = record.CleanSource(opts.SourcePrefix + e.Source)
		stamper.Add(&e, r.read.UnixNano())
		if size += len(e.Message) + len(e.Attributes); len(stamper.Records()) == maxChunk || size > maxChunkBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}
