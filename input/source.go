package input

import (
	"logstow/buffer"
	"logstow/field/parse"
	"logstow/input/container"
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
	// partial is the beginning of a line, from offset on.
	partial partialLine
	// format is how lines are wrapped; while it is Auto, tried counts lines that were not.
	format  container.Format
	tried   uint8
	clock   container.Clock
	streams [maxStreams]*stream
	// direct is the stream whose lines are records as they are, unless they may be directives, once
	// that is certain; otherwise nil.
	direct *stream
	// resume is what an earlier run did behind the offset at which this one began; nil is nothing.
	resume *resumeState
	// parser is that of the lines behind a W3C directive; nil is that of the [Feed].
	parser *parse.Parser
	// These are set once the event has been logged.
	truncatedLogged, splitLogged, rejectedLogged, notFoundLogged bool
	ahead                                                        skewDetector
}

// Point is a place in a source where reading may go on later.
type Point struct {
	// Offset is the start of the first byte that is not in a flushed record.
	Offset int64
	// Held is the state of the bytes behind Offset. It is opaque; without it some lines may be read
	// again. Usually a few bytes, at most 64, unless a W3C directive is part of it.
	Held []byte
}

// NewSource starts a source that cannot be read again: it has no positions.
func (f *Feed) NewSource(name string) *Source { return f.Resume(name, Point{}, nil) }

// Resume starts a source at a point: the next byte read is at its offset. position makes the
// positions stored with the records before a point; nil makes none. An invalid Held is ignored, and
// logged.
func (f *Feed) Resume(name string, at Point, position func(Point) []buffer.Position) *Source {
	src := &Source{
		feed:     f,
		name:     record.CleanSource(f.opts.SourcePrefix + name),
		service:  f.opts.Service,
		position: position,
		offset:   at.Offset,
		format:   f.opts.Lines.Format,
	}
	b, err := decodeHeld(at)
	if err != nil {
		f.opts.Log.Warn("cannot decode the state of a position: some lines may be read again", "source", src.name, "error", err)
		return src
	}
	if f.opts.Parse == "" {
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

// Offset is where the next byte is to be read from: the bytes before it were flushed or are held.
func (s *Source) Offset() int64 { return s.offset + s.partial.size() }

// Held is the number of bytes of an incomplete line.
func (s *Source) Held() int64 { return s.partial.size() }

// Waiting reports whether lines are held that may continue: [Feed.Flush] flushes them if they do
// not.
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

// directive is the parser of the lines behind a line, if that names their columns in W3C's format, as the
// first line of a log of IIS does, and no parser is configured. A part of a line is none.
func (s *Source) directive(l container.Line) (*parse.Parser, bool) {
	if !mayBeDirective(l.Text) || l.Partial || s.feed.opts.Parse != "" {
		return nil, false
	}
	if s.resume != nil && s.resume.has(l.Stream, s.offset) { // it may be part of a line whose beginning is not read again
		return nil, false
	}
	if st := s.streams[l.Stream]; st != nil && st.part.open {
		return nil, false
	}
	return parse.W3C(l.Text)
}

// mayBeDirective reports whether a line begins as one in W3C's format.
func mayBeDirective(text []byte) bool { return len(text) > 0 && text[0] == '#' }

// use makes a parser that of the lines that follow. What the streams held was flushed.
func (s *Source) use(parser *parse.Parser) {
	s.parser, s.streams, s.direct = parser, [maxStreams]*stream{}, nil
}

// stored is the parser of the source's lines, as [buffer.Chunk] has it.
func (s *Source) stored() string {
	if s.parser == nil {
		return s.feed.opts.Parse
	}
	return s.parser.Stored()
}

// line passes a line to its stream, with what it wraps.
func (s *Source) line(l line, w container.Line, wrapped bool) {
	if s.resume != nil {
		if s.resume.has(w.Stream, s.offset) {
			return
		}
		if s.offset >= s.resume.done {
			s.resume = nil
		}
	}
	st := s.stream(w.Stream)
	if !wrapped {
		st.add(l.text, l.whole, s.offset, 0)
		if s.format == container.None && s.resume == nil && st.joiner == nil {
			s.direct = st
		}
		return
	}
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

// unwrap removes a container runtime's wrapping from a line; a line without is returned as it is, and false.
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

// stream returns one of the source's streams, created at its first line.
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
