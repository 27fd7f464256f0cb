package query

import (
	"context"
	"slices"
	"time"

	"logstow/query/explain"

	"logstow/record"
)

// ExplainOptions are what [Query.Explain] is told.
type ExplainOptions struct {
	// Defaulted is set if the user gave no range.
	Defaulted bool
	// Services are the services that exist for the user; nil is those of the stores.
	Services []string
}

// Explain returns the likely reasons why a plan of the query has no match, the likeliest first. Call it after reading the plan.
//
// It mainly uses what the query has listed and read. If nothing was listed for a service, or nothing in the range, it lists the
// names of services, and the newest records as [Query.Newest] does. If a level was selected and there are outputs of compaction
// or several stores, it plans again without the level, to count each record once. If the patterns are not found, and the segments are
// small and cost nothing to read, it reads them again to count matches in another case. If a listing fails, the reasons that need it
// are missing; only the end of ctx is an error.
func (q *Query) Explain(ctx context.Context, p *Plan, opts ExplainOptions) ([]Reason, error) {
	e := explain.NewEvidence(q.findings, q.matcher, p.Segments)
	e.Defaulted, e.Indexed = opts.Defaulted, q.opts.Plan == PlanIndex
	none := e.Segments+e.Foreign == 0
	if opts.Services != nil {
		e.Services, e.ServicesKnown = opts.Services, true
	} else if none || !q.findings.ListedAll(q.matcher.Selection.Services) {
		q.listServices(ctx, e)
	}
	selected := 0
	for _, name := range e.Services {
		if q.matcher.Selection.MatchesService(name) {
			selected++
		}
	}
	if none && selected > 0 && selected <= maxNewest {
		if last, service, found, err := q.Newest(ctx); err == nil && found {
			e.Newest, e.NewestOf = last, service
			if err := q.findNearest(ctx, e); err != nil {
				return nil, err
			}
		}
	}
	if q.matcher.Selection.Levels == 0 || q.findings.HaveOutputs() || len(q.stores) > 1 {
		levels, err := q.countLevels(ctx, p)
		if err != nil {
			return nil, err
		}
		e.SetCounts(levels, q.countRecords(ctx, p.Segments))
	}
	if e.WantsOtherCase() && q.Bound(p).CostUSD == 0 {
		e.SetOtherCase(q.countOtherCase(ctx))
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return explain.Reasons(e), nil
}

// listServices adds the services of the stores to the evidence.
func (q *Query) listServices(ctx context.Context, e *explain.Evidence) {
	ctx, done := q.meter.StepContext(ctx)
	defer done()
	services, failures := AllServices(ctx, q.stores)
	e.Services, e.ServicesKnown = services, len(failures) == 0
}

// MissingServices returns reasons for selected services, and globs, that no store has, although others have matches. Call it after
// reading the plan. It lists the names of services only if nothing was listed for one of them.
func (q *Query) MissingServices(ctx context.Context) []Reason {
	if q.findings.ListedAll(q.matcher.Selection.Services) {
		return nil
	}
	e := explain.NewEvidence(q.findings, q.matcher, nil)
	q.listServices(ctx, e)
	return explain.MissingServices(e)
}

// countOtherCase counts the records that match if the case of the patterns is ignored; 0 if they cannot be read. The report of the
// query does not include it.
func (q *Query) countOtherCase(ctx context.Context) uint64 {
	sel := *q.matcher.Selection
	sel.IgnoreCase, sel.Limit = true, 0
	other, err := New(q.given, sel, q.opts)
	if err != nil {
		return 0
	}
	p, err := other.Plan(ctx)
	if err != nil {
		return 0
	}
	n, err := other.Count(ctx, p)
	if err != nil {
		return 0
	}
	return n
}

// nearestDistances are the distances around the range in which records are looked for, each with a listing.
func nearestDistances() []time.Duration {
	return []time.Duration{time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour}
}

// findNearest finds the records nearest to a range that is before the newest records.
func (q *Query) findNearest(ctx context.Context, e *explain.Evidence) error {
	sel := *q.matcher.WithoutConditions().Selection
	from, to := sel.From, sel.To
	converts := func(s Store) bool { return s.Archive != nil } // other ranges would be read, not listed
	if !e.Newest.After(to) || to.After(sel.Now) || slices.ContainsFunc(q.stores, converts) {
		return nil
	}
	for _, distance := range nearestDistances() {
		sel.From, sel.To = from.Add(-distance), to.Add(distance)
		other, err := q.With(sel)
		if err != nil {
			return err
		}
		p, err := other.Plan(ctx)
		if err != nil {
			return err
		}
		for _, s := range p.Segments {
			e.AddNear(time.Unix(0, s.Meta.Start), time.Unix(0, s.Meta.End), s.Name.Service)
		}
		if len(p.Segments) > 0 {
			break
		}
	}
	return nil
}

// MissingFields returns reasons for fields that do not occur in the records that the query read, or in a sample of them: fields
// in named, and fields in Selection.Where that are probably misspelled. Call it after reading the plan.
func (q *Query) MissingFields(named []string) []Reason { return q.findings.Missing(q.matcher, named) }

// countLevels counts the records of the segments in the range of a plan by level, each record once.
func (q *Query) countLevels(ctx context.Context, p *Plan) (levels record.Counts, err error) {
	if q.matcher.Selection.Levels != 0 { // the plan does not have segments without these levels
		if p, err = q.with(q.matcher.WithoutConditions()).Plan(ctx); err != nil {
			return levels, err
		}
	}
	for _, s := range p.Segments {
		levels.Add(q.levelsOf(ctx, s))
	}
	return levels, nil
}

// countRecords returns the number of records of a plan's segments.
func (q *Query) countRecords(ctx context.Context, segments []*Segment) (n uint64) {
	for _, s := range segments {
		n += q.levelsOf(ctx, s).Total()
	}
	return n
}

// levelsOf counts the records of a segment by level, without those of excluded inputs.
func (q *Query) levelsOf(ctx context.Context, s *Segment) record.Counts {
	levels := s.Meta.Levels
	if s.Excluded == nil {
		return levels
	}
	ctx, done := q.meter.StepContext(ctx)
	defer done()
	for i, input := range q.fetcher.Inputs(ctx, s) {
		if s.Excluded[i] {
			for l, n := range input.Levels {
				levels[l] -= n
			}
		}
	}
	return levels
}

// maxNewest is the maximum number of services of which Explain finds the newest record.
const maxNewest = 100
