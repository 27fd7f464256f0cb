package input

import (
	"bytes"

	"logstow/input/container"
	"logstow/input/multiline"
	"logstow/record"
	"logstow/record/attributes"
	"logstow/record/recognize"
)

// stream is one of the interleaved outputs of a [Source]. Its lines are in order.
type stream struct {
	origin
	src *Source
	// joiner joins multi-line records; nil if lines are not joined.
	joiner *multiline.Joiner
	part   part
	// attrs are the last ones of Docker, attributes their form in records; attrs are nil before the first line.
	attrs, attributes []byte
	// carriedEmitted is set if records with lines of a former source are in the feed, see [Source.Continue].
	carriedEmitted bool
}

// part is a line that a container runtime split and whose last part is missing.
type part struct {
	// open is set if there is such a line.
	open bool
	// text has the parts so far, size is their length before truncation at the record limit.
	text []byte
	size int64
	// start is the offset of the first part, logged the runtime's time of it, last is when the last
	// part was read, in Unix nanoseconds.
	start, logged, last int64
}

func (s *Source) newStream(id container.Stream) *stream {
	opts := s.feed.opts.Recognize
	if s.parser != nil {
		opts.Parser = s.parser
	}
	st := &stream{src: s, origin: origin{
		service: s.service, name: s.name, label: s.name, recognizer: recognize.New(opts), noted: &s.noted,
	}}
	if id != container.NoStream {
		suffix := "/" + id.String()
		st.name = record.CleanSource(s.name[:min(len(s.name), record.MaxSource-len(suffix))] + suffix)
	}
	if m := s.feed.opts.Lines.Multiline; m.Enabled() {
		m.HasTime = st.recognizer.HasTime
		st.joiner, _ = multiline.New(m, st.joined) // the options were checked by WithDefaults
	}
	return st
}

// isSingle reports whether a line is a record of its own if it is added now.
func (s *stream) isSingle(text, next []byte) bool {
	return s.joiner == nil || s.joiner.Single(text, next)
}

// setAttrs sets the attributes of the lines from now on. All lines of a container have the same ones; if they change, what is held ends.
func (s *stream) setAttrs(attrs []byte) {
	if s.attrs != nil && bytes.Equal(attrs, s.attrs) {
		return
	}
	if s.attrs != nil {
		s.end()
	}
	s.attrs, s.attributes = append([]byte{}, attrs...), nil
	if len(attrs) > 0 {
		s.attributes = attributes.AppendObject(nil, attrs)
	}
}

// add adds a line that starts at an offset. whole is its length before it was truncated, 0 if it was
// not truncated.
func (s *stream) add(text []byte, whole, start, logged int64) {
	f := s.src.feed
	if limit := f.opts.MaxRecord; len(text) > limit {
		whole = max(whole, int64(len(text)))
		text = cut(text, limit, whole)
	}
	if whole > 0 {
		f.stamper.noteTruncated(&s.origin, whole)
	}
	if s.joiner == nil {
		s.noteEmitted(start)
		f.add(s, text, logged)
		return
	}
	s.joiner.Add(multiline.Line{Text: text, Start: start, Time: logged}, f.stamper.read)
}

// addPart adds a part of a line.
func (s *stream) addPart(text []byte, start, logged int64, last bool) {
	f := s.src.feed
	if !s.part.open {
		s.part = part{open: true, start: start, logged: logged}
	}
	keep := min(len(text), f.opts.MaxRecord-len(s.part.text))
	s.part.text = append(s.part.text, text[:keep]...)
	s.part.size += int64(len(text))
	s.part.last = f.stamper.read
	if last {
		s.endPart()
	}
}

// endPart makes a line of the parts.
func (s *stream) endPart() {
	p := s.part
	s.part = part{}
	limit := s.src.feed.opts.MaxRecord
	if p.size <= int64(limit) {
		s.add(p.text, 0, p.start, p.logged)
		return
	}
	s.add(cut(p.text, limit, p.size), p.size, p.start, p.logged)
}

// joined receives an event from the joiner.
func (s *stream) joined(e multiline.Event) {
	f := s.src.feed
	if e.More {
		f.opts.Stats.Split.Add(1)
		if !s.src.splitLogged {
			s.src.splitLogged = true
			f.opts.Log.Warn("multi-line record over the limits: continued in the next record (logged once per source)",
				"source", s.src.name, "lines", e.Lines, "bytes", len(e.Text))
		}
	}
	s.noteEmitted(e.Start)
	f.add(s, e.Text, e.Time)
}

// release copies the held text out of the read buffer; with last set it flushes the text instead.
func (s *stream) release(last bool) {
	switch {
	case last:
		s.end()
	case s.joiner != nil:
		s.joiner.Own()
	}
}

func (s *stream) end() {
	if s.part.open {
		s.endPart()
	}
	if s.joiner != nil {
		s.joiner.End()
	}
}

// flush flushes lines that have waited too long; now is in Unix nanoseconds.
func (s *stream) flush(now int64) {
	lines := &s.src.feed.opts.Lines
	switch {
	case s.part.open:
		if s.part.last = min(s.part.last, now); now-s.part.last >= int64(lines.PartialTimeout) { // it begins again if the clock went back
			s.end()
		}
	case s.joiner != nil:
		s.joiner.Flush(now, int64(lines.Multiline.Timeout))
	}
}

// held returns the offset of the first line that is held, and the joiner's state for it.
func (s *stream) held() (start int64, state byte, held bool) {
	if s.joiner != nil {
		if start, state, held = s.joiner.Held(); held {
			return start, state, true
		}
	}
	return s.part.start, 0, s.part.open
}
