package query

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Plan is what a query has to read: known in full before the first segment is opened.
type Plan struct {
	// Segments are in the order of records of equal time.
	Segments []*Segment
}

// Plan finds the segments that may hold wanted records. What cannot be listed
// is a problem of the report; only the end of ctx is an error.
func (q *Query) Plan(ctx context.Context) (*Plan, error) {
	ctx, done := q.meter.stepContext(ctx)
	defer done()
	found, err := q.planner().find(ctx)
	if err != nil {
		return nil, err
	}
	if q.opts.Tiers {
		findTiers(ctx, found)
	}
	slices.SortFunc(found, compareSegments)
	segments := q.fetcher.dropReplaced(ctx, dedupe(q.rec, found))
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for i, s := range segments {
		s.rank = i
	}
	return &Plan{Segments: segments}, nil
}

// Newest finds the last time of which the selected services have a record, in
// any range, and the service. It walks the names' prefixes from the newest year
// down to one hour, five requests a service; found is false where there is nothing.
func (q *Query) Newest(ctx context.Context) (last time.Time, service string, found bool, err error) {
	ctx, done := q.meter.stepContext(ctx)
	defer done()
	return q.planner().newest(ctx)
}

// Run hands the records of a plan to emit in output order, until the limit. It
// returns emit's error, or that of ctx, or one of the temporary file; what
// cannot be read is in the report instead.
func (q *Query) Run(ctx context.Context, p *Plan, emit func(Match) error) error {
	return q.step(ctx, func(ctx context.Context) error {
		m := merging{scheduler: q.scheduler(), memory: q.opts.Memory, tempDir: q.opts.TempDir}
		return m.run(ctx, p.Segments, emit)
	})
}

// RunContext is Run, and hands out records around each match too: of the same
// source of the same instance, inside the range of the selection, and not further
// from the match than [ContextReach]. Matches are in output order; what is around
// one comes right before and after it, so that of several sources it is not in the
// order of time. Each record is handed out once.
func (q *Query) RunContext(ctx context.Context, p *Plan, lines ContextLines, emit func(Match) error) error {
	w := newContextCollector(q.matcher, q.scheduler().order, lines, emit)
	err := q.Run(ctx, p, func(m Match) error {
		w.addMatch(&m)
		return nil
	})
	if err != nil || w.left == 0 {
		return err
	}
	every := q.with(q.matcher.withoutConditions())
	if q.matcher.sel.Levels != 0 { // the plan lacks segments of other levels
		if p, err = every.Plan(ctx); err != nil {
			return err
		}
	}
	err = every.Run(ctx, &Plan{Segments: w.nearSegments(p.Segments)}, w.add)
	if errors.Is(err, errLimitReached) {
		return nil
	}
	return err
}

// Count is the number of records of a plan that match, regardless of the limit. What metadata
// and footers answer is not read.
func (q *Query) Count(ctx context.Context, p *Plan) (n uint64, err error) {
	err = q.step(ctx, func(ctx context.Context) error {
		n = countMatches(ctx, q.scheduler(), p.Segments)
		return context.Cause(ctx)
	})
	return n, err
}

// Stats counts the records of a plan that match by the properties by: level,
// minute, hour, day, service, source, instance, or the name of a field of the
// message. Times are those of zone, nil is UTC. The limit does not apply. What
// metadata and footers answer is not read. The counts are exact: if there are more
// groups than [Options.GroupMemory] is enough for, there are none, and the error is
// [ErrMemory].
func (q *Query) Stats(ctx context.Context, p *Plan, by []string, zone *time.Location) (stats *Stats, err error) {
	err = q.step(ctx, func(ctx context.Context) error {
		stats, err = countGroups(ctx, q.scheduler(), p.Segments, by, zone, q.opts.GroupMemory)
		return err
	})
	return stats, err
}

// step calls f with a context that ends when a limit of the options would be passed, and releases
// what the fetcher kept for it.
func (q *Query) step(ctx context.Context, f func(context.Context) error) error {
	ctx, done := q.meter.stepContext(ctx)
	defer done()
	return errors.Join(f(ctx), q.fetcher.release())
}
