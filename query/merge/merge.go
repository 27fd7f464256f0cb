// Package merge puts the matches of many segments into one order: (time, instance, sequence of
// the segment, block, position), or its reverse.
//
// Every step is lazy, so that a query that needs few records reads little, and bounded: blocks in
// flight, records waiting to be merged. What waits beyond its bound goes through a temporary file.
package merge

import (
	"context"
	"errors"

	"logstow/query/fetch"
	"logstow/query/source"
)

// errLimitReached ends a run that has emitted as many records as were wanted.
var errLimitReached = errors.New("limit reached")

// Run reads the segments of a plan and emits their matches in output order, until the limit.
// memory is the number of bytes of records that may wait to be merged before some go through a
// temporary file in tempDir ("" is the system's). It returns emit's error, or that of ctx, or
// one of the temporary file; what cannot be read is in the report instead.
func Run(ctx context.Context, s *Scheduler, segments []*source.Segment, memory int64, tempDir string, emit func(Match) error) (err error) {
	spill := &spillFile{dir: tempDir, segments: make(map[int]*source.Segment, len(segments))}
	for _, segment := range segments {
		spill.segments[segment.Rank] = segment
	}
	defer func() { err = errors.Join(err, spill.close()) }()
	left := s.Limit
	merged := newMerger(s.Order, memory, spill, func(match Match) error {
		if err := emit(match); err != nil {
			return err
		}
		if left--; left == 0 {
			return errLimitReached
		}
		return nil
	})
	type found struct {
		matches *fetch.Matches
		start   key
	}
	find := func(ctx context.Context, t *fetch.Task) found { return found{s.Find(ctx, t), s.Order.start(t)} }
	for f := range fetch.OrderedParallel(ctx, s.BlockWindow(), s.Blocks(ctx, segments), (*fetch.Task).Weight, find) {
		if err = merged.add(f.matches, f.start); err != nil || ctx.Err() != nil {
			break
		}
	}
	s.Recorder.BytesSpilled.Add(spill.size)
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
