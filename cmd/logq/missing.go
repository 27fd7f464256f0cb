package main

import (
	"logstow/field"
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

// missingOrder is the field that records are sorted by, if the first of them does not have it: then none
// has, as those without it are last.
func (r *request) missingOrder(q *query.Query, first *query.Match) []string {
	name, ok := r.sort.Field()
	if !ok {
		return nil
	}
	splitter := q.Parser(first.Segment).Splitter(name)
	splitter.Split(record.AppendMessage(nil, first.Message()))
	if k := splitter.Value(0).Kind; k != field.Missing {
		return nil
	}
	return []string{name}
}

// unseen are the fields of the message that no record of a table has.
func unseen(t *query.Table) (names []string) {
	for _, f := range t.Unseen {
		names = append(names, f.Field)
	}
	return names
}
