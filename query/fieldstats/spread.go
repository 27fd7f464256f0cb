package fieldstats

import (
	"context"
	"iter"
	"math/bits"
	"slices"
	"sync"

	"logstow/internal/parallel"
	"logstow/query/fetch"
	"logstow/query/merge"
	"logstow/query/source"
	"logstow/segment"
)

// minStored is a lower bound of the stored size of a block. Metadata that imply smaller blocks are damaged.
const minStored = 16

// blocksIn estimates the number of blocks of a segment by its metadata.
func blocksIn(seg *source.Segment) uint64 {
	n := (seg.Meta.RawBytes + segment.DefaultBlockSize - 1) / segment.DefaultBlockSize
	return max(1, min(n, uint64(max(0, seg.Size))/minStored))
}

// blocksOf estimates the number of blocks of segments.
func blocksOf(segments []*source.Segment) (n uint64) {
	for _, seg := range segments {
		n += blocksIn(seg)
	}
	return n
}

// part is a part of a segment of about one block: part number, from 0, of a total.
type part struct {
	*opened
	number, of uint64
}

// opened is a segment that is opened when its first part is read.
type opened struct {
	segment *source.Segment
	once    sync.Once
	tasks   [][]*fetch.Task // by part, nil after take
}

// divide divides the tasks of a segment with a number of blocks among parts, in order.
func (o *opened) divide(tasks []*fetch.Task, blocks, parts uint64) {
	o.tasks = make([][]*fetch.Task, parts)
	for i := range parts {
		n := slices.IndexFunc(tasks, func(t *fetch.Task) bool { return uint64(t.Block.Index) >= (i+1)*blocks/parts })
		if n < 0 {
			n = len(tasks)
		}
		o.tasks[i], tasks = slices.Clone(tasks[:n]), tasks[n:]
	}
}

// take returns the tasks of a part, and drops them because they retain their blocks.
func (o *opened) take(part uint64) []*fetch.Task {
	tasks := o.tasks[part]
	o.tasks[part] = nil
	return tasks
}

// reversed yields the numbers below n in bit-reversed order, so that every prefix of the sequence is spread over all of them.
func reversed(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		width := bits.Len(uint(n))
		for i := range uint64(1) << width {
			if at := bits.Reverse64(i) >> (64 - width); at < uint64(n) && !yield(int(at)) {
				return
			}
		}
	}
}

// spread yields the blocks of segments that may contain matches, in an order of which every prefix is spread over all of them.
func spread(ctx context.Context, s *merge.Scheduler, segments []*source.Segment) iter.Seq[*fetch.Task] {
	var parts []part
	for _, seg := range segments {
		o, n := &opened{segment: seg}, blocksIn(seg)
		for i := range n {
			parts = append(parts, part{o, i, n})
		}
	}
	inOrder := func(yield func(part) bool) {
		for at := range reversed(len(parts)) {
			if !yield(parts[at]) {
				return
			}
		}
	}
	w := parallel.Window{First: 4, Max: source.MaxInFlight, Bytes: 1 << 20}
	open := func(ctx context.Context, p part) []*fetch.Task {
		p.once.Do(func() {
			share := int64(1) // blocks are read one by one
			if p.of == 1 {
				share = fetch.SmallBlob
			}
			o := s.Open(ctx, p.segment, share)
			var blocks uint64
			if o.Footer != nil {
				blocks = uint64(len(o.Footer.Blocks))
			}
			p.divide(o.Tasks, blocks, p.of)
		})
		return p.take(p.number)
	}
	return func(yield func(*fetch.Task) bool) {
		for tasks := range parallel.Ordered(ctx, w, inOrder, func(part) int64 { return 1 }, open) {
			for _, t := range tasks {
				if !yield(t) {
					return
				}
			}
		}
	}
}
