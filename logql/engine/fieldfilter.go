package engine

import (
	"logstow/columns"
	"logstow/logql/pipeline"
	"logstow/logql/syntax"
	"logstow/message"
)

// FieldFilter are stages of a query that reject records by their fields. It is safe for concurrent use.
type FieldFilter struct {
	Fields  Fields
	pipe    *pipeline.Pipeline
	numbers []numberUse
}

// FieldMatcher matches the records of blocks. Not safe for concurrent use.
type FieldMatcher struct {
	filter    *FieldFilter
	processor *pipeline.Processor
	combiner
	known []bool
}

// fieldFilter returns the filter of the leading stages that process only labels, apart from json or logfmt. It is nil if
// none of them rejects records, or if fields do not suffice.
func fieldFilter(stages []syntax.Stage) *FieldFilter {
	var first []syntax.Stage
	form, filters := message.NoForm, false
	for _, s := range stages {
		if _, ok := s.(*syntax.LineFilter); ok { // does not affect the records that it keeps
			continue
		}
		if parsed := parsedForm(s); form == message.NoForm && parsed != message.NoForm {
			form = parsed
		} else if !labelsOnly(s) {
			break
		}
		_, isFilter := s.(*syntax.LabelFilter)
		filters = filters || form != message.NoForm && isFilter
		first = append(first, s)
	}
	if !filters {
		return nil
	}
	pipe, err := pipeline.Compile(first, nil, []string{})
	if err != nil {
		return nil // the query fails
	}
	f := &FieldFilter{pipe: pipe, Fields: Fields{Form: form}}
	names, ok := pipe.Fields()
	if !ok || !f.Fields.addNames(names) || len(f.Fields.Names) == 0 || f.Fields.Instance { // instances take another request
		return nil
	}
	for _, name := range f.Fields.Names {
		f.numbers = append(f.numbers, useOf(name, first, nil))
	}
	return f
}

// Matcher makes a matcher, which is not safe for concurrent use.
func (f *FieldFilter) Matcher() *FieldMatcher {
	return &FieldMatcher{filter: f, processor: f.pipe.Processor()}
}

// maxTried is the number of combinations of values that MayMatch tries.
const maxTried = 256

// MayMatch reports whether the stages may keep a record of any of the streams that are not nil. values has the distinct
// values of each field, in the order of Fields.Names. It is fast if there are few.
func (m *FieldMatcher) MayMatch(values []*columns.Values, streams []*pipeline.Stream) bool {
	n := len(streams)
	for i, v := range values {
		if n *= len(v.Entries); n > maxTried || v.Plane >= 0 && !m.filter.numbers[i].same(v) {
			return true
		}
	}
	for k := range n {
		stream := streams[k%len(streams)]
		if stream == nil {
			continue
		}
		m.fields = m.fields[:0]
		rest := k / len(streams)
		for i, v := range values {
			id := rest % len(v.Entries)
			rest /= len(v.Entries)
			value := v.Entries[id]
			if id == v.Plane {
				value = message.Value{Kind: message.Number, Text: []byte(v.Greatest)}
			}
			m.fields = append(m.fields, labelled(m.filter.Fields.Names[i], value))
		}
		if m.processor.ProcessFields(m.fields, stream) {
			return true
		}
	}
	return false
}

// Any reports whether the stages keep one of the records.
func (m *FieldMatcher) Any(b *FieldBlock) bool {
	n := m.combine(b, m.filter.numbers)
	if cap(m.known) < n {
		m.known = make([]bool, n)
	}
	m.known = m.known[:n]
	clear(m.known)
	for i, id := range m.ids {
		if m.known[id] || b.Selected != nil && !b.Selected[i] {
			continue
		}
		m.known[id] = true
		if m.setFields(b, m.filter.Fields.Names, i); m.processor.ProcessFields(m.fields, b.stream(i)) {
			return true
		}
	}
	return false
}
