package plan

import (
	"slices"

	"logstow/query/source"

	"logstow/blobnaming"
	"logstow/catalog"
	"logstow/segment"
)

// Dedupe keeps one of the segments of each service and Batch and adds the others to its Copies. It reuses the memory of found. Of
// segments with the same Batch and different metadata, one at most is what it claims to be: certify, which reads their footers, tells
// which, and returns damage of the others. While it is unknown, because a footer cannot be read, Dedupe keeps each that may be the one.
func Dedupe(rec *source.Recorder, found []*source.Segment, certify func(*source.Segment) error) []*source.Segment {
	type key struct {
		service string
		blobnaming.Batch
	}
	keyOf := func(s *source.Segment) key { return key{s.Name.Service, s.Meta.Batch} }
	first := make(map[key]*source.Segment, len(found))
	differing := make(map[key][]*source.Segment) // including the first
	for _, s := range found {
		k := keyOf(s)
		switch one := first[k]; {
		case one == nil:
			first[k] = s
		case differing[k] != nil:
			differing[k] = append(differing[k], s)
		case !equal(one, s):
			differing[k] = append(append([]*source.Segment{one}, one.Copies...), s)
			one.Copies = nil
		default:
			one.Copies = append(one.Copies, s)
		}
	}
	resolved := make(map[*source.Segment]bool)
	for _, twins := range differing {
		for _, s := range resolve(rec, twins, certify) {
			resolved[s] = true
		}
	}
	kept := found[:0]
	for _, s := range found {
		k := keyOf(s)
		if differing[k] == nil && first[k] == s || resolved[s] {
			kept = append(kept, s)
		} else {
			rec.SegmentsRepeated.Add(1)
		}
	}
	return kept
}

// equal reports whether two segments of a Batch are the same one according to their metadata.
func equal(a, b *source.Segment) bool { return a.Meta == b.Meta && a.Size == b.Size }

// resolve returns the segments of a Batch that may count: the first that is certified, in the order in which they are tried; without one
// those whose footers cannot be read, for example because compaction has removed them; without one the first. Those that are equal to
// one of them are its copies.
func resolve(rec *source.Recorder, twins []*source.Segment, certify func(*source.Segment) error) []*source.Segment {
	slices.SortStableFunc(twins, func(a, b *source.Segment) int { return catalog.CompareTwins(a.Entry(), b.Entry()) })
	var count []*source.Segment
	for _, s := range twins {
		err := certify(s)
		if err == nil {
			count = []*source.Segment{s}
			break
		}
		if !segment.IsDamage(err) && !slices.ContainsFunc(count, func(other *source.Segment) bool { return equal(s, other) }) {
			count = append(count, s)
		}
	}
	if len(count) == 0 {
		count = twins[:1]
	}
	for _, s := range twins {
		switch at := slices.IndexFunc(count, func(one *source.Segment) bool { return equal(s, one) }); {
		case at < 0:
			rec.Note("%s has the Batch of %s and differs from it: it is not read; shipper verify --deep tells which one was changed",
				s, count[0])
		case count[at] != s:
			count[at].Copies = append(count[at].Copies, s)
		}
	}
	return count
}
