package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"logstow/buffer"
	"logstow/record"
	"logstow/record/recognize"
)

// maxChunk is the number of records handed over at once.
const maxChunk = 8192

// Feed reads lines, makes them records and hands these to the sink. One Feed
// serves any number of sources, one after the other, with one read buffer. Not
// safe for concurrent use.
type Feed struct {
	opts    Options
	split   splitter
	records []record.Record
}

// NewFeed makes a Feed.
func NewFeed(opts Options) (*Feed, error) {
	opts, err := opts.WithDefaults()
	if err != nil {
		return nil, err
	}
	return &Feed{opts: opts, split: splitter{max: opts.MaxRecord}}, nil
}

// Source is a stream of lines with its own memory of times and formats, read
// through a [Feed].
type Source struct {
	name       string
	recognizer *recognize.Recognizer
	position   func(offset int64) []buffer.Position
	// offset is the start of the first byte that was not handed over.
	offset int64
	parked parked
	// cut and refused say that this was logged once.
	cut, refused bool
}

// NewSource starts a source at an offset of its stream. position makes the
// positions that are handed over with the records before an offset; nil makes none.
func (f *Feed) NewSource(name string, offset int64, position func(offset int64) []buffer.Position) *Source {
	return &Source{
		name:       record.CleanSource(name),
		recognizer: recognize.New(f.opts.Recognize),
		position:   position,
		offset:     offset,
	}
}

// Offset is where the next byte is to be read from: the bytes before it were
// handed over or are held.
func (s *Source) Offset() int64 { return s.offset + s.parked.size() }

// Held is the number of bytes of a line whose end was not read yet.
func (s *Source) Held() int64 { return s.parked.size() }

// Read reads r to its end. It hands over every complete line as it comes and
// holds what follows the last newline. ref is the reference for times without a
// year; zero is the clock at each read. After an error the source is not to be used again.
func (f *Feed) Read(ctx context.Context, src *Source, r io.Reader, ref time.Time) error {
	f.split.adopt(src.parked)
	for {
		n, err := r.Read(f.split.space())
		f.split.filled(n)
		if n > 0 {
			if err := f.take(ctx, src, ref, false); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			src.parked = f.split.park()
			return nil
		case err != nil:
			src.parked = f.split.park()
			return fmt.Errorf("read %s: %w", src.name, err)
		}
	}
}

// End hands over what is held, as a line.
func (f *Feed) End(ctx context.Context, src *Source, ref time.Time) error {
	f.split.adopt(src.parked)
	src.parked = parked{}
	return f.take(ctx, src, ref, true)
}

// take hands over all complete lines, and with last what follows them.
func (f *Feed) take(ctx context.Context, src *Source, ref time.Time, last bool) error {
	read := f.opts.Now()
	if ref.IsZero() {
		ref = read
	}
	var bytes int64
	for {
		l, ok := f.split.next()
		if !ok && last {
			l, ok = f.split.rest()
		}
		if ok {
			bytes += l.size
			f.add(src, l, read.UnixNano(), ref.UnixNano())
		}
		if len(f.records) == maxChunk || !ok && len(f.records) > 0 {
			if err := f.hand(ctx, src, bytes, read); err != nil {
				return err
			}
			bytes = 0
		}
		if !ok {
			return nil
		}
	}
}

// add collects a line as a record, a view of it.
func (f *Feed) add(src *Source, l line, read, ref int64) {
	stamp := src.recognizer.Stamp(l.text, read, ref)
	if stamp.Refused != recognize.Taken {
		f.sayRefused(src, l, stamp.Refused)
	}
	if l.cut {
		f.sayCut(src, l)
	}
	f.records = append(f.records, record.Record{Time: stamp.Time, Level: stamp.Level, Source: src.name, Message: l.text})
}

// sayRefused counts a time that was not taken, and says so once a source.
func (f *Feed) sayRefused(src *Source, l line, reason recognize.Reason) {
	f.opts.Stats.Refused.Add(1)
	if !src.refused {
		src.refused = true
		f.opts.Log.Warn("a line's time is not taken: the record gets the time it was read (said once a source)",
			"reason", reason.String(), "source", src.name, "line", excerpt(l.text))
	}
}

// sayCut counts a line that was cut, and says so once a source.
func (f *Feed) sayCut(src *Source, l line) {
	f.opts.Stats.Cut.Add(1)
	if !src.cut {
		src.cut = true
		f.opts.Log.Warn("a line is longer than the record limit and was cut (said once a source)",
			"source", src.name, "bytes", l.size, "limit", f.opts.MaxRecord)
	}
}

// hand gives the collected records, which stand for the next bytes of the source, to the sink.
func (f *Feed) hand(ctx context.Context, src *Source, bytes int64, read time.Time) error {
	chunk := buffer.Chunk{Service: f.opts.Service, Class: f.opts.Class, Read: read.UnixNano(), Records: f.records}
	if src.position != nil {
		chunk.Positions = src.position(src.offset + bytes)
	}
	if _, err := f.opts.Sink.Append(ctx, chunk); err != nil {
		return err
	}
	src.offset += bytes
	f.opts.Stats.Records.Add(int64(len(f.records)))
	f.opts.Stats.Bytes.Add(bytes)
	f.records = f.records[:0]
	return nil
}

// excerpt is the beginning of a line, for a log of our own.
func excerpt(text []byte) string {
	return string(text[:min(len(text), 120)])
}
