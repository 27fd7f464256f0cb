package query

import (
	"context"
	"iter"
	"math"
	"slices"
	"sort"
)

// maxHeldBytes bounds the stored bytes that open segments hold, about.
const maxHeldBytes = 16 << 20

// scheduler decides which blocks are read when.
type scheduler struct {
	*fetcher
	order order
	// limit is the number of records wanted; 0 is all.
	limit int
}

// blockWindow bounds the blocks in flight: in number, for the requests, and in
// bytes of text.
func (s *scheduler) blockWindow() window {
	w := window{first: 4 * parallel, max: 4 * parallel, bytes: 16 << 20}
	if s.limit > 0 {
		w.first = 1
	}
	return w
}

// blocks yields the blocks of the segments that may hold matches in the order of their start,
// and opens segments no earlier than that needs, some ahead.
func (s *scheduler) blocks(ctx context.Context, segments []*Segment) iter.Seq[*task] {
	return func(yield func(*task) bool) {
		segments = slices.Clone(segments)
		s.order.sort(segments, s.order.segmentStart)
		segments = s.pruneByLimit(segments)
		w := window{first: parallel, max: parallel, bytes: math.MaxInt64}
		if s.limit > 0 {
			w.first = 1
		}
		overlapping := overlapCounter(segments)
		next, stop := iter.Pull(orderedParallel(ctx, w, slices.Values(segments), func(*Segment) int64 { return 0 },
			func(ctx context.Context, seg *Segment) opened {
				return s.open(ctx, seg, s.heldPerSegment(overlapping(seg)))
			}))
		defer stop()
		tasks := &heap[*task]{before: func(a, b *task) bool { return s.order.before(s.order.start(a), s.order.start(b)) }}
		for i := 0; ; {
			for i < len(segments) && (len(tasks.items) == 0 || s.order.before(s.order.segmentStart(segments[i]), s.order.start(tasks.items[0]))) {
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
// query with a limit does not reach: where nothing but time and level is asked,
// metadata tell when enough records have been seen.
func (s *scheduler) pruneByLimit(segments []*Segment) []*Segment {
	if s.limit == 0 {
		return segments
	}
	ends := make([]*Segment, 0, len(segments))
	for _, seg := range segments {
		if s.metadataSuffices(seg) {
			ends = append(ends, seg)
		}
	}
	s.order.sort(ends, s.order.segmentEnd)
	var n uint64
	for _, seg := range ends {
		if n += s.matcher.levels.Count(seg.Meta.Levels); n < uint64(s.limit) {
			continue
		}
		last := s.order.segmentEnd(seg)
		i := slices.IndexFunc(segments, func(seg *Segment) bool { return s.order.before(last, s.order.segmentStart(seg)) })
		if i >= 0 {
			return segments[:i]
		}
		break
	}
	return segments
}

// heldPerSegment is the number of stored bytes that a segment may hold while so many are
// open. A query with a limit may need few blocks, so it reads few at once.
func (s *scheduler) heldPerSegment(open int) int64 {
	share := int64(maxHeldBytes / max(1, open))
	if s.limit > 0 {
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
