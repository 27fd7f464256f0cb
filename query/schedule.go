package query

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"
	"sort"
)

// A key places a record in the output: by time, then by segment and block. The
// records of one block come in their own order.
type key struct {
	time  int64
	rank  int // of the segment
	block int
}

func (k key) compare(o key) int {
	return cmp.Or(cmp.Compare(k.time, o.time), cmp.Compare(k.rank, o.rank), cmp.Compare(k.block, o.block))
}

// before reports whether a comes before b in the output.
func (q *Query) before(a, b key) bool {
	if q.sel.Newest {
		return b.compare(a) < 0
	}
	return a.compare(b) < 0
}

// startOf is a key that no record of a task's block is before.
func (q *Query) startOf(t *task) key {
	if q.sel.Newest {
		return key{t.block.End, t.segment.rank, t.block.Index}
	}
	return key{t.block.Start, t.segment.rank, t.block.Index}
}

// startOfSegment is a key that no record of a segment is before.
func (q *Query) startOfSegment(s *Segment) key {
	if q.sel.Newest {
		return key{s.Meta.End, s.rank, math.MaxInt}
	}
	return key{s.Meta.Start, s.rank, 0}
}

// scheduleBlocks yields the tasks of the segments in the order of their start, and opens
// segments no earlier than that needs, some ahead.
func (q *Query) scheduleBlocks(ctx context.Context, segments []*Segment) iter.Seq[*task] {
	return func(yield func(*task) bool) {
		segments = slices.Clone(segments)
		slices.SortFunc(segments, func(a, b *Segment) int {
			if q.before(q.startOfSegment(a), q.startOfSegment(b)) {
				return -1
			}
			return 1
		})
		segments = q.pruneByLimit(segments)
		w := window{first: parallel, max: parallel, bytes: math.MaxInt64}
		if q.sel.Limit > 0 {
			w.first = 1
		}
		share := overlapCounter(segments)
		next, stop := iter.Pull(orderedParallel(ctx, w, slices.Values(segments), func(*Segment) int64 { return 0 },
			func(ctx context.Context, s *Segment) opened { return q.open(ctx, s, q.heldPerSegment(share(s))) }))
		defer stop()
		tasks := &heap[*task]{before: func(a, b *task) bool { return q.before(q.startOf(a), q.startOf(b)) }}
		for i := 0; ; {
			for i < len(segments) && (len(tasks.items) == 0 || q.before(q.startOfSegment(segments[i]), q.startOf(tasks.items[0]))) {
				o, ok := next()
				if !ok {
					return
				}
				for _, t := range o.tasks {
					tasks.push(t)
				}
				clear(o.tasks) // o lives on in the iterator: it must not hold what the tasks read
				i++
			}
			if len(tasks.items) == 0 || !yield(tasks.pop()) {
				return
			}
		}
	}
}

// pruneByLimit leaves out the segments, which are in the order of their start, that a
// query with a limit can not come to: where nothing but time and level is asked,
// metadata says when enough records have been seen.
func (q *Query) pruneByLimit(segments []*Segment) []*Segment {
	if q.sel.Limit == 0 {
		return segments
	}
	ends := make([]*Segment, 0, len(segments))
	for _, s := range segments {
		if q.metadataSuffices(s) {
			ends = append(ends, s)
		}
	}
	endOf := func(s *Segment) key {
		if q.sel.Newest {
			return key{s.Meta.Start, s.rank, 0}
		}
		return key{s.Meta.End, s.rank, math.MaxInt}
	}
	slices.SortFunc(ends, func(a, b *Segment) int {
		if q.before(endOf(a), endOf(b)) {
			return -1
		}
		return 1
	})
	var n uint64
	for _, s := range ends {
		if n += q.matcher.levels.Count(s.Meta.Levels); n < uint64(q.sel.Limit) {
			continue
		}
		last := endOf(s)
		i := slices.IndexFunc(segments, func(s *Segment) bool { return q.before(last, q.startOfSegment(s)) })
		if i >= 0 {
			return segments[:i]
		}
		break
	}
	return segments
}

// heldPerSegment is the number of stored bytes that a segment may hold while so many are
// open. A query with a limit may need few blocks, so it reads few at once.
func (q *Query) heldPerSegment(open int) int64 {
	share := int64(maxHeldBytes / max(1, open))
	if q.sel.Limit > 0 {
		share = min(share, smallBlob)
	}
	return max(1, share)
}

// overlapCounter returns a function that counts the segments which overlap one in time.
func overlapCounter(segments []*Segment) func(*Segment) int {
	starts, ends := make([]int64, len(segments)), make([]int64, len(segments))
	for i, s := range segments {
		starts[i], ends[i] = s.Meta.Start, s.Meta.End
	}
	slices.Sort(starts)
	slices.Sort(ends)
	return func(s *Segment) int {
		begun := sort.Search(len(starts), func(i int) bool { return starts[i] > s.Meta.End })
		over := sort.Search(len(ends), func(i int) bool { return ends[i] >= s.Meta.Start })
		return begun - over
	}
}
