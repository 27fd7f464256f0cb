package storage

import (
	"iter"
	"slices"

	"logstow/columns"
	"logstow/field"
	"logstow/logql/engine"
	"logstow/logql/pipeline"
	"logstow/message"
	"logstow/query/match"
	"logstow/record"
)

// anyLabel is the value of stream labels that a query does not read.
const anyLabel = "-"

// maxBlockStreams is the number of combinations of labels of streams that columns of a block may have.
const maxBlockStreams = 256

// streamValues are the values of the columns level, source and instance in a block; nil for labels that are not read.
type streamValues [3][]message.Value

const (
	levelValues = iota
	sourceValues
	instanceValues
)

// withMatchers are fields with the labels of streams that matchers are about.
func (s *selector) withMatchers(f *engine.Fields) *engine.Fields {
	all := *f
	all.Source, all.Instance = f.Source || len(s.ofSource) > 0, f.Instance || len(s.instances) > 0
	return &all
}

// columns yields the columns that have labels of streams, with the index of their values.
func (*streamValues) columns(f *engine.Fields) iter.Seq2[int, columns.Name] {
	return func(yield func(int, columns.Name) bool) {
		_ = (!f.Level || yield(levelValues, columns.Name{Fixed: field.Level})) &&
			(!f.Source || yield(sourceValues, columns.Name{Fixed: field.Source})) &&
			(!f.Instance || yield(instanceValues, columns.Name{Fixed: field.Instance}))
	}
}

// size is the number of different values of a label.
func (v *streamValues) size(k int) int { return max(1, len(v[k])) }

// text is the i-th value of a label.
func (v *streamValues) text(k, i int) string {
	if v[k] == nil {
		return anyLabel
	}
	return string(v[k][i].Text)
}

// combinations returns the streams of a service for each combination of values, in the order in which the last label varies
// fastest; nil for one that a matcher rejects. It is not ok if there are too many.
func (s *streams) combinations(service string, v *streamValues) (all []*pipeline.Stream, ok bool) {
	if v.size(levelValues)*v.size(sourceValues)*v.size(instanceValues) > maxBlockStreams {
		return nil, false
	}
	for l := range v.size(levelValues) {
		level := record.None
		if v[levelValues] != nil {
			level = match.LevelOf(v[levelValues][l])
		}
		for src := range v.size(sourceValues) {
			for i := range v.size(instanceValues) {
				key := streamKey{service: service, instance: v.text(instanceValues, i), source: v.text(sourceValues, src), level: level}
				all = append(all, s.unread(key))
			}
		}
	}
	return all, true
}

// setStreams sets the streams of a block's records, and selects the records that matchers accept. It returns false if
// columns do not have the labels.
func (s *streams) setStreams(b *engine.FieldBlock, service string, cols match.Columns, f *engine.Fields) (ok bool) {
	var values streamValues
	var pages []*columns.Page
	for k, name := range values.columns(f) {
		page := cols.Page(name)
		if page == nil {
			return false
		}
		values[k], pages = page.Entries, append(pages, page)
	}
	if b.Streams, ok = s.combinations(service, &values); !ok {
		return false
	}
	if len(b.Streams) > 1 {
		b.StreamIDs = streamIDs(pages, b.Records)
	}
	if slices.Contains(b.Streams, nil) {
		b.Selected = selectStreams(b)
	}
	return true
}

// streamIDs are the combinations of the entries of pages that records have.
func streamIDs(pages []*columns.Page, records int) []uint8 {
	if len(pages) == 1 {
		return pages[0].IDs
	}
	ids := make([]uint8, records)
	for _, page := range pages {
		if page.IDs == nil {
			continue
		}
		n := uint8(len(page.Entries))
		for i, id := range page.IDs {
			ids[i] = ids[i]*n + id
		}
	}
	return ids
}

// selectStreams are the selected records of a block that have a stream.
func selectStreams(b *engine.FieldBlock) []bool {
	selected := make([]bool, b.Records)
	for i := range selected {
		id := 0
		if b.StreamIDs != nil {
			id = int(b.StreamIDs[i])
		}
		selected[i] = b.Streams[id] != nil && (b.Selected == nil || b.Selected[i])
	}
	return selected
}

// unread returns the stream of records of which some labels are not read, the same for each key; nil if a matcher rejects
// it.
func (s *streams) unread(key streamKey) *pipeline.Stream {
	stream, known := s.partial[key]
	if !known {
		if s.partial == nil || len(s.partial) >= maxStreams {
			s.partial = map[streamKey]*pipeline.Stream{}
		}
		if allMatch(s.instances, key.instance) && allMatch(s.ofSource, key.source) {
			stream = newStream(key)
		}
		s.partial[key] = stream
	}
	return stream
}
