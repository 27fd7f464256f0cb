package storage

import (
	"logstow/columns"
	"logstow/field"
	"logstow/logql/engine"
	"logstow/query"
	"logstow/query/match"
	"logstow/segment"
)

// columnNames are the columns that have fields.
func columnNames(f *engine.Fields) (names []columns.Name) {
	for _, name := range f.Names {
		names = append(names, columns.Name{Label: name})
	}
	if f.Level {
		names = append(names, columns.Name{Fixed: field.Level})
	}
	if f.Source {
		names = append(names, columns.Name{Fixed: field.Source})
	}
	if f.Seconds {
		names = append(names, columns.Name{Fixed: field.Time})
	}
	return names
}

// fieldWorker adds blocks by their columns if these have the values that the parser would find, otherwise by matches.
type fieldWorker struct {
	matchWorker
	fields *engine.Fields
}

// Block adds the matches of a block.
func (w *fieldWorker) Block(b *query.BlockColumns) (bool, error) {
	worker, ok := w.worker.(engine.FieldWorker)
	if !ok {
		return false, nil
	}
	fields, ok := w.streams.fieldBlock(b.Segment.Name.Service, &b.Block, b.Selected, b.Columns, w.fields)
	if !ok || fields.Records == 0 || b.Selected.Count == 0 {
		return ok, nil
	}
	return worker.AddFields(fields)
}

// blockFilter rejects blocks in which a filter and matchers of sources keep no record.
func blockFilter(filter *engine.FieldFilter, s *selector) *match.BlockFilter {
	ofSource := &selector{ofSource: s.ofSource}
	fields := ofSource.withMatchers(&filter.Fields)
	return &match.BlockFilter{Names: columnNames(fields), New: func() match.BlockMatcher {
		return &blockMatcher{fields: fields, matcher: filter.Matcher(), streams: &streams{selector: ofSource}}
	}}
}

// blockMatcher matches the records of blocks by their fields.
type blockMatcher struct {
	fields  *engine.Fields
	matcher *engine.FieldMatcher
	streams *streams
}

// MayMatch implements [match.BlockMatcher].
func (m *blockMatcher) MayMatch(service string, _ *segment.Block, cols match.Columns) bool {
	if cols.Form() != m.fields.Form {
		return true
	}
	values := make([]*columns.Values, len(m.fields.Names))
	for i, name := range m.fields.Names {
		if values[i] = cols.Values(columns.Name{Label: name}); values[i] == nil {
			return true
		}
	}
	var labels streamValues
	for k, name := range labels.columns(m.fields) {
		of := cols.Values(name)
		if of == nil {
			return true
		}
		labels[k] = of.Entries
	}
	all, ok := m.streams.combinations(service, &labels)
	return !ok || m.matcher.MayMatch(values, all)
}

// AnyMatches implements [match.BlockMatcher].
func (m *blockMatcher) AnyMatches(service string, b *segment.Block, sel match.Selected, cols match.Columns) bool {
	fields, ok := m.streams.fieldBlock(service, b, sel, cols, m.fields)
	return !ok || m.matcher.Any(fields)
}

// fieldBlock is a block's records by their fields; not ok if its columns do not have them.
func (s *streams) fieldBlock(service string, b *segment.Block, sel match.Selected, cols match.Columns, f *engine.Fields) (*engine.FieldBlock, bool) {
	if cols.Form() != f.Form {
		return nil, false
	}
	fields := &engine.FieldBlock{Records: int(b.Records), Selected: sel.Records}
	for _, name := range f.Names {
		page := cols.Page(columns.Name{Label: name})
		if page == nil {
			return nil, false
		}
		fields.Pages = append(fields.Pages, page)
	}
	if !s.setStreams(fields, service, cols, f) {
		return nil, false
	}
	if f.Seconds {
		if fields.Runs = cols.Seconds(); fields.Runs == nil {
			return nil, false
		}
		fields.Base = columns.FloorSecond(b.Start)
	}
	return fields, true
}
