package input

import (
	"logstow/buffer"
	"logstow/input/container"
	"logstow/message/parse"
	"logstow/record"
)

// detectLines is how many of a file's first lines are examined to detect its format.
const detectLines = 16

// maxStreams is how many streams a source may have: the lines that are not wrapped, standard output
// and standard error.
const maxStreams = 3

// Source is a stream of lines with its own state for times and formats, read through a [Feed].
type Source struct {
	feed     *Feed
	name     string
	service  string
	position func(Point) []buffer.Position
	// offset is the start of the first unprocessed byte: the lines before it were flushed or are
	// held by a stream.
	offset int64
	// partial is the incomplete line at offset.
	partial partialLine
	// inLine is set if the bytes before offset are of a line without its newline, which was flushed: a newline at offset ends it.
	inLine bool
	// undetected is set until the encoding of a stream that is read from its start is known. converter converts the
	// stream to UTF-8; nil if that is not needed.
	undetected bool
	converter  *converter
	// format is how lines are wrapped. While it is Auto, tried counts examined lines that were not wrapped.
	format  container.Format
	tried   uint8
	clock   container.Clock
	streams [maxStreams]*stream
	// direct is the stream of unwrapped lines if all lines are of it, so that those that are not joined need no further
	// processing unless they may be W3C directives. It is nil until that is certain.
	direct *stream
	// resume says what an earlier run flushed behind the offset at which this one began; nil if nothing.
	resume *resumeState
	// carriedEmitted is set if it is set in a stream.
	carriedEmitted bool
	// parser is the parser that a W3C directive determined; nil means that of the [Feed].
	parser *parse.Parser
	// noted, splitLogged and nulsLogged are what was logged.
	noted                   noted
	splitLogged, nulsLogged bool
	ahead                   skewDetector
}

// Point is a position in a source at which reading can resume.
type Point struct {
	// Offset is the start of the first byte that is not in a flushed record.
	Offset int64
	// Held is the state of the lines behind Offset, in an internal encoding; without it some lines may be
	// read again. It has a few bytes, at most 64, unless it contains a W3C directive.
	Held []byte
}

// NewSource returns a source without positions, which cannot be read again.
func (f *Feed) NewSource(name string) *Source { return f.Resume(name, Point{}, nil) }

// Resume returns a source that starts at a point: the next byte read is at its offset. position returns
// the positions to store with the records before a point; if it is nil, there are none. An invalid Held
// is logged and ignored.
func (f *Feed) Resume(name string, at Point, position func(Point) []buffer.Position) *Source {
	src := &Source{
		feed:     f,
		name:     record.CleanSource(f.opts.SourcePrefix + name),
		service:  f.opts.Service,
		position: position,
		offset:   at.Offset,
		format:   f.opts.Lines.Format,

		undetected: at.Offset == 0,
		noted:      noted{of: "source"},
	}
	b, err := decodeHeld(at)
	if err != nil {
		f.opts.Log.Warn("cannot decode the state of a position: some lines may be read again", "source", src.name, "error", err)
		return src
	}
	if b.parser != nil && b.parser.IsHeaderOf(f.opts.Parse) {
		src.parser = b.parser
	}
	if src.format == container.Auto {
		src.format, src.tried = b.format, b.tried
	}
	if b.done > at.Offset {
		src.resume = &b
	}
	return src
}

// Of sets the service of the source's records, overriding that of the [Feed]. It must be called
// before the first [Feed.Read].
func (s *Source) Of(service string) *Source {
	s.service = service
	return s
}

// ContinueLine states that the source has a part of a line before its offset, but not the line's newline. If that comes next, no
// empty line is read.
func (s *Source) ContinueLine() { s.inLine = true }

// endsLine reports whether a line, the first one at the offset, only ends the one of which the source has a part before its offset.
func (s *Source) endsLine(l line) bool {
	ends := s.inLine && (len(l.text) == 0 || string(l.text) == "\r")
	s.inLine = false
	return ends
}

// Offset returns the offset of the next byte to read: the bytes before it were flushed or are held.
func (s *Source) Offset() int64 { return s.offset + s.Held() }

// Held returns the number of bytes of the incomplete line.
func (s *Source) Held() int64 {
	if s.converter != nil {
		return s.converter.line
	}
	return s.partial.size()
}

// Encoded sets the encoding of a stream that is not read from its start; [DetectEncoding] finds it. It must be called
// before the first [Feed.Read].
func (s *Source) Encoded(e Encoding) *Source {
	if e != UTF8 && s.offset > 0 {
		s.convert(e)
	}
	return s
}

// convert makes the stream from the current offset on be converted.
func (s *Source) convert(e Encoding) {
	s.converter = newConverter(e, s.offset)
	s.feed.noteEncoding(s)
}

// Encoding returns the encoding from which the stream is converted, [UTF8] if it is not converted.
func (s *Source) Encoding() Encoding {
	if s.converter == nil {
		return UTF8
	}
	return s.converter.encoding
}

// Waiting reports whether lines are held that may continue. If they do not, [Feed.Flush] flushes
// them.
func (s *Source) Waiting() bool {
	for _, st := range s.streams {
		if st == nil {
			continue
		}
		if _, _, held := st.held(); held {
			return true
		}
	}
	return false
}

// header returns the parser of the following lines if a line names their columns: a directive in W3C's format, as IIS logs it, if no
// parser is configured, or the first line of a file of CSV. A part of a line is none.
func (s *Source) header(l container.Line) (*parse.Parser, bool) {
	if l.Partial || !mayBeHeader(l.Text) && s.offset > 0 {
		return nil, false
	}
	if s.resume != nil && s.resume.flushed(l.Stream, s.offset) { // it may be part of a line whose beginning is not read again
		return nil, false
	}
	if st := s.streams[l.Stream]; st != nil && st.part.open {
		return nil, false
	}
	return parse.Header(s.feed.opts.Parse, l.Text, s.offset == 0)
}

// mayBeHeader reports whether a line begins like a W3C directive.
func mayBeHeader(text []byte) bool { return len(text) > 0 && text[0] == '#' }

// use sets the parser of the lines that follow. The caller has flushed what the streams held.
func (s *Source) use(parser *parse.Parser) {
	s.parser, s.streams, s.direct = parser, [maxStreams]*stream{}, nil
}

// storedParser returns the parser of the source's lines, as in [buffer.Chunk].
func (s *Source) storedParser() string {
	if s.parser == nil {
		return s.feed.opts.Parse
	}
	return s.parser.Stored()
}

// line passes a line to its stream. w is the unwrapped line; wrapped reports whether it was wrapped.
func (s *Source) line(l line, w container.Line, wrapped bool) {
	if s.resume != nil {
		if s.resume.flushed(w.Stream, s.offset) {
			return
		}
		if s.offset >= s.resume.done {
			s.resume = nil
		}
	}
	st := s.stream(w.Stream)
	if !wrapped {
		st.add(l.text, l.whole, s.offset, 0)
		if s.format == container.None && s.resume == nil {
			s.direct = st
		}
		return
	}
	st.setAttrs(w.Attrs)
	logged := s.clock.Unix(w.Time)
	if w.Partial || st.part.open {
		st.addPart(w.Text, s.offset, logged, !w.Partial)
		return
	}
	if l.whole > 0 {
		l.whole -= int64(len(l.text) - len(w.Text))
	}
	st.add(w.Text, l.whole, s.offset, logged)
}

// unwrap removes a container runtime's wrapping from a line. If the line is not wrapped, it returns the line and false.
func (s *Source) unwrap(text []byte) (container.Line, bool) {
	if s.format == container.None {
		return container.Line{Text: text}, false
	}
	if s.format == container.Auto {
		switch f := container.Detect(text); {
		case f != container.None:
			s.format = f
		case s.resume != nil && s.offset < s.resume.done: // it was counted before
		case s.tried+1 >= detectLines:
			s.format = container.None
		default:
			s.tried++
		}
	}
	if l, ok := container.Decode(s.format, text); ok {
		return l, true
	}
	return container.Line{Text: text}, false
}

// stream returns a stream of the source, and creates it if this is its first line.
func (s *Source) stream(id container.Stream) *stream {
	if st := s.streams[id]; st != nil {
		return st
	}
	st := s.newStream(id)
	if s.resume != nil && st.joiner != nil {
		st.joiner.Resume(s.resume.state[id])
	}
	s.streams[id] = st
	return st
}
