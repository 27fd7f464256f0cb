package storage

import (
	"slices"

	"logstow/columns"
	"logstow/field"
	"logstow/logql/engine"
	"logstow/logql/pipeline"
	"logstow/logql/syntax"
	"logstow/message"
	"logstow/query/match"
	"logstow/query/rowset"
	"logstow/record"
	"logstow/segment"
)

// withMatchers are fields with the labels of streams that matchers are about.
func (s *selector) withMatchers(f *engine.Fields) *engine.Fields {
	all := *f
	all.Columns = slices.Clone(f.Columns)
	if len(s.ofSource) > 0 {
		all.AddFixed(field.Source)
	}
	if len(s.instances) > 0 {
		all.AddFixed(field.Instance)
	}
	for _, m := range s.attributes {
		all.Columns = columns.AddNames(all.Columns, columns.Name{Label: m.Name, Attribute: true})
	}
	return &all
}

// columnNames are the columns that have fields, not nil.
func columnNames(f *engine.Fields) []columns.Name {
	names := append([]columns.Name{}, f.Columns...)
	if f.Seconds {
		names = append(names, columns.Name{Fixed: field.Time})
	}
	return names
}

// blockFilter rejects blocks in which a filter, or matchers of attributes and of sources, keep no record; nil if there are neither a filter
// nor matchers of attributes.
func blockFilter(filter *engine.FieldFilter, s *selector) *match.BlockFilter {
	if filter == nil && len(s.attributes) == 0 {
		return nil
	}
	selected := &selector{attributes: s.attributes}
	ofAttributes := selected.withMatchers(&engine.Fields{})
	if filter == nil {
		return &match.BlockFilter{Names: columnNames(ofAttributes), New: func() match.BlockMatcher {
			return &attributeMatcher{ofAttributes, &streams{selector: selected}}
		}}
	}
	ofSource := &selector{ofSource: s.ofSource}
	fields := ofSource.withMatchers(&filter.Fields)
	names := append(columnNames(fields), columnNames(ofAttributes)...)
	return &match.BlockFilter{Names: names, New: func() match.BlockMatcher {
		return bothMatchers{
			&attributeMatcher{ofAttributes, &streams{selector: selected}},
			&blockMatcher{fields: fields, matcher: filter.Matcher(), streams: &streams{selector: ofSource}},
		}
	}}
}

// bothMatchers matches blocks that both may match.
type bothMatchers [2]match.BlockMatcher

// MayMatch implements [match.BlockMatcher].
func (m bothMatchers) MayMatch(service string, b *segment.Block, cols rowset.Columns) bool {
	return m[0].MayMatch(service, b, cols) && m[1].MayMatch(service, b, cols)
}

// AnyMatches implements [match.BlockMatcher].
func (m bothMatchers) AnyMatches(service string, b *segment.Block, sel rowset.Selected, cols rowset.Columns) bool {
	return m[0].AnyMatches(service, b, sel, cols) && m[1].AnyMatches(service, b, sel, cols)
}

// attributeMatcher matches records by matchers of attributes.
type attributeMatcher struct {
	fields  *engine.Fields
	streams *streams
}

// MayMatch implements [match.BlockMatcher].
func (m *attributeMatcher) MayMatch(_ string, _ *segment.Block, cols rowset.Columns) bool {
	return !slices.ContainsFunc(m.fields.Columns, func(name columns.Name) bool {
		values := cols.Values(name)
		return values != nil && values.Plane < 0 &&
			!slices.ContainsFunc(values.Entries, func(v message.Value) bool { return !m.streams.rejects(name.Label, v) })
	})
}

// AnyMatches implements [match.BlockMatcher].
func (m *attributeMatcher) AnyMatches(service string, b *segment.Block, sel rowset.Selected, cols rowset.Columns) bool {
	fields, ok := m.streams.fieldBlock(service, b, sel, cols, m.fields)
	if !ok {
		return true
	}
	var values []message.Value
	var scratch []byte
	for record := range fields.Records {
		if !fields.Has(record) {
			continue
		}
		values, scratch = fields.AppendValues(values[:0], scratch[:0], record)
		if fields.Stream(values) != nil {
			return true
		}
	}
	return false
}

// blockMatcher matches the records of blocks by their fields.
type blockMatcher struct {
	fields  *engine.Fields
	matcher *engine.FieldMatcher
	streams *streams
}

// MayMatch implements [match.BlockMatcher].
func (m *blockMatcher) MayMatch(service string, _ *segment.Block, cols rowset.Columns) bool {
	if cols.Form() != m.fields.Form {
		return true
	}
	values := make([]*columns.Values, len(m.fields.Columns))
	for i, name := range m.fields.Columns {
		if values[i] = cols.Values(name); values[i] == nil {
			return true
		}
	}
	return m.matcher.MayMatch(values, m.streams.byValues(service, m.fields.Columns))
}

// AnyMatches implements [match.BlockMatcher].
func (m *blockMatcher) AnyMatches(service string, b *segment.Block, sel rowset.Selected, cols rowset.Columns) bool {
	fields, ok := m.streams.fieldBlock(service, b, sel, cols, m.fields)
	return !ok || m.matcher.Any(fields)
}

// fieldBlock is a block's records by their fields; not ok if its columns do not have them.
func (s *streams) fieldBlock(service string, b *segment.Block, sel rowset.Selected, cols rowset.Columns, f *engine.Fields) (*engine.FieldBlock, bool) {
	if f.Form != message.NoForm && cols.Form() != f.Form {
		return nil, false
	}
	set, ok := rowset.Of(b, service, sel, cols, f.Columns, f.Seconds)
	return &engine.FieldBlock{Set: set, Stream: s.byValues(service, f.Columns)}, ok
}

// anyLabel is the value of stream labels that a query does not read.
const anyLabel = "-"

// byValues returns a function that returns the stream of records of a service with values of columns, the same for equal labels; nil if
// a matcher rejects it.
func (s *streams) byValues(service string, cols []columns.Name) func([]message.Value) *pipeline.Stream {
	return func(values []message.Value) *pipeline.Stream {
		key := streamKey{service: service, instance: anyLabel, source: anyLabel, level: record.None}
		for i, name := range cols {
			if name.Attribute && s.rejects(name.Label, values[i]) {
				return nil
			}
			switch name.Fixed {
			case field.Level:
				key.level = match.LevelOf(values[i])
			case field.Source:
				key.source = string(values[i].Text)
			case field.Instance:
				key.instance = string(values[i].Text)
			}
		}
		if found := s.find(key); found != nil {
			return found.Stream
		}
		return nil
	}
}

// rejects reports whether a matcher of the attribute with a label rejects a value.
func (s *streams) rejects(label string, v message.Value) bool {
	text := ""
	if v.Kind != message.Null {
		text = string(v.Text)
	}
	return slices.ContainsFunc(s.attributes, func(m *syntax.Matcher) bool { return m.Name == label && !m.Matches(text) })
}
