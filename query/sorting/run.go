package sorting

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"logstow/query/aggregate/spill"
	"logstow/query/fetch"
	"logstow/query/match"
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
	bound    *bound
	segments []*source.Segment
	numbers  map[*source.Segment]int
	all      []*worker
	// workers are those that no block is using.
	workers chan *worker
}

// Run reads the segments of a plan and emits their matches in the order, until the limit. With a limit, blocks are
// skipped whose columns show that none of their records is among the first. It returns emit's
// error, that of ctx, or one of the temporary files; what cannot be read is in the report instead.
func (o *Order) Run(ctx context.Context, s *merge.Scheduler, segments []*source.Segment, opts Options, emit func(merge.Match) error) (err error) {
	bound := newBound(opts.Limit)
	if names, ok := o.columnNames(); ok && bound.limit > 0 {
		s = s.WithColumns(names)
	}
	n := s.Workers()
	memory := max(opts.Memory/sortersPart/int64(n), minMemory)
	if bound.limit > 0 {
		memory = min(memory, limitedMemory)
	}
	r := &run{Order: o, Scheduler: s, bound: bound, segments: segments, numbers: make(map[*source.Segment]int, len(segments)), workers: make(chan *worker, n)}
	for i, seg := range segments {
		r.numbers[seg] = i
	}
	for range n {
		w := &worker{Order: o, sorter: spill.NewSorter(opts.Dir, memory, opts.Limit), bound: bound}
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

// collect sorts the records of all blocks that may have one of those wanted.
func (r *run) collect(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var waiting []waitingBlock
	for looked := range fetch.OrderedParallel(ctx, r.BlockWindow(), r.Blocks(ctx, r.segments), (*fetch.Task).Weight, r.look) {
		if looked.err != nil {
			cancel(looked.err)
		}
		if looked.waits != nil {
			waiting = append(waiting, *looked.waits)
		}
		if len(waiting) == maxWaiting {
			r.collectWaiting(ctx, cancel, waiting)
			waiting = waiting[:0]
		}
	}
	r.collectWaiting(ctx, cancel, waiting)
	return context.Cause(ctx)
}

// waitingBlock is a block that waits to be read until those are read that come first by their columns.
type waitingBlock struct {
	task *fetch.Task
	// least is the start of the least key of its records.
	least []byte
}

// maxWaiting is the number of blocks that wait; each takes some 500 bytes.
const maxWaiting = 1024

// looked is what became of a block: it was searched, or skipped, or waits.
type looked struct {
	waits *waitingBlock
	err   error
}

// look adds the records of a block whose columns have nothing of the keys, and has others wait.
func (r *run) look(ctx context.Context, t *fetch.Task) looked {
	var least []byte
	if !r.Inspect(ctx, t, func(sel match.Selected, cols match.Columns) {
		least = newCandidates(r.Order, &t.Block, sel, cols).appendLeast(nil, t.Segment.Name.Service)
	}) {
		return looked{}
	}
	switch {
	case least == nil:
		return looked{err: r.block(ctx, t, nil)}
	case r.bound.behind(least):
		r.Skip(t)
		return looked{}
	}
	return looked{waits: &waitingBlock{task: t.Alone(), least: least}}
}

// collectWaiting sorts the records of waiting blocks, those of the least keys first, until the others are behind the
// records that are wanted.
func (r *run) collectWaiting(ctx context.Context, cancel context.CancelCauseFunc, waiting []waitingBlock) {
	slices.SortFunc(waiting, func(a, b waitingBlock) int { return bytes.Compare(a.least, b.least) })
	w := r.BlockWindow()
	w.First = 2 // one block may be enough
	weigh := func(b waitingBlock) int64 { return b.task.Weight() }
	blocks := func(yield func(waitingBlock) bool) {
		for i, b := range waiting {
			waiting[i] = waitingBlock{} // it must not keep what the task reads
			if !yield(b) {
				return
			}
		}
	}
	for err := range fetch.OrderedParallel(ctx, w, blocks, weigh, func(ctx context.Context, b waitingBlock) error {
		return r.block(ctx, b.task, b.least)
	}) {
		if err != nil {
			cancel(err)
		}
	}
}

// block adds the records of a block, unless all are behind those wanted: least is the start of their least key, if
// it is known. The error is one of writing temporary files.
func (r *run) block(ctx context.Context, t *fetch.Task, least []byte) (failed error) {
	if r.bound.behind(least) {
		r.Skip(t)
		return nil
	}
	r.Prefetch(ctx, t)
	w := <-r.workers
	defer func() { r.workers <- w }()
	if r.bound.behind(least) {
		r.Skip(t)
		return nil
	}
	w.use(r.Matcher.FieldsOf(t.Segment.Meta.Parse).Parser)
	var position uint64
	from := place{segment: t.Segment, number: r.numbers[t.Segment]}
	r.Each(ctx, t, true, func(origin *source.Segment, line []byte, columns *record.Columns) error {
		if _, err := record.ParseTime(line[:record.TimeLen]); err != nil {
			return err
		}
		position++
		from.origin = origin
		if failed == nil {
			failed = w.add(&from, t.Block.Index, position, line, columns)
		}
		return nil
	})
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
