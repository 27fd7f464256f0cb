package main

import (
	"slices"

	"logstow/field"
	"logstow/query"
)

// noteMissing notes fields that occur in nothing that was read: of those named, whose columns are empty, and
// of --where.
func (r *request) noteMissing(q *query.Query, named []string) {
	for _, reason := range q.MissingFields(named) {
		r.notes = append(r.notes, reason.Text)
	}
}

// emptyFields are the fields of --by that no record counted has.
func emptyFields(s *query.Stats) (names []string) {
	for i, item := range s.By {
		if n, err := field.ParseName(item); err == nil && n.IsField() && !slices.ContainsFunc(s.Rows, func(row query.Row) bool { return row.Key[i] != "-" }) {
			names = append(names, n.Field)
		}
	}
	return names
}
