package query

import (
	"context"

	"logstow/query/fetch"
	"logstow/query/match"
	"logstow/query/merge"
	"logstow/query/source"

	"logstow/columns"
	"logstow/record"
	"logstow/segment"
)

// EachWorker gets the matches of [Query.EachByColumns], in one goroutine at a time.
type EachWorker interface {
	// Match adds a match.
	Match(m Match) error
	// Block adds the matches of a block by its columns. It returns false, and adds none, if it needs the matches themselves.
	Block(b *BlockColumns) (bool, error)
}

// BlockColumns are a block's records that match, by their columns, which are valid until [EachWorker.Block] returns.
type BlockColumns struct {
	Segment  *Segment
	Block    segment.Block
	Selected match.Selected
	Columns  match.Columns
}

// Each calls functions with the matches of a plan, each match once, in no order. newWorker makes a function for each
// worker; a function is called by one goroutine at a time. The limit of the selection does not apply.
//
// If the records of a segment have moved meanwhile, all matches are found again, by new functions: restart is called
// before, and what the functions until then were called with does not count.
//
// The errors are those of the functions and that of ctx; what cannot be read is in the report instead.
func (q *Query) Each(ctx context.Context, p *Plan, restart func(), newWorker func() func(Match) error) error {
	return q.each(ctx, p, restart, func() EachWorker { return matchWorker(newWorker()) }, func(s *merge.Scheduler) *merge.Scheduler { return s })
}

// EachByColumns is Each for workers that need no more of most blocks than these columns.
func (q *Query) EachByColumns(ctx context.Context, p *Plan, names []columns.Name, restart func(), newWorker func() EachWorker) error {
	return q.each(ctx, p, restart, newWorker, func(s *merge.Scheduler) *merge.Scheduler { return s.WithColumns(names) })
}

// matchWorker needs the matches.
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
	workers := make(chan EachWorker, s.Workers()) // those that no block is using
	for range cap(workers) {
		workers <- newWorker()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	block := func(ctx context.Context, t *fetch.Task) (failed error) {
		if s.FromColumns(ctx, t, func(sel match.Selected, cols match.Columns) (ok bool, _ error) {
			w := <-workers
			defer func() { workers <- w }()
			ok, failed = w.Block(&BlockColumns{Segment: t.Segment, Block: t.Block, Selected: sel, Columns: cols})
			return ok || failed != nil, nil
		}) {
			return failed
		}
		var w EachWorker // taken when the block is read
		s.Each(ctx, t, true, func(origin *source.Segment, line []byte, columns *record.Columns) error {
			m, err := merge.NewMatch(origin, line, columns)
			if err != nil || failed != nil { // an error here is about the line
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
