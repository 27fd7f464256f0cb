package stats

import (
	"context"
	"errors"
	"iter"

	"logstow/query/aggregate"
	"logstow/query/fetch"
	"logstow/query/merge"
	"logstow/query/source"
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
	all := aggregate.New(c.plan, aggregate.Options{Memory: memory, Workers: s.Workers() + 1, Dir: dir})
	tasks, footers := s.AllBlocks(segments), newFromFooters(c, s, all)
	if footers != nil {
		tasks = func(ctx context.Context) iter.Seq[*fetch.Task] { return footers.unanswered(ctx, segments) }
	}
	err := s.Work(ctx, tasks, c.needsOrigin(), func() merge.Worker {
		w := newWorker(c, all, s.Matcher)
		if footers != nil {
			w.footers = footers.answerable
		}
		return w
	})
	if footers != nil && err == nil {
		err = footers.err
	}
	if err != nil {
		return nil, errors.Join(err, all.Close())
	}
	result, err := all.Finish(ctx)
	if err != nil {
		return nil, errors.Join(err, all.Close())
	}
	return &Table{result, all}, nil
}
