package main

import (
	"slices"

	"logstow/field"
	"logstow/field/parse"
	"logstow/query"
	"logstow/record"
)

// noteMissing notes fields that occur in nothing that was read: of those named, whose columns are empty, and
// of --where.
func (r *request) noteMissing(q *query.Query, named []string) {
	for _, reason := range q.MissingFields(named) {
		r.notes = append(r.notes, reason.Text)
	}
}

// maxLooked is the number of records that are examined for a field that none of them has.
const maxLooked = 1000

// unseenFields are the fields of --fields that no printed record had so far.
type unseenFields struct {
	query    *query.Query
	fields   []string
	looked   int
	segment  *query.Segment
	splitter *parse.Splitter
	message  []byte
}

func newUnseenFields(q *query.Query, r *request) *unseenFields {
	u := &unseenFields{query: q}
	for _, item := range r.output.Fields {
		if n, err := field.ParseName(item); err == nil && n.IsField() && !r.count {
			u.fields = append(u.fields, n.Field)
		}
	}
	if r.sort != nil && !r.count {
		for _, name := range r.sort.Fields() {
			if !slices.Contains(u.fields, name) {
				u.fields = append(u.fields, name)
			}
		}
	}
	return u
}

// look removes the fields that a record has.
func (u *unseenFields) look(m *query.Match) {
	if len(u.fields) == 0 || u.looked == maxLooked {
		return
	}
	u.looked++
	if u.segment != m.Segment {
		u.segment, u.splitter = m.Segment, u.query.Parser(m.Segment).Splitter(u.fields...)
	}
	u.message = record.AppendMessage(u.message[:0], m.Message())
	u.splitter.Split(u.message)
	var left []string
	for i, name := range u.fields {
		if u.splitter.Value(i).Kind == field.Missing {
			left = append(left, name)
		}
	}
	if len(left) < len(u.fields) {
		u.fields, u.segment = left, nil
	}
}

func (u *unseenFields) names() []string { return u.fields }

// unseen are the fields of the message that no record of a table has.
func unseen(t *query.Table) (names []string) {
	for _, f := range t.Unseen {
		names = append(names, f.Name)
	}
	return names
}
