package plan

import (
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

func keyOf(s *source.Segment) copyKey {
	return copyKey{s.Meta.Batch, s.Meta.Start, s.Meta.End, s.Meta.Records, s.Size}
}

// Dedupe keeps one of the copies of each segment and adds the others to its Copies. It reuses the memory of found.
func Dedupe(rec *source.Recorder, found []*source.Segment) []*source.Segment {
	first := make(map[blobnaming.Batch]*source.Segment, len(found))
	differing := make(map[copyKey]*source.Segment) // from the first one of their batch
	kept := found[:0]
	for _, s := range found {
		original := first[s.Meta.Batch]
		switch key := keyOf(s); {
		case original == nil:
			first[s.Meta.Batch] = s
		case keyOf(original) != key:
			if differing[key] == nil {
				rec.Note("%s and %s have the same batch but differ; both are read", original, s)
				differing[key], original = s, nil
			} else {
				original = differing[key]
			}
		}
		if original != nil {
			original.Copies = append(original.Copies, s)
			rec.SegmentsRepeated.Add(1)
			continue
		}
		kept = append(kept, s)
	}
	return kept
}
