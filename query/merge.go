package query

import (
	"context"
	"errors"
)

// errLimitReached ends a run that has emitted as many records as were wanted.
var errLimitReached = errors.New("limit reached")

// merging emits the matches of segments in output order.
type merging struct {
	scheduler
	// memory is the number of bytes of records that may wait to be merged before some go
	// through a temporary file in tempDir ("" is the system's).
	memory  int64
	tempDir string
}

// run reads the segments of a plan and emits their matches in output order, until the limit. It
// returns emit's error, or that of ctx, or one of the temporary file; what cannot be read is
// in the report instead.
func (m *merging) run(ctx context.Context, segments []*Segment, emit func(Match) error) (err error) {
	spill := &spillFile{dir: m.tempDir, segments: segments}
	defer func() { err = errors.Join(err, spill.close()) }()
	left := m.limit
	merged := newMerger(m.order, m.memory, spill, func(match Match) error {
		if err := emit(match); err != nil {
			return err
		}
		if left--; left == 0 {
			return errLimitReached
		}
		return nil
	})
	type found struct {
		matches *blockMatches
		start   key
	}
	find := func(ctx context.Context, t *task) found { return found{m.find(ctx, t), m.order.start(t)} }
	for f := range orderedParallel(ctx, m.blockWindow(), m.blocks(ctx, segments), (*task).weight, find) {
		if err = merged.add(f.matches, f.start); err != nil || ctx.Err() != nil {
			break
		}
	}
	m.rec.BytesSpilled.Add(spill.size)
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
