package query

import (
	"context"
	"slices"

	"logstow/blobnaming"
)

// dropReplaced leaves out the segments that others contain.
func (f *fetcher) dropReplaced(ctx context.Context, segments []*Segment) []*Segment {
	contained := map[blobnaming.Batch]bool{}
	for _, s := range segments {
		if !s.Meta.Replaces {
			continue
		}
		// Where the footer can not be read, opening the segment later says so.
		if footer, _, err := f.footer(ctx, s, 0); err == nil {
			for _, batch := range footer.ReplacesBatches {
				contained[batch] = batch != s.Meta.Batch
			}
		}
	}
	return slices.DeleteFunc(segments, func(s *Segment) bool {
		if contained[s.Meta.Batch] {
			f.rec.SegmentsRepeated.Add(1)
		}
		return contained[s.Meta.Batch]
	})
}
