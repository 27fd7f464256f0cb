package plan

import (
	"slices"

	"logstow/query/source"

	"logstow/blobnaming"
)

// isCopy reports whether two segments of a batch are copies.
func isCopy(a, b *source.Segment) bool {
	return a.Meta.Start == b.Meta.Start && a.Meta.End == b.Meta.End && a.Meta.Records == b.Meta.Records && a.Size == b.Size
}

// Dedupe keeps one of the copies of each segment and adds the others to its Copies. It reuses the memory of found.
func Dedupe(rec *source.Recorder, found []*source.Segment) []*source.Segment {
	batches := make(map[blobnaming.Batch]*source.Segment, len(found))
	differing := make(map[blobnaming.Batch][]*source.Segment) // from the first one that they differ from
	kept := found[:0]
	for _, s := range found {
		batch := s.Meta.Batch
		first := batches[batch]
		original := first
		if first != nil && !isCopy(first, s) {
			original = nil
			if i := slices.IndexFunc(differing[batch], func(other *source.Segment) bool { return isCopy(other, s) }); i >= 0 {
				original = differing[batch][i]
			}
		}
		switch {
		case original != nil:
			original.Copies = append(original.Copies, s)
			rec.SegmentsRepeated.Add(1)
			continue
		case first != nil:
			rec.Note("%s and %s have the same batch but differ; both are read", first, s)
			differing[batch] = append(differing[batch], s)
		default:
			batches[batch] = s
		}
		kept = append(kept, s)
	}
	return kept
}
