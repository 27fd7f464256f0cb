package query

import (
	"context"
	"sync"

	"logstow/query/fetch"
	"logstow/query/merge"
	"logstow/query/patterns"
	"logstow/query/source"

	"logstow/record"
)

// PatternsOf counts the matches of a plan by the shape of their message: those for whose instance and columns wanted returns true; nil is
// all. newCounter makes a counter for each worker; one of them is returned with all counts. The limit does not apply. wanted must be
// safe for concurrent use.
func (q *Query) PatternsOf(ctx context.Context, p *Plan, wanted func(instance string, columns *record.Columns) bool, newCounter func() *patterns.Counter) (counted *patterns.Counter, err error) {
	err = q.step(ctx, p, 0, func(ctx context.Context, s *merge.Scheduler, segments []*Segment) error {
		counted = countPatterns(ctx, s, segments, wanted, newCounter)
		return context.Cause(ctx)
	})
	return counted, err
}

// maxWorkerShapes is the number of shapes above which a worker's counter is merged into the common one, so that memory does not
// grow with the number of workers.
const maxWorkerShapes = 1 << 13

// patternWorker counts records. Not safe for concurrent use.
type patternWorker struct {
	*patterns.Counter
	message record.Message
}

// countPatterns counts the matches of segments. If ctx ends early, the counts are incomplete.
func countPatterns(ctx context.Context, s *merge.Scheduler, segments []*source.Segment, wanted func(string, *record.Columns) bool, newCounter func() *patterns.Counter) *patterns.Counter {
	workers := make(chan *patternWorker, s.Workers()) // idle workers
	for range cap(workers) {
		workers <- &patternWorker{Counter: newCounter()}
	}
	all, merging := newCounter(), sync.Mutex{}
	addAll := func(c *patterns.Counter) {
		merging.Lock()
		defer merging.Unlock()
		all.Merge(c)
	}
	block := func(ctx context.Context, t *fetch.Task) struct{} {
		var w *patternWorker
		s.Each(ctx, t, wanted != nil, func(origin *source.Segment, line []byte, columns *record.Columns) error {
			if wanted != nil && !wanted(origin.Meta.Instance, columns) {
				return nil
			}
			if w == nil {
				w = <-workers
			}
			at, err := record.ParseTime(line[:record.TimeLen])
			if err != nil {
				return err
			}
			w.message.Decode(columns.Raw)
			w.Add(t.Segment.Name.Service, record.Record{Time: at, Level: columns.Level, Message: w.message})
			return nil
		})
		if w != nil {
			if w.Shapes() > maxWorkerShapes {
				addAll(w.Counter)
				w.Counter = newCounter()
			}
			workers <- w
		}
		return struct{}{}
	}
	for range fetch.OrderedParallel(ctx, s.BlockWindow(), s.Blocks(ctx, segments), (*fetch.Task).Weight, block) {
	}
	for range cap(workers) {
		addAll((<-workers).Counter)
	}
	return all
}
