package stats

import (
	"context"
	"errors"
	"fmt"

	"logstow/query/aggregate"
	"logstow/query/fetch"
	"logstow/query/match"
	"logstow/query/merge"
	"logstow/query/rowset"
	"logstow/query/source"

	"logstow/record"
)

// Table is the result of a [Computation]. Close it.
type Table struct {
	*aggregate.Result
	all *aggregate.Aggregation
}

// Close removes the temporary files of the table.
func (t *Table) Close() error { return t.all.Close() }

// Run computes the table for the matches of segments. It reads text only if metadata, footers and columns do not suffice. memory is the
// approximate memory for groups in bytes; more are written to temporary files in dir ("" is the system's directory). Run returns an
// error of ctx or of these files. Read failures are in the report instead.
func (c *Computation) Run(ctx context.Context, s *merge.Scheduler, segments []*source.Segment, memory int64, dir string) (*Table, error) {
	if names, ok := c.columnNames(); ok {
		s = s.WithColumns(names)
	}
	n := s.Workers()
	all, err := aggregate.New(c.spec, aggregate.Options{Memory: memory, Workers: n + 1, Dir: dir})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", match.ErrSelection, err)
	}
	r := &run{Computation: c, Scheduler: s, workers: make(chan *worker, n)}
	for range n {
		r.workers <- &worker{Computation: c, Worker: all.Worker()}
	}
	ctx, cancel := context.WithCancelCause(ctx) // also ends the opening of segments after an error
	defer cancel(nil)
	tasks := s.Blocks(ctx, segments)
	if f := newFromFooters(c, s, all); f != nil {
		r.footers = f
		tasks = f.unanswered(ctx, segments)
	}
	for err := range fetch.OrderedParallel(ctx, s.BlockWindow(), tasks, (*fetch.Task).Weight, r.block) {
		if err != nil {
			cancel(err)
		}
	}
	if r.footers != nil && r.footers.err != nil {
		cancel(r.footers.err)
	}
	if ctx.Err() != nil {
		return nil, errors.Join(context.Cause(ctx), all.Close())
	}
	result, err := all.Finish(ctx)
	if err != nil {
		return nil, errors.Join(err, all.Close())
	}
	return &Table{result, all}, nil
}

// run is the state of a run of a Computation.
type run struct {
	*Computation
	*merge.Scheduler
	// workers are the idle workers.
	workers chan *worker
	// footers counts by metadata and footers; nil if these do not suffice.
	footers *fromFooters
}

// block adds the records of a block. It returns an error of writing temporary files.
func (r *run) block(ctx context.Context, t *fetch.Task) (failed error) {
	if r.fromColumns(ctx, t, &failed) {
		return failed
	}
	var w *worker
	footer := r.footers != nil && r.footers.answers(t.Segment)
	var position uint64
	r.Each(ctx, t, r.needsOrigin(), func(origin *source.Segment, line []byte, columns *record.Columns) error {
		if w == nil {
			w = <-r.workers
			w.use(r.Matcher.FieldsOf(t.Segment.Meta.Parse).Parser)
		}
		at, err := w.time(line)
		if err != nil {
			return err
		}
		if footer && r.footers.countedMinute(at) {
			return nil
		}
		if r.ordered {
			position++
			w.record.Sequence = merge.AppendPosition(w.record.Sequence[:0], origin, t.Block.Index, position)
		}
		if failed == nil {
			failed = w.add(origin, t.Segment.Name.Service, at, columns)
		}
		return nil
	})
	if w != nil {
		r.workers <- w
	}
	return failed
}

// fromColumns adds the records of a block by its columns; it returns false if the text has to be read instead. It sets failed to an error
// of writing temporary files.
func (r *run) fromColumns(ctx context.Context, t *fetch.Task, failed *error) bool {
	if r.footers != nil && r.footers.answers(t.Segment) && !r.footers.step.IsZero() {
		return false // some of the minutes of the block were counted
	}
	return r.FromColumns(ctx, t, func(sel rowset.Selected, cols rowset.Columns) (bool, error) {
		w := <-r.workers
		defer func() { r.workers <- w }()
		ok, err := w.fromColumns(t, sel, cols)
		if err != nil {
			*failed = err
		}
		return ok || err != nil, nil
	})
}
