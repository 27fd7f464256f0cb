package query

import (
	"context"
	"errors"
	"slices"
	"time"

	"logstow/blobnaming"
	"logstow/field"
	"logstow/query/distinct"
	"logstow/query/fetch"
	"logstow/query/fieldstats"
	"logstow/query/merge"
	"logstow/query/plan"
	"logstow/query/sorting"
	"logstow/query/source"
	"logstow/query/stats"
)

// Plan is the list of segments that a query has to read. It is complete before the first is opened.
type Plan struct {
	// Segments are in the order of records of equal time.
	Segments []*Segment
}

// Plan finds the segments that may contain matches. What cannot be listed
// is a problem of the report; only the end of ctx is an error.
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
	segments := q.fetcher.HideContained(ctx, plan.Dedupe(q.recorder, found))
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return &Plan{Segments: segments}, nil
}

// StoredSince finds the segments that may contain matches and that storage wrote at a time or later, except outputs of compaction; it
// also returns the latest time at which storage wrote any of the range. Lists of any length take little memory.
func (q *Query) StoredSince(ctx context.Context, since time.Time) (found []*Segment, latest time.Time, err error) {
	ctx, done := q.meter.StepContext(ctx)
	defer done()
	p := q.planner()
	p.Indexed, p.Since = false, &since
	return p.FindLatest(ctx)
}

// Newest finds the last time of which the selected services have a record, in
// any range, and the service. It walks the names' prefixes from the newest year
// down to one hour, five requests a service; found is false where there is nothing.
func (q *Query) Newest(ctx context.Context) (last time.Time, service string, found bool, err error) {
	ctx, done := q.meter.StepContext(ctx)
	defer done()
	return q.planner().Newest(ctx)
}

// Run calls emit with the records of a plan in output order, until the limit. It
// returns emit's error, or that of ctx, or one of the temporary file; what
// cannot be read is in the report instead.
func (q *Query) Run(ctx context.Context, p *Plan, emit func(Match) error) error {
	done := merge.NewResumer(q.order(), emit)
	return q.step(ctx, p, q.matcher.Selection.Limit, func(ctx context.Context, s *merge.Scheduler, segments []*Segment) error {
		return merge.Run(ctx, s, segments, q.opts.Memory, q.opts.TempDir, done.Resume())
	})
}

// RunContext is Run, and emits the records around each match too: of the same
// source of the same instance, inside the range of the selection, and not further
// from the match than an hour. Matches are in output order. The records around
// one come right before and after it, so records of several sources are not in the
// order of time. Each record is emitted once.
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
	if q.matcher.Selection.Levels != 0 { // the plan lacks segments of other levels
		if p, err = every.Plan(ctx); err != nil {
			return err
		}
	}
	return every.Run(ctx, &Plan{Segments: w.NearSegments(p.Segments)}, w.Add)
}

// Count is the number of records of a plan that match, regardless of the limit. What metadata
// and footers answer is not read.
func (q *Query) Count(ctx context.Context, p *Plan) (n uint64, err error) {
	err = q.step(ctx, p, 0, func(ctx context.Context, s *merge.Scheduler, segments []*Segment) error {
		n = stats.Count(ctx, s, segments)
		return context.Cause(ctx)
	})
	return n, err
}

// Stats computes functions of groups of the records of a plan that match; the limit of the selection
// does not apply. What metadata and footers answer is not read. Groups that exceed
// [Options.GroupMemory] are written to temporary files. Close the table.
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

// Sort calls emit with the records of a plan in an order by their values, until the limit. All that match are
// read first; what exceeds [Options.GroupMemory] is written to temporary files. With a limit, blocks are left out that
// have none of the first records by their columns, and memory does not depend on the number of matches. Newest of the
// selection does not apply.
func (q *Query) Sort(ctx context.Context, p *Plan, o *SortOrder, emit func(Match) error) error {
	return q.step(ctx, p, 0, func(ctx context.Context, s *merge.Scheduler, segments []*Segment) error {
		return o.Run(ctx, s, segments, sorting.Options{Limit: q.matcher.Selection.Limit, Memory: q.opts.GroupMemory, Dir: q.opts.TempDir}, emit)
	})
}

// Distinct calls emit with the different values of a field of the records of a plan, in the order of their bytes,
// until the limit. All that match are read first, except for what metadata, footers and columns answer; what exceeds
// [Options.GroupMemory] is written to temporary files.
func (q *Query) Distinct(ctx context.Context, p *Plan, name field.Name, emit func(DistinctValue) error) (sum DistinctSummary, err error) {
	err = q.step(ctx, p, 0, func(ctx context.Context, s *merge.Scheduler, segments []*Segment) error {
		opts := distinct.Options{Limit: q.matcher.Selection.Limit, Memory: q.opts.GroupMemory, Dir: q.opts.TempDir}
		sum, err = distinct.Run(ctx, s, segments, name, opts, emit)
		return err
	})
	return sum, err
}

// Fields finds out which fields the messages of a plan's records have. The limit does not apply. It
// also returns what was found before an error.
func (q *Query) Fields(ctx context.Context, p *Plan, opts FieldOptions) (found *FieldStats, err error) {
	err = q.step(ctx, p, 0, func(ctx context.Context, s *merge.Scheduler, segments []*Segment) error {
		found = fieldstats.Collect(ctx, s, segments, opts)
		return context.Cause(ctx)
	})
	return found, err
}

// Inputs are the batches of the inputs of a plan's segment that is an output of compaction, in their
// order. If they cannot be read there are none, and a problem of the report.
func (q *Query) Inputs(ctx context.Context, s *Segment) []blobnaming.Batch {
	ctx, done := q.meter.StepContext(ctx)
	defer done()
	var batches []blobnaming.Batch
	for _, input := range q.fetcher.Inputs(ctx, s) {
		batches = append(batches, input.Batch)
	}
	return batches
}

// step calls f with the segments of a plan, and a context that ends when a limit of the options would
// be passed, and then releases the fetcher's blocks. If the records of a segment have moved meanwhile,
// it calls f again with the segments that have them now.
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
