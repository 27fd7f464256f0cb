package merge

import (
	"context"
	"errors"
	"iter"

	"logstow/internal/parallel"
	"logstow/query/fetch"
	"logstow/query/rowset"
	"logstow/query/source"

	"logstow/record"
)

// Worker adds the matches of blocks. It is called by one goroutine at a time.
type Worker interface {
	// Columns adds the matches of a task's block by its columns. If it needs the text, it adds none and returns false; Text is then
	// called for each match of the block.
	Columns(t *fetch.Task, sel rowset.Selected, cols rowset.Columns) (bool, error)
	// Text adds a match by its stored text and its columns, which are valid until it returns. origin is the part of a mixed segment in
	// which it was written, if origins are wanted, otherwise the segment. [record.ErrTime] is a problem of the segment.
	Text(t *fetch.Task, origin *source.Segment, line []byte, columns *record.Columns) error
}

// TextOnly is the part of a [Worker] that needs the text of each match.
type TextOnly struct{}

// Columns implements [Worker].
func (TextOnly) Columns(*fetch.Task, rowset.Selected, rowset.Columns) (bool, error) {
	return false, nil
}

// Work passes each match of the blocks of tasks once to one of several workers, in no order; origins is as in [fetch.Fetcher.Each]. The
// context of tasks ends at the first error. Work returns an error of a worker or of ctx; read failures are in the report instead.
func (s *Scheduler) Work(ctx context.Context, tasks func(context.Context) iter.Seq[*fetch.Task], origins bool, newWorker func() Worker) error {
	idle := make(chan Worker, s.Workers())
	for range cap(idle) {
		idle <- newWorker()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	block := func(ctx context.Context, t *fetch.Task) (failed error) {
		if s.FromColumns(ctx, t, func(sel rowset.Selected, cols rowset.Columns) (ok bool, _ error) {
			w := <-idle
			defer func() { idle <- w }()
			ok, failed = w.Columns(t, sel, cols)
			return ok || failed != nil, nil
		}) {
			return failed
		}
		var w Worker // acquired at the first match, after the block has been read
		s.Each(ctx, t, origins, func(origin *source.Segment, line []byte, columns *record.Columns) error {
			if failed == nil {
				if w == nil {
					w = <-idle
				}
				failed = w.Text(t, origin, line, columns)
			}
			if errors.Is(failed, record.ErrTime) {
				problem := failed
				failed = nil
				return problem
			}
			return nil
		})
		if w != nil {
			idle <- w
		}
		return failed
	}
	for err := range parallel.Ordered(ctx, s.BlockWindow(), tasks(ctx), (*fetch.Task).Weight, block) {
		if err != nil {
			cancel(err)
		}
	}
	return context.Cause(ctx)
}

// AllBlocks returns the tasks of [Scheduler.Work] for all blocks of segments.
func (s *Scheduler) AllBlocks(segments []*source.Segment) func(context.Context) iter.Seq[*fetch.Task] {
	return func(ctx context.Context) iter.Seq[*fetch.Task] { return s.Blocks(ctx, segments) }
}
