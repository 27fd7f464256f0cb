package merge

import (
	"context"
	"iter"
	"slices"
	"sort"

	"logstow/query/fetch"
	"logstow/query/source"

	"logstow/columns"
	"logstow/internal/heap"
	"logstow/internal/parallel"
)

// maxHeldBytes is the approximate maximum of the stored bytes of open segments in memory.
const maxHeldBytes = 16 << 20

// Scheduler decides when segments are opened and blocks are read.
type Scheduler struct {
	*fetch.Fetcher
	Order Order
	// Limit is the number of records wanted; 0 is all.
	Limit int
}

// WithColumns returns a scheduler for a step that columns may answer: see [fetch.Fetcher.WithColumns].
func (s *Scheduler) WithColumns(names []columns.Name) *Scheduler {
	other := *s
	other.Fetcher = s.Fetcher.WithColumns(names)
	return &other
}

// BlockWindow returns the limits of the blocks in flight, in number and in bytes.
func (s *Scheduler) BlockWindow() parallel.Window {
	w := parallel.Window{First: source.MaxInFlight, Max: source.MaxInFlight, Bytes: 16 << 20, Shared: s.InFlight()}
	if s.Limit > 0 {
		w.First = 1
	}
	return w
}

// Blocks yields the blocks of the segments that may contain matches, in the order of their start.
// Segments are opened as late as possible, with prefetch.
func (s *Scheduler) Blocks(ctx context.Context, segments []*source.Segment) iter.Seq[*fetch.Task] {
	return func(yield func(*fetch.Task) bool) {
		segments = slices.Clone(segments)
		s.Order.sort(segments, s.Order.segmentStart)
		segments = s.pruneByLimit(segments)
		w := parallel.Window{First: source.MaxInFlight, Max: source.MaxInFlight, Bytes: maxHeldBytes}
		if s.Limit > 0 {
			w.First = 1
		}
		overlapping := overlapCounter(segments)
		next, stop := iter.Pull(parallel.Ordered(ctx, w, slices.Values(segments), s.HeldBytes,
			func(ctx context.Context, seg *source.Segment) fetch.Opened {
				return s.Open(ctx, seg, s.heldPerSegment(overlapping(seg)))
			}))
		defer stop()
		tasks := &heap.Heap[*fetch.Task]{Before: func(a, b *fetch.Task) bool { return s.Order.before(s.Order.start(a), s.Order.start(b)) }}
		for i := 0; ; {
			for i < len(segments) && (len(tasks.Items) == 0 || s.Order.before(s.Order.segmentStart(segments[i]),
				s.Order.start(tasks.Items[0]))) {
				o, ok := next()
				if !ok {
					return
				}
				for _, t := range o.Tasks {
					tasks.Push(t)
				}
				clear(o.Tasks) // the iterator retains o, which must not retain the tasks' blocks
				i++
			}
			if len(tasks.Items) == 0 || !yield(tasks.Pop()) {
				return
			}
		}
	}
}

// pruneByLimit drops the segments that a query with a limit does not reach, if metadata suffice to count matches. segments are in
// order of their start.
func (s *Scheduler) pruneByLimit(segments []*source.Segment) []*source.Segment {
	if s.Limit == 0 {
		return segments
	}
	ends := make([]*source.Segment, 0, len(segments))
	for _, seg := range segments {
		if s.MetadataSuffices(seg) {
			ends = append(ends, seg)
		}
	}
	s.Order.sort(ends, s.Order.segmentEnd)
	var n uint64
	for _, seg := range ends {
		if n += s.Matcher.Levels.Count(seg.Meta.Levels); n < uint64(s.Limit) {
			continue
		}
		last := s.Order.segmentEnd(seg)
		i := slices.IndexFunc(segments, func(seg *source.Segment) bool { return s.Order.before(last, s.Order.segmentStart(seg)) })
		if i >= 0 {
			return segments[:i]
		}
		break
	}
	return segments
}

// heldPerSegment returns the maximum number of stored bytes of a segment in memory while a number of segments is open. A query with
// a limit may need few blocks, so it reads few at once.
func (s *Scheduler) heldPerSegment(open int) int64 {
	share := int64(maxHeldBytes / max(1, open))
	if s.Limit > 0 {
		share = min(share, fetch.SmallBlob)
	}
	return max(1, share)
}

// overlapCounter returns a function that counts the segments that overlap one in time.
func overlapCounter(segments []*source.Segment) func(*source.Segment) int {
	starts, ends := make([]int64, len(segments)), make([]int64, len(segments))
	for i, s := range segments {
		starts[i], ends[i] = s.Meta.Start, s.Meta.End
	}
	slices.Sort(starts)
	slices.Sort(ends)
	return func(s *source.Segment) int {
		begun := sort.Search(len(starts), func(i int) bool { return starts[i] > s.Meta.End })
		over := sort.Search(len(ends), func(i int) bool { return ends[i] >= s.Meta.Start })
		return begun - over
	}
}
