// Package plan finds the segments that a query has to read, by listing blobs by name
// prefix or from the table index, pruned by their metadata.
//
// A segment stored twice is read once: segments whose Batch, times, number of records
// and length are all equal are copies. Segments of which only the Batch is equal are both
// read, and the report notes it.
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

// Planner finds the segments that may contain matches. Its fields do not change; it is safe
// for concurrent use.
type Planner struct {
	Matcher  *match.Matcher
	Stores   []source.Store
	Recorder *source.Recorder
	Findings *explain.Findings
	// Indexed plans by the table index; otherwise blobs are listed.
	Indexed bool
	// Since leaves out outputs of compaction, and segments that storage wrote earlier; nil leaves out none.
	Since *time.Time
}

// segments are those found so far; safe for concurrent use.
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

	down     atomic.Bool // storage is unavailable: the rest is not tried
	mu       sync.Mutex
	failures []error
}

// fail notes a failure, unless ctx ended.
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

// report makes the failures problems. If everything failed, only the first is reported.
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
	otherBlobs     int    // blobs that are not named as segments
	otherBlob      string // the first of them
	// outputs are the names of outputs and rejections that were listed.
	outputs map[string]bool
	// rejected are outputs that readers ignore.
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
