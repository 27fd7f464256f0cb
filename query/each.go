package query

import (
	"context"

	"logstow/columns"
	"logstow/query/fetch"
	"logstow/query/merge"
	"logstow/query/rowset"
	"logstow/record"
)

// EachWorker receives matches of [Query.Each]. It is called by one goroutine at a time.
type EachWorker interface {
	// Match adds a match.
	Match(m Match) error
	// Columns adds the matches of a block by its columns, as [merge.Worker] does. Otherwise Match is called for each match of the block.
	Columns(t *fetch.Task, sel rowset.Selected, cols rowset.Columns) (bool, error)
}

// Each passes each match of a plan once to one of several workers, in no order. The limit of the selection does not apply. names are the
// columns that the workers need of most blocks; nil if they always need the text.
//
// If the records of a segment have moved, Each calls restart and starts again with new workers. The caller must discard the
// matches that the previous ones received.
//
// Each returns an error of a worker or of ctx. Read failures are in the report instead.
func (q *Query) Each(ctx context.Context, p *Plan, names []columns.Name, restart func(), newWorker func() EachWorker) error {
	first := true
	return q.step(ctx, p, 0, func(ctx context.Context, s *merge.Scheduler, segments []*Segment) error {
		if !first {
			restart()
		}
		first = false
		if names != nil {
			s = s.WithColumns(names)
		}
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
