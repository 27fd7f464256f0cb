package query

import (
	"cmp"
	"context"
	"slices"

	"logstow/blobnaming"
)

// copyKey is what copies of a segment have in common.
type copyKey struct {
	batch      blobnaming.Batch
	start, end int64
	records    uint64
	size       int64
}

// dedupe keeps one of each segment's copies and hangs the others on it.
func (q *Query) dedupe(found []*Segment) []*Segment {
	first := make(map[copyKey]*Segment, len(found))
	batches := make(map[blobnaming.Batch]*Segment, len(found))
	kept := found[:0]
	for _, s := range found {
		key := copyKey{s.Meta.Batch, s.Meta.Start, s.Meta.End, s.Meta.Records, s.Size}
		if original := first[key]; original != nil {
			original.copies = append(original.copies, s)
			q.tally.repeated.Add(1)
			continue
		}
		if other := batches[s.Meta.Batch]; other != nil {
			q.tally.note("%s and %s have the same batch but differ; both are read", other, s)
		}
		first[key] = s
		batches[s.Meta.Batch] = cmp.Or(batches[s.Meta.Batch], s)
		kept = append(kept, s)
	}
	return kept
}

// dropReplaced leaves out the segments that others contain.
func (q *Query) dropReplaced(ctx context.Context, segments []*Segment) []*Segment {
	contained := map[blobnaming.Batch]bool{}
	for _, s := range segments {
		if !s.Meta.Replaces {
			continue
		}
		// Where the footer can not be read, opening the segment later says so.
		if footer, _, err := q.footer(ctx, s, 0); err == nil {
			for _, batch := range footer.ReplacesBatches {
				contained[batch] = batch != s.Meta.Batch
			}
		}
	}
	return slices.DeleteFunc(segments, func(s *Segment) bool {
		if contained[s.Meta.Batch] {
			q.tally.repeated.Add(1)
		}
		return contained[s.Meta.Batch]
	})
}
