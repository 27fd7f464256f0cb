// Package plan finds the segments that a query has to read, by listing blobs by name prefix or from the table index, and prunes them
// by their metadata.
//
// Copies of a segment are read once: segments with the same Batch, times, number of records and size. If segments have the same Batch
// but differ otherwise, both are read, with a note in the report.
package plan

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"logstow/query/explain"
	"logstow/query/match"
	"logstow/query/source"

	"logstow/blobnaming"
	"logstow/store"
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
}

// A listing is the search for one service in one store.
type listing struct {
	store    *source.Store
	found    *segments
	service  string
	prefixes []string

	down     atomic.Bool // storage is unavailable, so other prefixes are not tried
	mu       sync.Mutex
	failures []error
}

// fail adds a failure. It returns an error only if ctx has ended.
func (l *listing) fail(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if store.Retryable(err) {
		l.down.Store(true)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = append(l.failures, err)
	return nil
}

// report records the failures as problems. If storage is unavailable or every prefix failed, it records only the first.
func (l *listing) report(rec *source.Recorder) {
	failures := l.failures
	if len(failures) > 1 && (l.down.Load() || len(failures) == len(l.prefixes)) {
		failures = failures[:1]
	}
	for _, err := range failures {
		rec.Problem(&source.Problem{Store: l.store.Name, Object: l.store.Name + ": " + l.service, Err: err})
	}
}

// listResult is the result of one listing.
type listResult struct {
	segments       []*source.Segment
	latest         time.Time
	listed, pruned int64
	findings       explain.Listed
	problems       []*source.Problem
	otherBlobs     int    // number of blobs that are not named like segments
	otherBlob      string // the name of the first one
	// outputs are the names of listed outputs and rejections.
	outputs map[string]bool
	// rejected are the outputs that readers ignore.
	rejected map[blobnaming.Name]bool
}

func (h *listResult) addOutput(name string) {
	if h.outputs == nil {
		h.outputs = make(map[string]bool)
	}
	h.outputs[name] = true
}

func (h *listResult) reject(output blobnaming.Name) {
	if h.rejected == nil {
		h.rejected = make(map[blobnaming.Name]bool)
	}
	h.rejected[output] = true
}
