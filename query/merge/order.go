package merge

import (
	"cmp"
	"math"
	"slices"

	"logstow/query/fetch"
	"logstow/query/source"
)

// key places a record in the output: by time, then by segment and block. The
// records of one block come in their own order.
type key struct {
	time  int64
	rank  int // of the segment
	block int
}

func (k key) compare(o key) int {
	return cmp.Or(cmp.Compare(k.time, o.time), cmp.Compare(k.rank, o.rank), cmp.Compare(k.block, o.block))
}

// Order is the output order.
type Order struct {
	// Newest reverses it: the newest record comes first.
	Newest bool
}

// before reports whether a comes before b in the output.
func (o Order) before(a, b key) bool {
	if o.Newest {
		return b.compare(a) < 0
	}
	return a.compare(b) < 0
}

// start is a key that no record of a task's block is before.
func (o Order) start(t *fetch.Task) key {
	if o.Newest {
		return key{t.Block.End, t.Segment.Rank, t.Block.Index}
	}
	return key{t.Block.Start, t.Segment.Rank, t.Block.Index}
}

// segmentStart is a key that no record of a segment is before.
func (o Order) segmentStart(s *source.Segment) key {
	if o.Newest {
		return key{s.Meta.End, s.Rank, math.MaxInt}
	}
	return key{s.Meta.Start, s.Rank, 0}
}

// segmentEnd is a key that no record of a segment is after.
func (o Order) segmentEnd(s *source.Segment) key {
	if o.Newest {
		return key{s.Meta.Start, s.Rank, 0}
	}
	return key{s.Meta.End, s.Rank, math.MaxInt}
}

// sort sorts segments by a key of theirs.
func (o Order) sort(segments []*source.Segment, by func(*source.Segment) key) {
	slices.SortFunc(segments, func(a, b *source.Segment) int {
		if o.before(by(a), by(b)) {
			return -1
		}
		return 1
	})
}
