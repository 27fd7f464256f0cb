package query

import (
	"context"

	"logstow/columns"
	"logstow/query/fetch"
	"logstow/query/merge"
	"logstow/query/rowset"
	"logstow/record"
)

// EachWorker receives matches of [Query.EachByColumns]. It is called by one goroutine at a time.
type EachWorker interface {
	// Match adds a match.
	Match(m Match) error
	// Columns adds the matches of a block by its columns, as [merge.Worker] does. Otherwise Match is called for each match of the block.
	Columns(t *fetch.Task, sel rowset.Selected, cols rowset.Columns) (bool, error)
}

// Each passes each match of a plan once to one of several functions, in no order. newWorker makes a function for each worker; a
// function is called by one goroutine at a time. The limit of the selection does not apply.
//
// If the records of a segment have moved, Each calls restart and starts again with new functions. The caller must discard the
// matches that the previous functions received.
//
// Each returns an error of a function or of ctx. Read failures are in the report instead.
func (q *Query) Each(ctx context.Context, p *Plan, restart func(), newWorker func() func(Match) error) error {
	return q.each(ctx, p, restart, func() EachWorker { return matchWorker{match: newWorker()} }, func(s *merge.Scheduler) *merge.Scheduler { return s })
}

// EachByColumns is Each for workers that need only these columns of most blocks.
func (q *Query) EachByColumns(ctx context.Context, p *Plan, names []columns.Name, restart func(), newWorker func() EachWorker) error {
	return q.each(ctx, p, restart, newWorker, func(s *merge.Scheduler) *merge.Scheduler { return s.WithColumns(names) })
}

// matchWorker is an EachWorker that needs the text of each match.
type matchWorker struct {
	merge.TextOnly
	match func(Match) error
}

func (w matchWorker) Match(m Match) error { return w.match(m) }

func (q *Query) each(ctx context.Context, p *Plan, restart func(), newWorker func() EachWorker, with func(*merge.Scheduler) *merge.Scheduler) error {
	first := true
	return q.step(ctx, p, 0, func(ctx context.Context, s *merge.Scheduler, segments []*Segment) error {
		if !first {
			restart()
		}
		first = false
		s = with(s)
		return s.Work(ctx, s.AllBlocks(segments), true, func() merge.Worker { return eachWorker{newWorker()} })
	})
}

// eachWorker is an EachWorker as a worker of a step.
type eachWorker struct{ EachWorker }

// Text implements [merge.Worker].
func (w eachWorker) Text(_ *fetch.Task, origin *Segment, line []byte, columns *record.Columns) error {
	m, err := merge.NewMatch(origin, line, columns)
	if err != nil {
		return err
	}
	return w.Match(m)
}
