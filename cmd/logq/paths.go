package main

import (
	"context"
	"errors"

	"logstow/internal/hint"
	"logstow/query"
	"logstow/store"
)

// tierArchive is the tier whose blobs cannot be read before they are moved to another one.
const tierArchive store.Tier = "Archive"

// locations has the location of each store by its name.
type locations map[string]store.Location

func locationsOf(stores []query.Store) locations {
	all := make(locations, len(stores))
	for _, s := range stores {
		all[s.Name] = s.Location
	}
	return all
}

// path returns the path or URL of a segment.
func (l locations) path(s *query.Segment) string {
	if s.Meta.IsOutput() {
		return l[s.Store].Compacted + "/" + s.String()
	}
	return l[s.Store].Raw + "/" + s.String()
}

// isRepeated reports whether all records of a segment are read from others, as those of an output in a copy of a store.
func isRepeated(ctx context.Context, q *query.Query, s *query.Segment) bool {
	return len(s.Excluded) > 0 && len(s.Excluded) == len(q.Inputs(ctx, s))
}

// unreadableByOthers returns why a program that reads a whole segment of one of a number of stores as the text that the format
// describes would not get its records, or get records twice; nil if it gets each once.
func unreadableByOthers(s *query.Segment, stores int) error {
	switch {
	case s.Foreign:
		return hint.Wrap(errors.New("left out: another program wrote it, in a format of its own"), "print its records with logq query")
	case s.Tier == tierArchive:
		return hint.Wrap(errors.New("left out: it is in the archive tier"), "change its tier to hot or cool and wait until it is there")
	case len(s.Excluded) > 0 && stores > 1:
		return hint.Wrap(errors.New("left out: another store has a part of its records, too"), "name one store at a time")
	case len(s.Excluded) > 0:
		return hint.Wrap(errors.New("left out: another segment has a part of its records, too"),
			"print its records with logq query, and look at it with shipper verify --deep")
	}
	return nil
}

func pathsOf(rows []segmentRow) []string {
	paths := make([]string, len(rows))
	for i := range rows {
		paths[i] = rows[i].Path
	}
	return paths
}
