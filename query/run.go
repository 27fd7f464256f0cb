package query

import (
	"context"
	"errors"
	"slices"
	"time"

	"logstow/blobnaming"
	"logstow/query/fetch"
	"logstow/query/fieldstats"
	"logstow/query/merge"
	"logstow/query/plan"
	"logstow/query/sorting"
	"logstow/query/source"
	"logstow/query/stats"
)

// Plan is the list of segments that a query has to read.
type Plan struct {
	// Segments are in the order of [source.Compare].
	Segments []*Segment
}

// Plan finds the segments that may contain matches. A listing that fails is a problem in the report; only the end of ctx is an
// error.
func (q *Query) Plan(ctx context.Context) (*Plan, error) {
	ctx, done := q.meter.StepContext(ctx)
	defer done()
	found, err := q.planner().Find(ctx)
	if err != nil {
		return nil, err
	}
	if q.opts.Tiers {
		plan.FindTiers(ctx, found)
	}
	slices.SortFunc(found, source.Compare)
	certify := func(s *Segment) error { return q.fetcher.Certify(ctx, s) }
	segments := q.fetcher.HideContained(ctx, plan.Dedupe(q.recorder, found, certify))
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return &Plan{Segments: segments}, nil
}

// StoredSince finds the segments that may contain matches and that were stored at since or later, except outputs of compaction.
// It also returns the latest time at which a segment of the range was stored. Memory does not grow with the length of listings.
func (q *Query) StoredSince(ctx context.Context, since time.Time) (found []*Segment, latest time.Time, err error) {
	ctx, done := q.meter.StepContext(ctx)
	defer done()
	p := q.planner()
	p.Indexed, p.Since = false, &since
	return p.FindLatest(ctx)
}

// Newest finds the time of the newest record of the selected services, regardless of the range, and its service. It lists prefixes
// from the newest year down, with nine requests for each service. found is false if there are no records.
func (q *Query) Newest(ctx context.Context) (last time.Time, service string, found bool, err error) {
	ctx, done := q.meter.StepContext(ctx)
	defer done()
	return q.planner().Newest(ctx)
}

// Run calls emit with the matches of a plan in output order, until the limit. It returns an error of emit, of ctx, or of the
// temporary file. Read failures are in the report instead.
func (q *Query) Run(ctx context.Context, p *Plan, emit func(Match) error) error {
	done := merge.NewResumer(q.order(), emit)
	return q.step(ctx, p, q.matcher.Selection.Limit, func(ctx context.Context, s *merge.Scheduler, segments []*Segment) error {
		return merge.Run(ctx, s, segments, q.opts.Memory, q.opts.TempDir, done.Resume())
	})
}

// RunContext is Run, and also emits the records around each match that have the same source and instance, are in the range of the
// selection, and at most an hour from the match. Matches are in output order. The records around a match come right before and
// after it, so records of several sources are not in order of time. Each record is emitted once.
func (q *Query) RunContext(ctx context.Context, p *Plan, lines ContextLines, emit func(Match) error) error {
	w := merge.NewContextCollector(q.matcher, q.order(), lines, emit)
	err := q.Run(ctx, p, func(m Match) error {
		w.AddMatch(&m)
		return nil
	})
	if err != nil || !w.HasMatches() {
		return err
	}
	every := q.with(q.matcher.WithoutConditions())
	if q.matcher.Selection.Levels != 0 { // the plan does not have segments without these levels
		if p, err = every.Plan(ctx); err != nil {
			return err
		}
	}
	return every.Run(ctx, &Plan{Segments: w.NearSegments(p.Segments)}, w.Add)
}

// Count returns the number of matches of a plan, regardless of the limit. It reads text only if metadata, footers and columns do
// not suffice.
func (q *Query) Count(ctx context.Context, p *Plan) (n uint64, err error) {
	err = q.step(ctx, p, 0, func(ctx context.Context, s *merge.Scheduler, segments []*Segment) error {
		n = stats.Count(ctx, s, segments)
		return context.Cause(ctx)
	})
	return n, err
}

// Stats computes functions of groups of the matches of a plan. The limit of the selection does not apply. It reads text only if
// metadata, footers and columns do not suffice. Groups that exceed [Options.GroupMemory] are written to temporary files. The caller
// must close the table.
func (q *Query) Stats(ctx context.Context, p *Plan, c *Computation) (computed *Table, err error) {
	err = q.step(ctx, p, 0, func(ctx context.Context, s *merge.Scheduler, segments []*Segment) (err error) {
		computed, err = c.Run(ctx, s, segments, q.opts.GroupMemory, q.opts.TempDir)
		return err
	})
	if err != nil && computed != nil {
		return nil, errors.Join(err, computed.Close())
	}
	return computed, err
}

// Sort calls emit with the matches of a plan in order of their values, until the limit, after reading all. Records that exceed
// [Options.GroupMemory] are written to temporary files. With a limit, blocks that cannot have one of the first records according to
// their columns are skipped, and memory does not depend on the number of matches. Selection.Newest does not apply.
func (q *Query) Sort(ctx context.Context, p *Plan, o *SortOrder, emit func(Match) error) error {
	return q.step(ctx, p, 0, func(ctx context.Context, s *merge.Scheduler, segments []*Segment) error {
		return o.Run(ctx, s, segments, sorting.Options{
			Limit:  q.matcher.Selection.Limit,
			Memory: q.opts.GroupMemory,
			Dir:    q.opts.TempDir,
		}, emit)
	})
}

// Fields collects the fields of the matches of a plan. The limit does not apply. With an error it returns what was collected so
// far.
func (q *Query) Fields(ctx context.Context, p *Plan, opts FieldOptions) (found *FieldStats, err error) {
	err = q.step(ctx, p, 0, func(ctx context.Context, s *merge.Scheduler, segments []*Segment) error {
		found = fieldstats.Collect(ctx, s, segments, opts)
		return context.Cause(ctx)
	})
	return found, err
}

// Inputs returns the batches of the inputs of a segment that is an output of compaction, in their order. If they cannot be read, it
// returns none, and the report has a problem.
func (q *Query) Inputs(ctx context.Context, s *Segment) []blobnaming.Batch {
	ctx, done := q.meter.StepContext(ctx)
	defer done()
	var batches []blobnaming.Batch
	for _, input := range q.fetcher.Inputs(ctx, s) {
		batches = append(batches, input.Batch)
	}
	return batches
}

// step calls f with the segments of a plan, and a context that ends before a limit of the options is exceeded. Then it releases the
// fetcher's blocks. If the records of a segment have moved, it calls f again with the segments that have them now.
func (q *Query) step(ctx context.Context, p *Plan, limit int, f func(context.Context, *merge.Scheduler, []*Segment) error) error {
	ctx, done := q.meter.StepContext(ctx)
	defer done()
	for segments := p.Segments; ; {
		attempt, cancel := context.WithCancelCause(ctx)
		err := f(attempt, &merge.Scheduler{Fetcher: q.fetcher.Interruptible(cancel), Order: q.order(), Limit: limit}, segments)
		cancel(nil)
		err = errors.Join(err, q.fetcher.Release())
		var moved *fetch.MovedError
		if !errors.As(err, &moved) {
			return err
		}
		segments = moved.Replace(segments)
	}
}
