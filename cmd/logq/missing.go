package main

import "logstow/query"

// noteMissing notes fields that occur in nothing that was read: of those named, whose columns are empty, and
// of --where.
func (r *request) noteMissing(q *query.Query, named []string) {
	for _, reason := range q.MissingFields(named) {
		r.notes = append(r.notes, reason.Text)
	}
}

// unseen are the fields of the message that no record of a table has.
func unseen(t *query.Table) (names []string) {
	for _, f := range t.Unseen {
		names = append(names, f.Field)
	}
	return names
}
