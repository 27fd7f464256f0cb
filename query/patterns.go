package query

import (
	"context"
	"sync"

	"logstow/query/fetch"
	"logstow/query/merge"
	"logstow/query/patterns"

	"logstow/record"
)

// PatternsOf counts the matches of a plan by the shape of their message. newWanted makes, for each worker, what reports whether a match
// counts; if it is nil, all do. newCounter makes a counter for each worker; one of them is returned with all counts. The limit does not
// apply.
func (q *Query) PatternsOf(
	ctx context.Context, p *Plan, newWanted func() func(*Match) bool, newCounter func() *patterns.Counter,
) (counted *patterns.Counter, err error) {
	err = q.step(ctx, p, 0, func(ctx context.Context, s *merge.Scheduler, segments []*Segment) error {
		common := &commonCounter{all: newCounter(), newCounter: newCounter}
		counted = common.all
		var workers []*patternWorker
		err := s.Work(ctx, s.AllBlocks(segments), newWanted != nil, func() merge.Worker {
			w := &patternWorker{Counter: newCounter(), common: common}
			if newWanted != nil {
				w.wanted = newWanted()
			}
			workers = append(workers, w)
			return w
		})
		for _, w := range workers {
			common.add(w)
		}
		return err
	})
	return counted, err
}

// commonCounter has the counts of workers that were merged. Safe for concurrent use.
type commonCounter struct {
	mu         sync.Mutex
	all        *patterns.Counter
	newCounter func() *patterns.Counter
}

// add moves the counts of a worker.
func (c *commonCounter) add(w *patternWorker) {
	c.mu.Lock()
	c.all.Merge(w.Counter)
	c.mu.Unlock()
	w.Counter = c.newCounter()
}

// maxWorkerShapes is the number of shapes above which a worker's counter is merged into the common one, so that memory does not
// grow with the number of workers.
const maxWorkerShapes = 1 << 13

// patternWorker counts records. Not safe for concurrent use.
type patternWorker struct {
	merge.TextOnly
	*patterns.Counter
	common  *commonCounter
	wanted  func(*Match) bool // nil for all
	match   Match             // scratch
	message record.Message
}

// Text implements [merge.Worker].
func (w *patternWorker) Text(_ *fetch.Task, origin *Segment, line []byte, columns *record.Columns) error {
	var err error
	if w.match, err = merge.NewMatch(origin, line, columns); err != nil || w.wanted != nil && !w.wanted(&w.match) {
		return err
	}
	w.message.Decode(columns.Raw)
	w.Add(w.match.Segment.Name.Service, record.Record{Time: w.match.Time, Level: columns.Level, Message: w.message})
	if w.Shapes() > maxWorkerShapes {
		w.common.add(w)
	}
	return nil
}
