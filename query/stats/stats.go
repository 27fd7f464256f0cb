// Package stats counts the records that a query selects, and computes functions of groups of them (package aggregate). It reads text only
// if metadata, footers and columns do not suffice.
package stats

import (
	"context"

	"logstow/internal/parallel"
	"logstow/query/fetch"
	"logstow/query/merge"
	"logstow/query/source"
)

// Count returns the number of matches of segments. It reads text only if metadata, footers and columns do not suffice.
func Count(ctx context.Context, s *merge.Scheduler, segments []*source.Segment) (n uint64) {
	s = s.WithColumns(nil)
	unread := make([]*source.Segment, 0, len(segments))
	for _, seg := range segments {
		if s.MetadataSuffices(seg) {
			n += s.Matcher.Levels.Count(seg.Meta.Levels)
			s.Recorder.ProcessedBytes(seg.Size)
		} else {
			unread = append(unread, seg)
		}
	}
	for count := range parallel.Ordered(ctx, s.BlockWindow(), s.Blocks(ctx, unread), (*fetch.Task).Weight, s.Count) {
		n += count
	}
	return n
}
