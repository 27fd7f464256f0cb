// Package plan finds the segments that a query has to read, by listing blobs by name prefix or from the table index, and prunes them
// by their metadata.
//
// Copies of a segment are read once: those with the same Batch.
package plan

import (
	"sync"
	"time"

	"logstow/query/explain"
	"logstow/query/match"
	"logstow/query/source"
)

// Planner finds the segments that may contain matches. Safe for concurrent use.
type Planner struct {
	Matcher  *match.Matcher
	Stores   []source.Store
	Recorder *source.Recorder
	Findings *explain.Findings
	// Indexed plans by the table index; otherwise blobs are listed.
	Indexed bool
	// Since excludes outputs of compaction, and segments stored earlier; nil excludes none.
	Since *time.Time
}

// segments collects the segments found. Safe for concurrent use.
type segments struct {
	mu  sync.Mutex
	all []*source.Segment
	// latest is the latest time at which storage wrote a listed blob of the range.
	latest time.Time
	// down are the stores that are unavailable, so that their other services are not tried.
	down map[*source.Store]bool
}

func (s *segments) isDown(at *source.Store) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down[at]
}

// setDown notes that a store is unavailable; first reports whether that is new.
func (s *segments) setDown(at *source.Store) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down == nil {
		s.down = make(map[*source.Store]bool)
	}
	first = !s.down[at]
	s.down[at] = true
	return first
}
