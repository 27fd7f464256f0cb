package merge

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"logstow/query/fetch"
	"logstow/query/source"
)

// key is the position of a record in the output: time, segment in which it was written, block. Records of one block keep their
// order.
type key struct {
	time int64
	// edge is 0 for a record, -1 for the position before all records of the time, 1 for the position after them.
	edge   int
	origin *source.Segment // nil unless edge is 0
	block  int             // index of the block in the segment that is read
}

func (k key) compare(o key) int {
	if c := cmp.Or(cmp.Compare(k.time, o.time), cmp.Compare(k.edge, o.edge)); c != 0 || k.edge != 0 {
		return c
	}
	return cmp.Or(source.Compare(k.origin, o.origin), cmp.Compare(k.block, o.block))
}

// AppendPosition appends a sort key for a record: bytes that order records of equal time as the output does, the oldest first. The
// record was written in origin and has an index, position, in its block.
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

// compare compares positions in the output.
func (o Order) compare(a, b key) int {
	if o.Newest {
		a, b = b, a
	}
	return a.compare(b)
}

// before reports whether a comes before b in the output.
func (o Order) before(a, b key) bool { return o.compare(a, b) < 0 }

// start returns a key that is not after any record of a task's block, in output order.
func (o Order) start(t *fetch.Task) key {
	if o.Newest {
		return last(t.Block.End, t.Segment, t.Block.Index)
	}
	return first(t.Block.Start, t.Segment, t.Block.Index)
}

// segmentStart returns a key that is not after any record of a segment, in output order.
func (o Order) segmentStart(s *source.Segment) key {
	if o.Newest {
		return last(s.Meta.End, s, math.MaxInt)
	}
	return first(s.Meta.Start, s, 0)
}

// segmentEnd returns a key that is not before any record of a segment, in output order.
func (o Order) segmentEnd(s *source.Segment) key {
	return Order{Newest: !o.Newest}.segmentStart(s)
}

// first returns a key that is not after any record of a block that starts at a time.
func first(time int64, s *source.Segment, block int) key { return end(time, s, block, -1) }

// last returns a key that is not before any record of a block that ends at a time.
func last(time int64, s *source.Segment, block int) key { return end(time, s, block, 1) }

// end returns the key of an end of a block. For a mixed segment it is an edge, because its parts may be anywhere in the order of segments.
func end(time int64, s *source.Segment, block, edge int) key {
	if s.Meta.Mixed() {
		return key{time: time, edge: edge}
	}
	return key{time: time, origin: s, block: block}
}

// sort sorts segments by their key, in output order.
func (o Order) sort(segments []*source.Segment, by func(*source.Segment) key) {
	slices.SortStableFunc(segments, func(a, b *source.Segment) int { return o.compare(by(a), by(b)) })
}
