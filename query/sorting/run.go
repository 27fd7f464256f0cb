package sorting

import (
	"context"
	"errors"

	"logstow/query/aggregate/spill"
	"logstow/query/fetch"
	"logstow/query/merge"
	"logstow/query/source"

	"logstow/record"
)

// Options are the settings of a sort.
type Options struct {
	// Limit is the number of records wanted; 0 is all.
	Limit int
	// Memory is about the number of bytes that the process may take for sorting.
	Memory int64
	// Dir is the directory of temporary files; "" is the system's.
	Dir string
}

const (
	// sortersPart of the memory is for the records: buffers that grow, and what the garbage collector
	// leaves, take as much.
	sortersPart = 2
	// limitedMemory is enough where few records are wanted.
	limitedMemory, minMemory = 4 << 20, 64 << 10
)

// run is a sort at work.
type run struct {
	*Order
	*merge.Scheduler
	segments []*source.Segment
	numbers  map[*source.Segment]int
	all      []*worker
	// workers are those that no block is using.
	workers chan *worker
}

// Run reads the segments of a plan and emits their matches in the order, until the limit. It returns emit's
// error, that of ctx, or one of the temporary files; what cannot be read is in the report instead.
func (o *Order) Run(ctx context.Context, s *merge.Scheduler, segments []*source.Segment, opts Options, emit func(merge.Match) error) (err error) {
	n := s.Workers()
	memory := max(opts.Memory/sortersPart/int64(n), minMemory)
	if opts.Limit > 0 && opts.Limit <= maxBounded {
		memory = min(memory, limitedMemory)
	}
	r := &run{Order: o, Scheduler: s, segments: segments, numbers: make(map[*source.Segment]int, len(segments)), workers: make(chan *worker, n)}
	for i, seg := range segments {
		r.numbers[seg] = i
	}
	for range n {
		w := &worker{Order: o, sorter: spill.NewSorter(opts.Dir, memory, opts.Limit), bound: bound{limit: opts.Limit}}
		r.all = append(r.all, w)
		r.workers <- w
	}
	defer func() {
		for _, w := range r.all {
			err = errors.Join(err, w.sorter.Close())
		}
	}()
	if err := r.collect(ctx); err != nil {
		return err
	}
	return r.emit(ctx, opts.Limit, emit)
}

// collect sorts the records of all blocks.
func (r *run) collect(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for err := range fetch.OrderedParallel(ctx, r.BlockWindow(), r.Blocks(ctx, r.segments), (*fetch.Task).Weight, r.block) {
		if err != nil {
			cancel(err)
		}
	}
	return context.Cause(ctx)
}

// block adds the records of a block. The error is one of writing temporary files.
func (r *run) block(ctx context.Context, t *fetch.Task) (failed error) {
	var w *worker
	var position uint64
	from := place{segment: t.Segment, number: r.numbers[t.Segment]}
	r.Each(ctx, t, true, func(origin *source.Segment, line []byte, columns *record.Columns) error {
		if _, err := record.ParseTime(line[:record.TimeLen]); err != nil {
			return err
		}
		if w == nil {
			w = <-r.workers
			w.use(r.Matcher.FieldsOf(t.Segment.Meta.Parse).Parser)
		}
		position++
		from.origin = origin
		if failed == nil {
			failed = w.add(&from, t.Block.Index, position, line, columns)
		}
		return nil
	})
	if w != nil {
		r.workers <- w
	}
	return failed
}

// emit merges what the workers have.
func (r *run) emit(ctx context.Context, limit int, emit func(merge.Match) error) error {
	var cursors []spill.Cursor
	for _, w := range r.all {
		sorted, err := w.sorter.Sorted()
		if err != nil {
			return err
		}
		cursors = append(cursors, sorted)
	}
	merged, err := spill.Merge(cursors)
	if err != nil {
		return err
	}
	emitted := 0
	err = spill.Each(merged, func(_, payload []byte) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if emitted++; limit > 0 && emitted > limit {
			return errEnough
		}
		m, err := decode(payload, r.segments)
		if err != nil {
			return err
		}
		return emit(m)
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return errors.Join(err, merged.Close())
}

// errEnough ends the merging when as many records were emitted as are wanted.
var errEnough = errors.New("limit reached")
