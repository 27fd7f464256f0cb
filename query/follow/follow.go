// Package follow polls storage for new segments: those that earlier polls have not read.
//
// Segments are identified by their batch. An output of compaction is read without the inputs that earlier polls have read.
package follow

import (
	"context"
	"slices"
	"time"

	"logstow/blobnaming"
	"logstow/query"
	"logstow/store"
)

const (
	// DefaultInterval is the default interval between polls.
	DefaultInterval = 2 * time.Second
	// WatchedInterval is the default interval between polls while shippers respond to watches.
	WatchedInterval = time.Second
	// MinInterval is the minimum interval between polls.
	MinInterval = 100 * time.Millisecond
	// DefaultWindow is the default age of the oldest records that a poll finds. Records that are stored later than that are
	// missed.
	DefaultWindow = 2 * time.Hour
)

// End returns the end of the range of a poll at now. It is at least an hour ahead, for clocks that are ahead, and the end of an hour,
// which no segment crosses. A wider range would take many more requests for each poll.
func End(now time.Time) time.Time { return now.Truncate(time.Hour).Add(2 * time.Hour) }

// Follower tracks the segments that earlier polls have read. The start of the range must not decrease from poll to poll. The zero value
// has read nothing. Not safe for concurrent use.
type Follower struct {
	// Keep is the additional time for which batches are remembered after the range has passed them.
	Keep time.Duration
	// seen are the batches that have been read, with the time of their last record.
	seen map[blobnaming.Batch]int64
	// inputs are the inputs of each output of compaction, by its batch.
	inputs map[blobnaming.Batch]inputs
	// failed are the blobs of plain segments that are damaged, with the time of their last record. Their batches are not read: a blob may
	// claim the batch of another that is stored later.
	failed map[blob]int64
	// fresh are the segments that the current poll reads, emitted the batches of which it has emitted records.
	fresh   []*query.Segment
	emitted map[blobnaming.Batch]bool
}

// blob identifies a blob.
type blob struct {
	store string
	store.BlobRef
}

func blobOf(s *query.Segment) blob { return blob{s.Store, s.Ref()} }

// inputs are the inputs of an output of compaction.
type inputs struct {
	batches []blobnaming.Batch
	end     int64
}

// Unread starts a poll with the plan of a query, and returns the part of the plan that has not been read. The caller reads it and then
// calls Done.
func (f *Follower) Unread(ctx context.Context, q *query.Query, p *query.Plan) *query.Plan {
	f.forget(q.From() - int64(f.Keep))
	f.fresh, f.emitted = nil, map[blobnaming.Batch]bool{}
	for _, s := range p.Segments {
		if unread := f.unread(ctx, q, s); unread != nil {
			f.fresh = append(f.fresh, unread)
		}
	}
	return &query.Plan{Segments: f.fresh}
}

// forget removes the segments that end before from, which no later poll finds. It keeps all others, because a segment may be missing
// from one listing and present in the next.
func (f *Follower) forget(from int64) {
	for batch, end := range f.seen {
		if end < from {
			delete(f.seen, batch)
		}
	}
	for b, end := range f.failed {
		if end < from {
			delete(f.failed, b)
		}
	}
	for batch, in := range f.inputs {
		if in.end < from {
			delete(f.inputs, batch)
		}
	}
}

// Seen reports whether a segment is remembered as read.
func (f *Follower) Seen(s *query.Segment) bool {
	_, seen := f.seen[s.Meta.Batch]
	return seen
}

// Emitted records that a record of a segment, that of a [query.Match], was emitted.
func (f *Follower) Emitted(s *query.Segment) { f.emitted[s.Meta.Batch] = true }

// Done ends a poll after the caller has read the result of Unread, with the given report. The next poll reads segments again that failed
// and may be readable later, except for batches of which records were emitted; and other copies of segments that are damaged.
func (f *Follower) Done(report *query.Report) {
	if f.seen == nil {
		f.seen = map[blobnaming.Batch]int64{}
	}
	for _, s := range f.fresh {
		again := report.Retryable(s)
		if !again && !s.Meta.IsOutput() && report.Failed(s) && !f.emitted[s.Meta.Batch] {
			if f.failed == nil {
				f.failed = map[blob]int64{}
			}
			for _, one := range append([]*query.Segment{s}, s.Copies...) {
				f.failed[blobOf(one)] = s.Meta.End
			}
			continue
		}
		for i, batch := range f.batches(s) {
			if !s.Excluded[i] && (!again || f.emitted[batch]) {
				f.seen[batch] = max(f.seen[batch], s.Meta.End)
			}
		}
	}
	f.fresh, f.emitted = nil, nil
}

// unread returns the part of a segment that has not been read, nil if there is none.
func (f *Follower) unread(ctx context.Context, q *query.Query, s *query.Segment) *query.Segment {
	if _, known := f.inputs[s.Meta.Batch]; s.Meta.IsOutput() && !known {
		batches := q.Inputs(ctx, s)
		if len(batches) == 0 { // the report has a problem, and the next poll tries again
			return nil
		}
		if f.inputs == nil {
			f.inputs = map[blobnaming.Batch]inputs{}
		}
		f.inputs[s.Meta.Batch] = inputs{batches, s.Meta.End}
	}
	batches := f.batches(s)
	read := make(map[int]bool)
	for i, batch := range batches {
		if _, seen := f.seen[batch]; seen {
			read[i] = true
		}
	}
	switch {
	case len(read) == len(batches):
		return nil
	case s.Meta.IsOutput():
		return s.Without(read)
	case !slices.ContainsFunc(append([]*query.Segment{s}, s.Copies...), func(one *query.Segment) bool {
		_, failed := f.failed[blobOf(one)]
		return !failed
	}):
		return nil
	}
	return s
}

// batches returns the batches that a segment contains: those of its inputs if it is an output of compaction, otherwise its own.
func (f *Follower) batches(s *query.Segment) []blobnaming.Batch {
	if s.Meta.IsOutput() {
		return f.inputs[s.Meta.Batch].batches
	}
	return []blobnaming.Batch{s.Meta.Batch}
}
