package engine

import (
	"slices"

	"logstow/columns"
	"logstow/field"
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
	fieldReader
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
	if !ok || !f.Fields.addNames(names) || slices.Contains(f.Fields.Columns, columns.Name{Fixed: field.Instance}) || // takes another request
		!slices.ContainsFunc(f.Fields.Columns, func(c columns.Name) bool { return c.Fixed == "" }) {
		return nil
	}
	f.numbers = usesOf(f.Fields.Columns, nil, first, nil)
	return f
}

// Matcher makes a matcher, which is not safe for concurrent use.
func (f *FieldFilter) Matcher() *FieldMatcher {
	return &FieldMatcher{filter: f, processor: f.pipe.Processor()}
}

// maxTried is the number of combinations of values that MayMatch tries.
const maxTried = 256

// MayMatch reports whether the stages may keep a record. values has the distinct values of each column, in the order of Fields.Columns;
// stream returns the stream of records with some of these values, nil if they are not selected. It is fast if there are few.
func (m *FieldMatcher) MayMatch(values []*columns.Values, stream func(values []message.Value) *pipeline.Stream) bool {
	n := 1
	for i, v := range values {
		use := useAt(m.filter.numbers, i)
		if n *= len(v.Entries); n > maxTried || v.Plane >= 0 && !use.same(v) {
			return true
		}
	}
	for k := range n {
		m.values = m.values[:0]
		for _, v := range values {
			id := k % len(v.Entries)
			k /= len(v.Entries)
			value := v.Entries[id]
			if id == v.Plane {
				value = message.Value{Kind: message.Number, Text: []byte(v.Greatest)}
			}
			m.values = append(m.values, value)
		}
		if m.process(m.processor, m.filter.Fields.Columns, stream(m.values)) {
			return true
		}
	}
	return false
}

// Any reports whether the stages keep one of the records.
func (m *FieldMatcher) Any(b *FieldBlock) (kept bool) {
	m.combine(b, m.filter.numbers)
	m.Examples(b.Set, func(_, record int) bool {
		m.read(b, record)
		kept = m.process(m.processor, m.filter.Fields.Columns, b.Stream(m.values))
		return !kept
	})
	return kept
}
