package fetch

import (
	"context"
	"slices"

	"logstow/query/source"

	"logstow/blobnaming"
)

// DropReplaced removes the segments that others contain.
func (f *Fetcher) DropReplaced(ctx context.Context, segments []*source.Segment) []*source.Segment {
	contained := map[blobnaming.Batch]bool{}
	for _, s := range segments {
		if !s.Meta.Replaces {
			continue
		}
		// If the footer cannot be read, opening the segment later reports it.
		if c, err := f.footer(ctx, s, 0); err == nil {
			for _, batch := range c.footer.ReplacesBatches {
				contained[batch] = batch != s.Meta.Batch
			}
		}
	}
	return slices.DeleteFunc(segments, func(s *source.Segment) bool {
		if contained[s.Meta.Batch] {
			f.Recorder.SegmentsRepeated.Add(1)
		}
		return contained[s.Meta.Batch]
	})
}
