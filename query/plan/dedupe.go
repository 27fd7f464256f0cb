package plan

import (
	"cmp"

	"logstow/query/source"

	"logstow/blobnaming"
)

// copyKey identifies copies of a segment.
type copyKey struct {
	batch      blobnaming.Batch
	start, end int64
	records    uint64
	size       int64
}

// Dedupe keeps one of the copies of each segment and adds the others to its Copies. It reuses the memory of found.
func Dedupe(rec *source.Recorder, found []*source.Segment) []*source.Segment {
	first := make(map[copyKey]*source.Segment, len(found))
	batches := make(map[blobnaming.Batch]*source.Segment, len(found))
	kept := found[:0]
	for _, s := range found {
		key := copyKey{s.Meta.Batch, s.Meta.Start, s.Meta.End, s.Meta.Records, s.Size}
		if original := first[key]; original != nil {
			original.Copies = append(original.Copies, s)
			rec.SegmentsRepeated.Add(1)
			continue
		}
		if other := batches[s.Meta.Batch]; other != nil {
			rec.Note("%s and %s have the same batch but differ; both are read", other, s)
		}
		first[key] = s
		batches[s.Meta.Batch] = cmp.Or(batches[s.Meta.Batch], s)
		kept = append(kept, s)
	}
	return kept
}
