package storage

import (
	"logstow/logql/labels"
	"logstow/logql/pipeline"
	"logstow/message/parse"
	"logstow/query/match"
	"logstow/record"
)

// recordFilter rejects the records that a filter or matchers reject.
func recordFilter(filter *pipeline.Filter, s *selector) *match.RecordFilter {
	instanced := len(s.instances) > 0 || filter.Reads(labels.Instance)
	return &match.RecordFilter{Instanced: instanced, New: func() match.RecordMatcher {
		return &recordMatcher{streams: &streams{selector: s}, keeper: filter.Keeper(), instanced: instanced}
	}}
}

// recordMatcher matches records as the stages of a query process them.
type recordMatcher struct {
	streams   *streams
	keeper    *pipeline.Keeper
	instanced bool
}

// Matches implements [match.RecordMatcher].
func (m *recordMatcher) Matches(service, instance string, parser *parse.Parser, f *record.Columns, message []byte) bool {
	if !m.instanced { // that of a segment, although its records may have others
		instance = anyLabel
	}
	stream := m.streams.of(service, instance, parser, f)
	return stream != nil && m.keeper.Process(0, f.Attributes, message, stream)
}
