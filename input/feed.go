package input

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"logstow/buffer"
	"logstow/message/parse"
	"logstow/record"
	"logstow/record/recognize"
)

// maxChunk is about the number of records passed to the sink at a time.
const maxChunk = 16384

// Feed reads lines and passes them to the sink as records: it removes the wrapping of a container
// runtime, joins multi-line records, recognizes timestamps and levels, and lets a [Processor]
// change or drop the result. One Feed serves any number of sources, one after the other, with one
// read buffer. Not safe for concurrent use. It has no clock of its own: lines that wait for a
// continuation are flushed by [Feed.Flush].
type Feed struct {
	opts  Options
	split splitter
	// encoded is the buffer for bytes that are converted to UTF-8; nil until it is needed.
	encoded []byte
	records []record.Record
	// dropped is set if a line produced no record.
	dropped bool
	// read is the read time, ref the reference for times without a year, of the current lines, in
	// Unix nanoseconds.
	read, ref int64
	// ahead counts the collected records that are ahead of the clock, aheadLog logs the result.
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
		opts: opts, split: splitter{max: opts.Lines.maxLine(opts.MaxRecord), large: opts.Large},
		aheadLog: skewLog{log: opts.Log, zone: opts.Recognize.Zone},
	}, nil
}

// Read reads r to its end. It flushes complete records after each read of r, and holds the bytes after
// the last newline and lines that may continue. ref is the reference for times without a year; zero
// means the clock at each read. After an error the source must not be used again, unless it is an
// error of r.
func (f *Feed) Read(ctx context.Context, src *Source, r io.Reader, ref time.Time) error {
	f.split.restore(src.partial)
	defer f.split.giveBack()
	for {
		n, err := f.fill(src, r)
		if n > 0 {
			if err := f.process(ctx, src, ref, false); err != nil {
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

// End flushes everything held; an incomplete line counts as a line.
func (f *Feed) End(ctx context.Context, src *Source, ref time.Time) error {
	f.split.restore(src.partial)
	defer f.split.giveBack()
	src.partial = partialLine{}
	return f.process(ctx, src, ref, true)
}

// fill reads the next bytes of a source into the splitter.
func (f *Feed) fill(src *Source, r io.Reader) (n int, err error) {
	space := f.split.space()
	if src.converter == nil {
		n, err = r.Read(space)
		f.split.filled(n)
		return n, err
	}
	if f.encoded == nil {
		f.encoded = make([]byte, encodedSize)
	}
	n, err = r.Read(f.encoded)
	f.split.filled(len(src.converter.convert(space[:0], f.encoded[:n])))
	return n, err
}

// process is processLines, after it has detected the encoding of a source. While that takes more bytes, it does nothing.
func (f *Feed) process(ctx context.Context, src *Source, ref time.Time, last bool) error {
	if src.undetected {
		encoding, certain := DetectEncoding(f.split.unread())
		if !certain && !last {
			return nil
		}
		src.undetected = len(f.split.unread()) == 0
		if encoding != UTF8 {
			if err := f.convertRead(ctx, src, ref, encoding); err != nil {
				return err
			}
		}
	}
	if last && src.converter != nil {
		f.split.filled(len(src.converter.end(f.split.space()[:0])))
	}
	return f.processLines(ctx, src, ref, last)
}

// convertRead converts what was read of a source before its encoding was known.
func (f *Feed) convertRead(ctx context.Context, src *Source, ref time.Time, encoding Encoding) error {
	src.convert(encoding)
	encoded := bytes.Clone(f.split.unread())
	f.split.restore(partialLine{})
	for part := range slices.Chunk(encoded, encodedSize) {
		f.split.filled(len(src.converter.convert(f.split.space()[:0], part)))
		if err := f.processLines(ctx, src, ref, false); err != nil {
			return err
		}
	}
	return nil
}

// Flush flushes the records and partial lines that waited for their continuation for the time set
// in [Lines]. A line whose newline was not read yet stays held; see [Feed.End].
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

// EndSingle flushes the lines that wait although they are probably records of their own; see EndSingle of package multiline.
func (f *Feed) EndSingle(ctx context.Context, src *Source, ref time.Time) error {
	if !src.Waiting() {
		return nil
	}
	now := f.setReadTime(ref)
	for _, s := range src.streams {
		if s != nil && s.joiner != nil && !s.part.open {
			s.joiner.EndSingle()
		}
	}
	return f.flush(ctx, src, 0, now)
}

// setReadTime sets the read time and the reference for the next lines.
func (f *Feed) setReadTime(ref time.Time) time.Time {
	now := f.opts.Now()
	if ref.IsZero() {
		ref = now
	}
	f.read, f.ref = now.UnixNano(), ref.UnixNano()
	return now
}

// processLines processes all complete lines; with last set, also the bytes after the last newline.
func (f *Feed) processLines(ctx context.Context, src *Source, ref time.Time, last bool) error {
	now := f.setReadTime(ref)
	var covered int64
	for {
		l, size, ok := f.next(src, last)
		if !ok {
			src.offset += size
			covered += size
			f.dropped = f.dropped || size > 0 // the next run need not read them again
			break
		}
		if src.direct != nil && l.whole == 0 && len(l.text) <= f.opts.MaxRecord && !mayBeDirective(l.text) && src.direct.isSingle(l.text, f.following(src)) {
			f.add(src.direct, l.text, 0)
		} else {
			w, wrapped := src.unwrap(l.text)
			if parser, ok := src.directive(w); ok && l.whole == 0 && parser.Stored() != src.storedParser() {
				if err := f.changeParser(ctx, src, parser, covered, now); err != nil {
					return err
				}
				covered = 0
			}
			src.line(l, w, wrapped)
		}
		src.offset += size
		covered += size
		if len(f.records) >= maxChunk {
			if err := f.flush(ctx, src, covered, now); err != nil {
				return err
			}
			covered = 0
		}
	}
	if f.split.skipped > 0 {
		f.noteNULs(src, f.split.skipped)
		f.split.skipped = 0
	}
	for _, s := range src.streams {
		if s != nil {
			s.release(last)
		}
	}
	return f.flush(ctx, src, covered, now)
}

// next returns the next line of a source, with last set also the bytes after the last newline. size is how many bytes of
// the source it covers; if ok is false, those are skipped.
func (f *Feed) next(src *Source, last bool) (l line, size int64, ok bool) {
	l, size, ok = f.split.next()
	if !ok && last {
		l, size, ok = f.split.rest()
	}
	if src.converter != nil && (ok || last) {
		size = src.converter.next()
	}
	return l, size, ok
}

// following is what was read after the current line, nil if it is in another encoding.
func (f *Feed) following(src *Source) []byte {
	if src.converter != nil {
		return nil
	}
	return f.split.buf[f.split.start:f.split.end]
}

// changeParser flushes the lines before the current one, and sets the parser of those that follow.
func (f *Feed) changeParser(ctx context.Context, src *Source, parser *parse.Parser, bytes int64, now time.Time) error {
	for _, s := range src.streams {
		if s != nil {
			s.end()
		}
	}
	if err := f.flush(ctx, src, bytes, now); err != nil {
		return err
	}
	src.use(parser)
	return nil
}

// flush passes the collected records to the sink. bytes is how many bytes of the source they and the
// dropped lines took.
func (f *Feed) flush(ctx context.Context, src *Source, bytes int64, read time.Time) error {
	if src.carriedEmitted {
		src.endEmitted()
	}
	f.opts.Stats.Bytes.Add(bytes)
	f.detectSkew(src, len(f.records), read)
	if len(f.records) == 0 && !f.dropped {
		return nil
	}
	f.dropped = false
	chunk := buffer.Chunk{Service: src.service, Class: f.opts.Class, Parse: src.storedParser(), Read: read.UnixNano(), Records: f.records}
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

// add collects a message as a record. It does not copy the message, unless it must be truncated to fit into a
// block. logged is the container runtime's time, 0 if there is none.
func (f *Feed) add(s *stream, message []byte, logged int64) {
	if len(message) > maxText/2 {
		if text, truncated := truncate(message, f.opts.MaxRecord); truncated {
			f.noteTruncated(s.src, int64(len(message)))
			message = text
		}
	}
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
	f.records = slices.Grow(f.records, 1)[:n+1]
	r := &f.records[n] // set in place: to copy it from the stack waits for the stores
	r.Time, r.Level, r.Source, r.Message = stamp.Time, stamp.Level, s.name, message
	f.ahead.add(stamp.Time, read)
	if f.opts.Process != nil && !f.opts.Process.Process(s.src.service, r) {
		f.records, f.dropped = f.records[:n], true
	}
	if stamp.Rejected != recognize.Accepted { // logged with the processed message: processing redacts secrets
		f.noteRejectedTime(s.src, r.Message, stamp.Rejected)
	}
	if !stamp.Found && f.opts.Recognize.Rules.Times() {
		f.noteMissingTime(s.src, r.Message)
	}
	if s.recognizer.ZoneAssumed() && !s.src.zoneLogged {
		s.src.zoneLogged = true
		logAssumedZone(f.opts.Log, s.src.name, r.Message)
	}
}

// detectSkew counts how many of the collected records are ahead of the clock.
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

// noteRejectedTime counts a rejected timestamp, and logs it once per source.
func (f *Feed) noteRejectedTime(src *Source, message []byte, reason recognize.Reason) {
	f.opts.Stats.TimesRejected.Add(1)
	if !src.rejectedLogged {
		src.rejectedLogged = true
		f.opts.Log.Warn("timestamp rejected: the record gets the time it was read (logged once per source)",
			"reason", reason.String(), "source", src.name, "line", excerpt(message))
	}
}

// noteMissingTime counts a line in which the rules found no timestamp, and logs it once per source.
func (f *Feed) noteMissingTime(src *Source, message []byte) {
	f.opts.Stats.TimesNotFound.Add(1)
	if !src.notFoundLogged {
		src.notFoundLogged = true
		f.opts.Log.Warn("no timestamp found by time-format, time-regexp or recognition (logged once per source)",
			"source", src.name, "line", excerpt(message))
	}
}

// logAssumedZone logs that a time has the name of a zone that is unknown or has several meanings.
func logAssumedZone(log *slog.Logger, source string, message []byte) {
	log.Warn("time zone is unknown or has several meanings, using the configured one (logged once per source)",
		"source", source, "line", excerpt(message), "hint", "set --time-zone to the zone of these times")
}

// noteTruncated counts a truncated line, and logs it once per source.
func (f *Feed) noteTruncated(src *Source, size int64) {
	f.opts.Stats.Cut.Add(1)
	if !src.truncatedLogged {
		src.truncatedLogged = true
		f.opts.Log.Warn("line truncated at the record limit (logged once per source)",
			"source", src.name, "bytes", size, "limit", f.opts.MaxRecord)
	}
}

// noteNULs counts skipped NUL bytes, and logs them once per source.
func (f *Feed) noteNULs(src *Source, bytes int64) {
	f.opts.Stats.NULs.Add(bytes)
	if !src.nulsLogged {
		src.nulsLogged = true
		f.opts.Log.Warn("skipped NUL bytes at the start of a line: the file was probably truncated while a program wrote to it (logged once per source)",
			"source", src.name, "bytes", bytes, "hint", "let the program open the file for appending, or rotate it by renaming")
	}
}

// noteEncoding logs that a source is converted.
func (f *Feed) noteEncoding(src *Source) {
	f.opts.Log.Info("converting to UTF-8", "source", src.name, "encoding", src.Encoding().String())
}

// excerpt is the beginning of a line, for the log.
func excerpt(text []byte) string {
	return string(text[:min(len(text), 120)])
}
