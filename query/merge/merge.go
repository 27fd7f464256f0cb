// Package merge merges the matches of many segments into one order: (time, instance, sequence of the segment, block, position), or
// its reverse.
//
// Every step is lazy, so that a query for few records reads little. The blocks in flight and the records waiting to be merged are
// bounded; more records are written to a temporary file.
package merge

import (
	"context"
	"errors"

	"logstow/internal/parallel"
	"logstow/query/fetch"
	"logstow/query/source"
)

// errLimitReached ends a run that has emitted all records wanted.
var errLimitReached = errors.New("limit reached")

// Run reads segments and emits their matches in output order, until the limit. memory is the maximum size in bytes of the records
// that wait to be merged; more are written to a temporary file in tempDir ("" is the system's directory). Run returns an error of
// emit, of ctx, or of the temporary file. Read failures are in the report instead.
func Run(ctx context.Context, s *Scheduler, segments []*source.Segment, memory int64, tempDir string, emit func(Match) error) (err error) {
	left := s.Limit
	merged := newMerger(s.Order, memory, tempDir, func(match Match) error {
		if err := emit(match); err != nil {
			return err
		}
		if left--; left == 0 {
			return errLimitReached
		}
		return nil
	})
	defer func() { err = errors.Join(err, merged.open.Close()) }()
	type found struct {
		matches *fetch.Matches
		start   key
	}
	find := func(ctx context.Context, t *fetch.Task) found { return found{s.Find(ctx, t), s.Order.start(t)} }
	for f := range parallel.Ordered(ctx, s.BlockWindow(), s.Blocks(ctx, segments), (*fetch.Task).Weight, find) {
		if ctx.Err() != nil {
			break // records before f may be missing
		}
		if err = merged.add(f.matches, f.start); err != nil {
			break
		}
	}
	s.Recorder.BytesSpilled.Add(merged.open.Written())
	if err == nil && ctx.Err() == nil {
		err = merged.finish()
	}
	switch {
	case errors.Is(err, errLimitReached):
		return nil
	case err == nil && ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}
