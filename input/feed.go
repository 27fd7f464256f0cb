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

// maxChunk is about the number of records handed over at once.
const maxChunk = 8192

// Feed reads lines, makes them records and hands these to the sink: it takes the
// wrapping of a container runtime off, joins what belongs together, finds times
// and levels, and lets a [Processor] change or drop what came out. One Feed
// serves any number of sources, one after the other, with one read buffer. Not
// safe for concurrent use. It has no clock of its own: what waits for its
// continuation is handed over by [Feed.Flush].
type Feed struct {
	opts    Options
	split   splitter
	records []record.Record
	// dropped says that a line became no record.
	dropped bool
	// read is the time of reading, ref the reference for times without a year, of the
	// lines at hand, in Unix nanoseconds.
	read, ref int64
	// ahead counts records that are collected, skewLog says what that means.
	ahead    skewBatch
	aheadLog skewLog
}

// NewFeed makes a Feed.
func NewFeed(opts Options) (*Feed, error) {
	opts, err := opts.WithDefaults()
	if err != nil {
		return nil, err
	}
	return &Feed{
		opts: opts, split: splitter{max: opts.Lines.maxLine(opts.MaxRecord)},
		aheadLog: skewLog{log: opts.Log, zone: opts.Recognize.Zone},
	}, nil
}

// Read reads r to its end. It hands over every complete record as it comes and
// holds what follows the last newline, and lines that may go on. ref is the
// reference for times without a year; zero is the clock at each read. After an
// error the source is not to be used again, unless it is one of r.
func (f *Feed) Read(ctx context.Context, src *Source, r io.Reader, ref time.Time) error {
	f.split.restore(src.partial)
	for {
		n, err := r.Read(f.split.space())
		f.split.filled(n)
		if n > 0 {
			if err := f.processLines(ctx, src, ref, false); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			src.partial = f.split.detach()
			return nil
		case err != nil:
			src.partial = f.split.detach()
			return fmt.Errorf("read %s: %w", src.name, err)
		}
	}
}

// End hands over all that is held, the beginning of a line as a line.
func (f *Feed) End(ctx context.Context, src *Source, ref time.Time) error {
	f.split.restore(src.partial)
	src.partial = partialLine{}
	return f.processLines(ctx, src, ref, true)
}

// Flush hands over the records and the parts of lines that waited for their
// continuation for as long as [Lines] says. The beginning of a line whose newline
// was not read yet stays held; see [Feed.End].
func (f *Feed) Flush(ctx context.Context, src *Source, ref time.Time) error {
	if !src.Waiting() {
		return nil
	}
	now := f.setReadTime(ref)
	for _, s := range src.streams {
		if s != nil {
			s.flush(now.UnixNano())
		}
	}
	return f.flush(ctx, src, 0, now)
}

// setReadTime notes the time and the reference for the lines to come.
func (f *Feed) setReadTime(ref time.Time) time.Time {
	now := f.opts.Now()
	if ref.IsZero() {
		ref = now
	}
	f.read, f.ref = now.UnixNano(), ref.UnixNano()
	return now
}

// processLines hands over what all complete lines give, and with last all the rest.
func (f *Feed) processLines(ctx context.Context, src *Source, ref time.Time, last bool) error {
	now := f.setReadTime(ref)
	var bytes int64
	for {
		l, ok := f.split.next()
		if !ok && last {
			l, ok = f.split.rest()
		}
		if !ok {
			break
		}
		if src.direct != nil && l.whole == 0 && len(l.text) <= f.opts.MaxRecord {
			f.add(src.direct, l.text, 0)
		} else {
			src.line(l)
		}
		src.offset += l.size
		bytes += l.size
		if len(f.records) >= maxChunk {
			if err := f.flush(ctx, src, bytes, now); err != nil {
				return err
			}
			bytes = 0
		}
	}
	for _, s := range src.streams {
		if s != nil {
			s.release(last)
		}
	}
	return f.flush(ctx, src, bytes, now)
}

// flush gives the collected records, made of the next bytes of the source, to the sink.
func (f *Feed) flush(ctx context.Context, src *Source, bytes int64, read time.Time) error {
	f.opts.Stats.Bytes.Add(bytes)
	f.detectSkew(src, len(f.records), read)
	if len(f.records) == 0 && !f.dropped {
		return nil
	}
	f.dropped = false
	chunk := buffer.Chunk{Service: src.service, Class: f.opts.Class, Read: read.UnixNano(), Records: f.records}
	if src.position != nil {
		chunk.Positions = src.position(src.Point())
	}
	if len(chunk.Records)+len(chunk.Positions) == 0 {
		return nil
	}
	f.records = f.records[:0]
	if _, err := f.opts.Sink.Append(ctx, chunk); err != nil {
		return err
	}
	f.opts.Stats.Records.Add(int64(len(chunk.Records)))
	return nil
}

// add collects a message as a record, a view of it. logged is when a container
// runtime got it, 0 where none did.
func (f *Feed) add(s *stream, message []byte, logged int64) {
	read, ref := f.read, f.ref
	if logged != 0 {
		read, _ = s.recognizer.CheckTime(logged, read)
		ref = read
	}
	stamp := s.recognizer.Stamp(message, read, ref)
	if logged != 0 && !stamp.Found {
		stamp.Time = read
	}
	n := len(f.records)
	f.records = append(f.records, record.Record{Time: stamp.Time, Level: stamp.Level, Source: s.name, Message: message})
	f.ahead.add(stamp.Time, read)
	r := &f.records[n]
	if f.opts.Process != nil && !f.opts.Process.Process(s.src.service, r) {
		f.records, f.dropped = f.records[:n], true
	}
	if stamp.Rejected != recognize.Accepted { // said with what processing left of the message: it takes secrets out
		f.noteRejectedTime(s.src, r.Message, stamp.Rejected)
	}
	if !stamp.Found && f.opts.Recognize.Rules.Times() {
		f.noteMissingTime(s.src, r.Message)
	}
}

// detectSkew notes how many of the collected records lie ahead of the clock.
func (f *Feed) detectSkew(src *Source, all int, now time.Time) {
	if f.ahead.records == 0 {
		return
	}
	f.opts.Stats.Ahead.Add(int64(f.ahead.records))
	if offset, ok := src.ahead.note(f.ahead, all); ok {
		f.aheadLog.warn(&src.ahead, src.service, src.name, offset, now)
	}
	f.ahead = skewBatch{}
}

// noteRejectedTime counts a time that was not taken, and says so once a source.
func (f *Feed) noteRejectedTime(src *Source, message []byte, reason recognize.Reason) {
	f.opts.Stats.TimesRejected.Add(1)
	if !src.rejectedLogged {
		src.rejectedLogged = true
		f.opts.Log.Warn("timestamp rejected: the record gets the time it was read (logged once per source)",
			"reason", reason.String(), "source", src.name, "line", excerpt(message))
	}
}

// noteMissingTime counts a line in which rules found no time, and says so once a source.
func (f *Feed) noteMissingTime(src *Source, message []byte) {
	f.opts.Stats.TimesNotFound.Add(1)
	if !src.notFoundLogged {
		src.notFoundLogged = true
		f.opts.Log.Warn("no timestamp found by time-format, time-regexp or recognition (logged once per source)",
			"source", src.name, "line", excerpt(message))
	}
}

// noteTruncated counts a line that was cut, and says so once a source.
func (f *Feed) noteTruncated(src *Source, size int64) {
	f.opts.Stats.Cut.Add(1)
	if !src.truncatedLogged {
		src.truncatedLogged = true
		f.opts.Log.Warn("line truncated at the record limit (logged once per source)",
			"source", src.name, "bytes", size, "limit", f.opts.MaxRecord)
	}
}

// excerpt is the beginning of a line, for a log of our own.
func excerpt(text []byte) string {
	return string(text[:min(len(text), 120)])
}
