package input

import (
	"bytes"
	"context"
	"time"

	"logstow/input/container"
)

// carried is the start of lines that a [Source] has taken over from another one.
const carried = -1

// Continue takes over the lines that another source holds, to which the first lines of this one may belong: the log was
// rotated in a line that a container runtime has split, or in a multi-line record. It must be called before the first
// [Feed.Read]. The former source keeps the lines, so that its [Source.Point] remains the one at which they are read again,
// until the records with the lines are passed to the sink: then the former
// source must forget them with [Source.Forget]. While [Source.Carries] reports true, it must not be read, ended or flushed.
func (s *Source) Continue(former *Source) bool {
	if s.Offset() != 0 || s.parser != nil || former.parser != nil || former.Held() > 0 || !former.Waiting() {
		return false
	}
	for id, from := range former.streams {
		if from == nil {
			continue
		}
		if _, _, held := from.held(); !held {
			continue
		}
		st := s.newStream(container.Stream(id))
		st.recognizer = from.recognizer // it knows the time of the line before
		st.attrs, st.attributes = from.attrs, from.attributes
		if from.part.open {
			st.part = from.part
			st.part.text, st.part.start = bytes.Clone(from.part.text), carried
		}
		if st.joiner != nil {
			st.joiner.Continue(from.joiner, carried)
		}
		s.streams[id] = st
	}
	return true
}

// Forget forgets the held lines of the streams whose lines another source, which has taken them over, does not hold any
// more. It reports whether there are any.
func (s *Source) Forget(by *Source) (forgot bool) {
	for id, st := range s.streams {
		if st == nil || by.streams[id] != nil && by.streams[id].carries() {
			continue
		}
		if _, _, held := st.held(); held {
			s.streams[id], s.direct, forgot = nil, nil, true
		}
	}
	return forgot
}

// noteEmitted notes that a record that starts at an offset is in the feed.
func (s *stream) noteEmitted(start int64) {
	if start == carried {
		s.carriedEmitted, s.src.carriedEmitted = true, true
	}
}

// Carries reports whether the source holds lines of a former one.
func (s *Source) Carries() bool {
	for _, st := range s.streams {
		if st != nil && st.carries() {
			return true
		}
	}
	return false
}

// carries reports whether the stream holds lines of a former source.
func (s *stream) carries() bool {
	start, _, held := s.held()
	return held && start == carried
}

// EndCarried passes the lines of a former source to the sink, with those that continue them.
func (f *Feed) EndCarried(ctx context.Context, src *Source, ref time.Time) error {
	if !src.Carries() {
		return nil
	}
	now := f.setReadTime(ref)
	for _, st := range src.streams {
		if st != nil && st.carries() {
			st.end()
		}
	}
	return f.flush(ctx, src, 0, now)
}

// endEmitted ends the records with lines of a former source in the streams of which some are in the feed: the position of
// the former source is stored with all lines of a stream or with none.
func (s *Source) endEmitted() {
	for _, st := range s.streams {
		if st == nil || !st.carriedEmitted {
			continue
		}
		if st.carries() {
			st.end()
		}
		st.carriedEmitted = false
	}
	s.carriedEmitted = false
}
