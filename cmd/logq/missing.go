package main

import (
	"logstow/message"
	"logstow/query"
	"logstow/record"
)

// noteMissing notes fields that do not occur in the records read: fields in named, whose columns are empty, and
// fields of --where.
func (r *request) noteMissing(q *query.Query, named []string) {
	for _, reason := range q.MissingFields(named) {
		r.notef("%s", reason.Text)
	}
}

// missingOrder returns the field that records are sorted by if the first one does not have it: then none has, because
// records without the field are last.
func (r *request) missingOrder(q *query.Query, first *query.Match) []string {
	name, ok := r.sort.Field()
	if !ok {
		return nil
	}
	splitter := q.Parser(first.Segment).Splitter(name)
	splitter.Split(record.AppendMessage(nil, first.Message()))
	if k := splitter.Value(0).Kind; k != message.Missing {
		return nil
	}
	return []string{name}
}

// unseen returns the fields of the message that no record of a table has.
func unseen(t *query.Table) (names []string) {
	for _, f := range t.Unseen {
		names = append(names, f.Field)
	}
	return names
}
