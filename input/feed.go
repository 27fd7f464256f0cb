package input

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"logstow/buffer"
	"logstow/message/parse"
	"logstow/record"
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
	// usual are the buffers of split and stamper while the feed reads, if it shares them with others.
	usual *usualBuffers
	// encoded is the buffer for bytes that are converted to UTF-8; nil until it is needed.
	encoded []byte
	// stamper has the read time and the reference for times without a year of the current lines.
	stamper  stamper
	aheadLog skewLog
}

// NewFeed makes a Feed.
func NewFeed(opts Options) (*Feed, error) {
	opts, err := opts.WithDefaults()
	if err != nil {
		return nil, err
	}
	f := &Feed{
		opts: opts, split: splitter{max: opts.Lines.maxLine(opts.MaxRecord), buffers: opts.Buffers},
		aheadLog: skewLog{log: opts.Log, zone: opts.Recognize.Zone},
	}
	f.stamper = stamper{opts: &f.opts, from: timeRuntime}
	return f, nil
}

// Read reads r to its end. It flushes complete records after each read of r, and holds the bytes after
// the last newline and lines that may continue. ref is the reference for times without a year; zero
// means the clock at each read. After an error the source must not be used again, unless it is an
// error of r.
func (f *Feed) Read(ctx context.Context, src *Source, r io.Reader, ref time.Time) error {
	f.takeBuffers()
	defer f.giveBuffers()
	f.split.restore(src.partial)
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

// ReadFile is Read for an r that does not wait. Of all feeds that share buffers, few do so at a time, and the others wait for their
// turn.
func (f *Feed) ReadFile(ctx context.Context, src *Source, r io.Reader, ref time.Time) error {
	if f.opts.Buffers != nil {
		end, err := f.opts.Buffers.turn(ctx)
		if err != nil {
			return err
		}
		defer end()
	}
	return f.Read(ctx, src, r, ref)
}

// takeBuffers takes shared buffers, if there are any.
func (f *Feed) takeBuffers() {
	if f.opts.Buffers != nil {
		f.usual = f.opts.Buffers.takeUsual()
		f.split.buf, f.stamper.records = f.usual.read, f.usual.records
	}
}

// giveBuffers returns the shared buffers. A larger one, for a long line, is not kept.
func (f *Feed) giveBuffers() {
	if f.usual != nil && (f.split.borrowed != nil || len(f.split.buf) != len(f.usual.read)) {
		clear(f.stamper.records[:cap(f.stamper.records)]) // they must not retain a large buffer, or that of a long line
	}
	f.split.giveBack()
	if f.usual != nil {
		f.usual.records = f.stamper.records[:0]
		f.opts.Buffers.giveUsual(f.usual)
		f.usual, f.split.buf, f.stamper.records = nil, nil, nil
	}
}

// ReadWhole is Read and End of a text that does not continue. It ends with ctx, between two reads. What cannot be read to its end is
// readErr, and the lines before are flushed; err is any other error.
func (f *Feed) ReadWhole(ctx context.Context, src *Source, r io.Reader, ref time.Time) (readErr, err error) {
	in := &cancelReader{ctx: ctx, r: r}
	if err := f.Read(ctx, src, in, ref); in.err == nil && err != nil {
		return nil, err
	}
	return in.err, f.End(ctx, src, ref)
}

// cancelReader ends reading with a context, between two reads, and keeps the error that ended it.
type cancelReader struct {
	ctx context.Context
	r   io.Reader
	err error
}

func (c *cancelReader) Read(p []byte) (n int, err error) {
	if c.ctx.Err() != nil {
		err = context.Cause(c.ctx)
	} else {
		n, err = c.r.Read(p)
	}
	if !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}

// End flushes everything held; an incomplete line counts as a line.
func (f *Feed) End(ctx context.Context, src *Source, ref time.Time) error {
	f.takeBuffers()
	defer f.giveBuffers()
	f.split.restore(src.partial)
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
	f.stamper.read, f.stamper.ref = now.UnixNano(), ref.UnixNano()
	return now
}

// processLines processes all complete lines; with last set, also the bytes after the last newline.
func (f *Feed) processLines(ctx context.Context, src *Source, ref time.Time, last bool) error {
	now := f.setReadTime(ref)
	var covered int64
	for {
		l, size, ok := f.split.next()
		if !ok && last {
			l, size, ok = f.split.rest()
		}
		if src.converter != nil && (ok || last) {
			size = src.converter.next()
		}
		if !ok {
			src.offset += size
			covered += size
			f.stamper.dropped = f.stamper.dropped || size > 0 // the next run need not read them again
			break
		}
		if src.inLine && src.endsLine(l) {
			src.offset += size
			covered += size
			f.stamper.dropped = true
			continue
		}
		if src.direct != nil && l.whole == 0 && len(l.text) <= f.opts.MaxRecord && !mayBeHeader(l.text) &&
			!f.opts.Parts.begin(l.text) && src.direct.isSingle(l.text, f.split.unread()) {
			f.stamper.add(&src.direct.origin, nil, l.text, 0, record.None, record.None, nil)
		} else {
			w, wrapped := src.unwrap(l.text)
			if parser, ok := src.header(w); ok && l.whole == 0 && parser.Stored() != src.storedParser() {
				if err := f.changeParser(ctx, src, parser, covered, now); err != nil {
					return err
				}
				covered = 0
			}
			src.line(l, w, wrapped)
		}
		src.offset += size
		covered += size
		if len(f.stamper.records) >= maxChunk {
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
	f.detectSkew(src, len(f.stamper.records), read)
	if len(f.stamper.records) == 0 && !f.stamper.dropped {
		return nil
	}
	f.stamper.dropped = false
	chunk := buffer.Chunk{
		Service: src.service,
		Class:   f.opts.Class,
		Parse:   src.storedParser(),
		Read:    read.UnixNano(),
		Records: f.stamper.records,
	}
	if src.position != nil {
		chunk.Positions = src.position(src.Point())
	}
	if len(chunk.Records)+len(chunk.Positions) == 0 {
		return nil
	}
	f.stamper.records = f.stamper.records[:0]
	if _, err := f.opts.Sink.Append(ctx, chunk); err != nil {
		return err
	}
	f.opts.Stats.Records.Add(int64(len(chunk.Records)))
	return nil
}

// add collects a message as a record. logged is the container runtime's time, 0 if there is none.
func (f *Feed) add(s *stream, message []byte, logged int64) {
	if !f.opts.Parts.begin(message) || !f.addParts(s, message, logged) {
		f.stamper.add(&s.origin, s.attributes, message, logged, record.None, record.None, nil)
	}
}

// addParts collects the parts of a message as records. It reports whether there are any.
func (f *Feed) addParts(s *stream, message []byte, logged int64) bool {
	parts, ok := f.opts.Parts.Events(message)
	if !ok {
		return false
	}
	from := f.stamper.from
	f.stamper.from = f.opts.TimeFrom
	for i := range parts {
		s.recognizer.Forget()
		e := &parts[i]
		from := &s.origin
		if f.opts.Parts.Sources && e.Source != "" {
			own := s.origin
			own.name, from = record.CleanSource(f.opts.SourcePrefix+e.Source), &own
		}
		f.stamper.add(from, e.Attributes, e.Message, cmp.Or(e.Time, logged), e.Level, e.Fallback, nil)
	}
	f.stamper.from = from
	return true
}

// detectSkew counts how many of the collected records are ahead of the clock.
func (f *Feed) detectSkew(src *Source, all int, now time.Time) {
	if f.stamper.ahead.records == 0 {
		return
	}
	f.opts.Stats.Ahead.Add(int64(f.stamper.ahead.records))
	if offset, ok := src.ahead.note(f.stamper.ahead, all); ok {
		f.aheadLog.warn(&src.ahead, src.service, src.name, offset, now)
	}
	f.stamper.ahead = skewBatch{}
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
