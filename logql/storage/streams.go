package storage

import (
	"logstow/internal/memo"
	"logstow/logql/engine"
	"logstow/logql/labels"
	"logstow/logql/pipeline"
	"logstow/logql/syntax"
	"logstow/message/parse"
	"logstow/query"
	"logstow/query/merge"
	"logstow/record"
	"logstow/record/attributes"
)

// streams are the streams of the records that one goroutine reads.
type streams struct {
	*selector
	parserOf func(*query.Segment) *parse.Parser
	segment  *query.Segment // of the record converted last, and its parser
	parser   *parse.Parser
	labels   attributes.Labels
	known    memo.Map[streamKey, *recordStream] // nil values: not selected
	recent   [record.Levels]recentStream        // the last of each level
	message  record.Message
	current  engine.Record
}

// recentStream is a stream of known, if set.
type recentStream struct {
	set    bool
	key    streamKey
	stream *recordStream
}

// recordStream is a stream of records.
type recordStream struct {
	*pipeline.Stream
	// matchers are those that the labels of the stream do not decide: of other attributes.
	matchers []*syntax.Matcher
}

// streamKey identifies a stream. labels are the label attributes, as by [attributes.Labels].
type streamKey struct {
	service, instance, source, labels string
	level                             record.Level
	parser                            *parse.Parser
}

// maxStreams is the number of streams after which they are made anew: sources may be many.
const maxStreams = 1 << 16

// newStreams makes streams for another goroutine.
func (s *streams) newStreams() *streams { return &streams{selector: s.selector, parserOf: s.parserOf} }

// wanted makes, for each goroutine, what reports whether matchers match a record; nil if all do.
func (s *streams) wanted() func() func(*query.Match) bool {
	if s.exact() {
		return nil
	}
	return func() func(*query.Match) bool {
		own := s.newStreams()
		return func(m *query.Match) bool { return own.convert(m) != nil }
	}
}

// convert is a match as a record, valid until the next call; nil if a matcher rejects it.
func (s *streams) convert(m *query.Match) *engine.Record {
	if m.Segment != s.segment {
		s.segment, s.parser = m.Segment, s.parserOf(m.Segment)
	}
	f := m.Columns()
	stream := s.of(m.Segment.Name.Service, m.Instance, s.parser, &f)
	if stream == nil {
		return nil
	}
	s.message.Decode(f.Raw)
	s.current = engine.Record{Time: m.Time, Attributes: f.Attributes, Line: s.message, Stream: stream}
	return &s.current
}

// record is convert for a match by its stored text and its columns.
func (s *streams) record(origin *query.Segment, line []byte, columns *record.Columns) (*engine.Record, error) {
	m, err := merge.NewMatch(origin, line, columns)
	if err != nil {
		return nil, err
	}
	return s.convert(&m), nil
}

// of is the stream of a record; nil if a matcher rejects it. Most records are of the stream of the one of their level before.
func (s *streams) of(service, instance string, parser *parse.Parser, f *record.Columns) *pipeline.Stream {
	last, of := &s.recent[f.Level], s.labels.Of(f.Attributes)
	if !last.set || last.key.parser != parser || last.key.service != service || last.key.instance != instance ||
		last.key.labels != of || string(f.Source) != last.key.source {
		key := streamKey{service: service, instance: instance, source: string(f.Source), labels: of, level: f.Level, parser: parser}
		*last = recentStream{true, key, s.find(key)}
	}
	if last.stream == nil || !matchAttributes(last.stream.matchers, f.Attributes) {
		return nil
	}
	return last.stream.Stream
}

// find returns the stream with a key; nil if a matcher rejects all its records.
func (s *streams) find(key streamKey) *recordStream {
	s.known.Max = maxStreams
	return s.known.Get(key, func() *recordStream {
		if allMatch(s.instances, key.instance) && allMatch(s.ofSource, key.source) {
			found := newStream(key)
			if rest, ok := s.undecided(found.Labels); ok {
				return &recordStream{found, rest}
			}
		}
		return nil
	})
}

// newStream makes a stream.
func newStream(key streamKey) *pipeline.Stream {
	level := levelLabel(key.level)
	return &pipeline.Stream{
		Labels:   streamLabels(key.service, key.instance, level, key.labels),
		Parser:   key.parser,
		Metadata: labels.New(labels.Label{Name: labels.DetectedLevel, Value: level}, labels.Label{Name: labels.Source, Value: key.source}),
	}
}

// streamLabels are the labels of a stream: service, instance and level, and label attributes with other names. Of several with the same
// label the first counts.
func streamLabels(service, instance, level, of string) labels.Labels {
	all := []labels.Label{{Name: labels.Service, Value: service}, {Name: labels.Instance, Value: instance}, {Name: labels.Level, Value: level}}
	for name, value := range attributes.AllLabels(of) {
		if label := pipeline.LabelName(name); pipeline.MayBeField(label) {
			all = append(all, labels.Label{Name: label, Value: value})
		}
	}
	return labels.New(all...)
}
