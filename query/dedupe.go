package query

import (
	"cmp"

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
func dedupe(rec *Recorder, found []*Segment) []*Segment {
	first := make(map[copyKey]*Segment, len(found))
	batches := make(map[blobnaming.Batch]*Segment, len(found))
	kept := found[:0]
	for _, s := range found {
		key := copyKey{s.Meta.Batch, s.Meta.Start, s.Meta.End, s.Meta.Records, s.Size}
		if original := first[key]; original != nil {
			original.copies = append(original.copies, s)
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
