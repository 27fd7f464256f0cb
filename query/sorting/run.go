package sorting

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"logstow/internal/parallel"
	"logstow/query/fetch"
	"logstow/query/merge"
	"logstow/query/rowset"
	"logstow/query/source"

	"logstow/record"
	"logstow/spill"
)

// Options are the settings of a sort.
type Options struct {
	// Limit is the number of records wanted; 0 is all.
	Limit int
	// Memory is the approximate memory for sorting in bytes.
	Memory int64
	// Dir is the directory of temporary files; "" is the system's.
	Dir string
}

const (
	// Records get the memory divided by sortersPart. The rest is for growing buffers and garbage.
	sortersPart = 2
	// limitedMemory is the memory of a worker if few records are wanted, minMemory its minimum.
	limitedMemory, minMemory = 4 << 20, 64 << 10
)

// run is the state of a sort.
type run struct {
	*Order
	*merge.Scheduler
	bound    *bound
	segments []*source.Segment
	numbers  map[*source.Segment]int
	all      []*worker
	// workers are the idle workers.
	workers chan *worker
}

// Run reads segments and emits their matches in the order, until the limit. With a limit, it skips blocks of which no record can be among
// the first according to columns. It returns an error of emit, of ctx, or of the temporary files. Read failures are in the report instead.
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
	r := &run{
		Order:     o,
		Scheduler: s,
		bound:     bound,
		segments:  segments,
		numbers:   make(map[*source.Segment]int, len(segments)),
		workers:   make(chan *worker, n),
	}
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
	return r.emit(ctx, emit)
}

// collect sorts the records of all blocks that may have wanted records.
func (r *run) collect(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var waiting []waitingBlock
	for result := range parallel.Ordered(ctx, r.BlockWindow(), r.Blocks(ctx, r.segments), (*fetch.Task).Weight, r.inspect) {
		if result.err != nil {
			cancel(result.err)
		}
		if result.waits != nil {
			waiting = append(waiting, *result.waits)
		}
		if len(waiting) == maxWaiting {
			r.collectWaiting(ctx, cancel, waiting)
			waiting = waiting[:0]
		}
	}
	r.collectWaiting(ctx, cancel, waiting)
	return context.Cause(ctx)
}

// waitingBlock is a block that waits until blocks with lesser keys, by their columns, have been read.
type waitingBlock struct {
	task *fetch.Task
	// least is a prefix of the least key of its records.
	least []byte
}

// maxWaiting is the maximum number of waiting blocks. Each takes about 500 bytes.
const maxWaiting = 1024

// inspected is the result of inspecting a block: it was searched or skipped, or it waits.
type inspected struct {
	waits *waitingBlock
	err   error
}

// inspect computes the least key of a block by its columns. It searches the block at once if columns do not have the key.
func (r *run) inspect(ctx context.Context, t *fetch.Task) inspected {
	var least []byte
	if !r.Inspect(ctx, t, func(sel rowset.Selected, cols rowset.Columns) {
		least = newCandidates(r.Order, &t.Block, sel, cols).least(t.Segment.Name.Service)
	}) {
		return inspected{}
	}
	switch {
	case least == nil:
		return inspected{err: r.block(ctx, t, nil)}
	case r.bound.behind(least):
		r.Skip(t)
		return inspected{}
	}
	return inspected{waits: &waitingBlock{task: t.Alone(), least: least}}
}

// collectWaiting sorts the records of waiting blocks in order of their least keys, until the other blocks have no wanted records.
func (r *run) collectWaiting(ctx context.Context, cancel context.CancelCauseFunc, waiting []waitingBlock) {
	slices.SortFunc(waiting, func(a, b waitingBlock) int { return bytes.Compare(a.least, b.least) })
	w := r.BlockWindow()
	w.First = 2 // one block may be enough
	weigh := func(b waitingBlock) int64 { return b.task.Weight() }
	blocks := func(yield func(waitingBlock) bool) {
		for i, b := range waiting {
			waiting[i] = waitingBlock{} // do not retain the block of the task
			if !yield(b) {
				return
			}
		}
	}
	for err := range parallel.Ordered(ctx, w, blocks, weigh, func(ctx context.Context, b waitingBlock) error {
		return r.block(ctx, b.task, b.least)
	}) {
		if err != nil {
			cancel(err)
		}
	}
}

// block adds the records of a block, unless none is wanted. least is a prefix of their least key, nil if unknown. It returns an error of
// writing temporary files.
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

// emit merges and emits the records of the workers.
func (r *run) emit(ctx context.Context, emit func(merge.Match) error) error {
	var sorters []*spill.Sorter
	for _, w := range r.all {
		sorters = append(sorters, w.sorter)
	}
	return spill.Each(sorters, func(_, payload []byte) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		m, err := decode(payload, r.segments)
		if err != nil {
			return err
		}
		return emit(m)
	})
}
