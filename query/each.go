package query

import (
	"context"

	"logstow/columns"
	"logstow/query/fetch"
	"logstow/query/merge"
	"logstow/query/rowset"
	"logstow/query/source"
	"logstow/record"
	"logstow/segment"
)

// EachWorker receives matches of [Query.EachByColumns]. It is called by one goroutine at a time.
type EachWorker interface {
	// Match adds a match.
	Match(m Match) error
	// Block adds the matches of a block by its columns. If it needs the text, it adds none and returns false; Match is then
	// called for each match of the block.
	Block(b *BlockColumns) (bool, error)
}

// BlockColumns has the matching records of a block and their columns. It is valid until [EachWorker.Block] returns.
type BlockColumns struct {
	Segment  *Segment
	Block    segment.Block
	Selected rowset.Selected
	Columns  rowset.Columns
}

// Each passes each match of a plan once to one of several functions, in no order. newWorker makes a function for each worker; a
// function is called by one goroutine at a time. The limit of the selection does not apply.
//
// If the records of a segment have moved, Each calls restart and starts again with new functions. The caller must discard the
// matches that the previous functions received.
//
// Each returns an error of a function or of ctx. Read failures are in the report instead.
func (q *Query) Each(ctx context.Context, p *Plan, restart func(), newWorker func() func(Match) error) error {
	return q.each(ctx, p, restart, func() EachWorker { return matchWorker(newWorker()) }, func(s *merge.Scheduler) *merge.Scheduler { return s })
}

// EachByColumns is Each for workers that need only these columns of most blocks.
func (q *Query) EachByColumns(ctx context.Context, p *Plan, names []columns.Name, restart func(), newWorker func() EachWorker) error {
	return q.each(ctx, p, restart, newWorker, func(s *merge.Scheduler) *merge.Scheduler { return s.WithColumns(names) })
}

// matchWorker is an EachWorker that needs the text of each match.
type matchWorker func(Match) error

func (w matchWorker) Match(m Match) error             { return w(m) }
func (matchWorker) Block(*BlockColumns) (bool, error) { return false, nil }

func (q *Query) each(ctx context.Context, p *Plan, restart func(), newWorker func() EachWorker, with func(*merge.Scheduler) *merge.Scheduler) error {
	first := true
	return q.step(ctx, p, 0, func(ctx context.Context, s *merge.Scheduler, segments []*Segment) error {
		if !first {
			restart()
		}
		first = false
		return eachMatch(ctx, with(s), segments, newWorker)
	})
}

// eachMatch calls a worker with each match of segments.
func eachMatch(ctx context.Context, s *merge.Scheduler, segments []*source.Segment, newWorker func() EachWorker) error {
	workers := make(chan EachWorker, s.Workers()) // idle workers
	for range cap(workers) {
		workers <- newWorker()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	block := func(ctx context.Context, t *fetch.Task) (failed error) {
		if s.FromColumns(ctx, t, func(sel rowset.Selected, cols rowset.Columns) (ok bool, _ error) {
			w := <-workers
			defer func() { workers <- w }()
			ok, failed = w.Block(&BlockColumns{Segment: t.Segment, Block: t.Block, Selected: sel, Columns: cols})
			return ok || failed != nil, nil
		}) {
			return failed
		}
		var w EachWorker // acquired at the first match, after the block has been read
		s.Each(ctx, t, true, func(origin *source.Segment, line []byte, columns *record.Columns) error {
			m, err := merge.NewMatch(origin, line, columns)
			if err != nil || failed != nil { // err is recorded as a problem of the segment
				return err
			}
			if w == nil {
				w = <-workers
			}
			failed = w.Match(m)
			return nil
		})
		if w != nil {
			workers <- w
		}
		return failed
	}
	for err := range fetch.OrderedParallel(ctx, s.BlockWindow(), s.Blocks(ctx, segments), (*fetch.Task).Weight, block) {
		if err != nil {
			cancel(err)
		}
	}
	return context.Cause(ctx)
}
