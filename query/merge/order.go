package merge

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"logstow/query/fetch"
	"logstow/query/source"
)

// key places a record in the output: by time, then by the segment that it was written in, and
// block. The records of one block come in their own order.
type key struct {
	time int64
	// edge is -1 before all records of a time, 1 after them, and 0 of a record.
	edge   int
	origin *source.Segment // nil at an edge
	block  int             // of the segment that is read
}

func (k key) compare(o key) int {
	if c := cmp.Or(cmp.Compare(k.time, o.time), cmp.Compare(k.edge, o.edge)); c != 0 || k.edge != 0 {
		return c
	}
	return cmp.Or(source.Compare(k.origin, o.origin), cmp.Compare(k.block, o.block))
}

// AppendPosition appends bytes that order records of the same time as the output does, the oldest first: those
// of the position-th record of a block, which was written in origin.
func AppendPosition(dst []byte, origin *source.Segment, block int, position uint64) []byte {
	dst = append(append(dst, origin.Meta.Instance...), 0)
	dst = binary.BigEndian.AppendUint64(dst, uint64(origin.Meta.Seq)^1<<63)
	dst = append(append(dst, origin.Name.Service...), 0)
	dst = binary.BigEndian.AppendUint64(dst, uint64(origin.Name.Bucket.Unix())^1<<63)
	dst = binary.BigEndian.AppendUint64(dst, origin.Name.Number)
	dst = append(append(dst, origin.Store...), 0)
	dst = binary.BigEndian.AppendUint32(dst, uint32(block))
	return binary.BigEndian.AppendUint64(dst, position)
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
		return last(t.Block.End, t.Segment, t.Block.Index)
	}
	return first(t.Block.Start, t.Segment, t.Block.Index)
}

// segmentStart is a key that no record of a segment is before.
func (o Order) segmentStart(s *source.Segment) key {
	if o.Newest {
		return last(s.Meta.End, s, math.MaxInt)
	}
	return first(s.Meta.Start, s, 0)
}

// segmentEnd is a key that no record of a segment is after.
func (o Order) segmentEnd(s *source.Segment) key {
	if o.Newest {
		return first(s.Meta.Start, s, 0)
	}
	return last(s.Meta.End, s, math.MaxInt)
}

// first is a key that no record of a block that starts at a time is before. The inputs of an
// output are anywhere in the order of segments.
func first(time int64, s *source.Segment, block int) key {
	if s.Meta.IsOutput() {
		return key{time: time, edge: -1}
	}
	return key{time: time, origin: s, block: block}
}

// last is a key that no record of a block that ends at a time is after.
func last(time int64, s *source.Segment, block int) key {
	if s.Meta.IsOutput() {
		return key{time: time, edge: 1}
	}
	return key{time: time, origin: s, block: block}
}

// sort sorts segments by a key of theirs.
func (o Order) sort(segments []*source.Segment, by func(*source.Segment) key) {
	slices.SortStableFunc(segments, func(a, b *source.Segment) int {
		c := by(a).compare(by(b))
		if o.Newest {
			return -c
		}
		return c
	})
}
