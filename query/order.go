package query

import (
	"cmp"
	"math"
	"slices"
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

// order is the output order.
type order struct {
	// newest reverses it: the newest record comes first.
	newest bool
}

// before reports whether a comes before b in the output.
func (o order) before(a, b key) bool {
	if o.newest {
		return b.compare(a) < 0
	}
	return a.compare(b) < 0
}

// start is a key that no record of a task's block is before.
func (o order) start(t *task) key {
	if o.newest {
		return key{t.block.End, t.segment.rank, t.block.Index}
	}
	return key{t.block.Start, t.segment.rank, t.block.Index}
}

// segmentStart is a key that no record of a segment is before.
func (o order) segmentStart(s *Segment) key {
	if o.newest {
		return key{s.Meta.End, s.rank, math.MaxInt}
	}
	return key{s.Meta.Start, s.rank, 0}
}

// segmentEnd is a key that no record of a segment is after.
func (o order) segmentEnd(s *Segment) key {
	if o.newest {
		return key{s.Meta.Start, s.rank, 0}
	}
	return key{s.Meta.End, s.rank, math.MaxInt}
}

// sort sorts segments by a key of theirs.
func (o order) sort(segments []*Segment, by func(*Segment) key) {
	slices.SortFunc(segments, func(a, b *Segment) int {
		if o.before(by(a), by(b)) {
			return -1
		}
		return 1
	})
}
