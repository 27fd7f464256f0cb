// Package follow finds what is new in storage, poll by poll: the segments that were not read yet.
//
// Segments are identified by their batch. An output of compaction is read without the inputs that were read before.
package follow

import (
	"context"
	"time"

	"logstow/blobnaming"
	"logstow/query"
)

const (
	// DefaultInterval is the default interval between polls.
	DefaultInterval = 2 * time.Second
	// WatchedInterval is the default interval between polls while shippers respond to watches.
	WatchedInterval = time.Second
	// MinInterval is the minimum interval between polls.
	MinInterval = 100 * time.Millisecond
	// DefaultWindow is the default age up to which a poll looks for new segments: records that arrive later are not found.
	DefaultWindow = 2 * time.Hour
)

// End is the end of the range of a poll at now: at least an hour ahead, for clocks that are ahead, and the end of an hour, which
// no segment crosses. A wider range would cost each poll many more requests.
func End(now time.Time) time.Time { return now.Truncate(time.Hour).Add(2 * time.Hour) }

// Follower is what was read by earlier polls, whose ranges do not begin earlier from poll to poll. The zero value has read nothing.
// It is for one goroutine.
type Follower struct {
	// Keep is how much longer batches are remembered than polls may find them.
	Keep time.Duration
	// seen are the batches that were read, with the last time of their records.
	seen map[blobnaming.Batch]int64
	// inputs are the batches that each output of compaction contains, by the output's.
	inputs map[blobnaming.Batch]inputs
	// fresh are the segments to read of the poll under way, emitted the batches of which it emitted records.
	fresh   []*query.Segment
	emitted map[blobnaming.Batch]bool
}

// inputs are those of an output of compaction.
type inputs struct {
	batches []blobnaming.Batch
	end     int64
}

// Unread begins a poll with the plan of a query, and returns what of it was not read yet.
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

// forget removes what no later poll finds: segments that end before the range. A segment in the range may be missing from a listing
// and be in the next.
func (f *Follower) forget(from int64) {
	for batch, end := range f.seen {
		if end < from {
			delete(f.seen, batch)
		}
	}
	for batch, in := range f.inputs {
		if in.end < from {
			delete(f.inputs, batch)
		}
	}
}

// Seen reports whether a segment was read, or is known to need no reading, as long as it is remembered.
func (f *Follower) Seen(s *query.Segment) bool {
	_, seen := f.seen[s.Meta.Batch]
	return seen
}

// Emitted notes that a record of a segment was emitted: the segment of a [query.Match].
func (f *Follower) Emitted(s *query.Segment) { f.emitted[s.Meta.Batch] = true }

// Done ends a poll: what Unread returned was read, with the given report. A segment that could not be read, but may be later, is read by
// the next poll, except for the batches of which records were emitted.
func (f *Follower) Done(report *query.Report) {
	if f.seen == nil {
		f.seen = map[blobnaming.Batch]int64{}
	}
	for _, s := range f.fresh {
		again := report.Retryable(s)
		for i, batch := range f.batches(s) {
			if !s.Excluded[i] && (!again || f.emitted[batch]) {
				f.seen[batch] = max(f.seen[batch], s.Meta.End)
			}
		}
	}
	f.fresh, f.emitted = nil, nil
}

// unread is what of a segment was not read yet, nil if that is nothing.
func (f *Follower) unread(ctx context.Context, q *query.Query, s *query.Segment) *query.Segment {
	if _, known := f.inputs[s.Meta.Batch]; s.Meta.IsOutput() && !known {
		batches := q.Inputs(ctx, s)
		if len(batches) == 0 { // a problem of the report; the next poll tries again
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
	}
	return s
}

// batches are those that identify what a segment contains: its inputs' if it is an output of compaction.
func (f *Follower) batches(s *query.Segment) []blobnaming.Batch {
	if s.Meta.IsOutput() {
		return f.inputs[s.Meta.Batch].batches
	}
	return []blobnaming.Batch{s.Meta.Batch}
}
