package query

import (
	"context"

	"logstow/columns"
	"logstow/query/merge"
)

// Each passes each match of a plan once to one of several workers, in no order. The limit of the selection does not apply. names are the
// columns that the workers need of most blocks; nil if they always need the text.
//
// If the records of a segment have moved, Each calls restart and starts again with new workers. The caller must discard the
// matches that the previous ones received.
//
// Each returns an error of a worker or of ctx. Read failures are in the report instead.
func (q *Query) Each(ctx context.Context, p *Plan, names []columns.Name, restart func(), newWorker func() merge.Worker) error {
	first := true
	return q.step(ctx, p, 0, func(ctx context.Context, s *merge.Scheduler, segments []*Segment) error {
		if !first {
			restart()
		}
		first = false
		if names != nil {
			s = s.WithColumns(names)
		}
		return s.Work(ctx, s.AllBlocks(segments), true, newWorker)
	})
}
