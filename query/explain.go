package query

import (
	"context"

	"logstow/query/explain"

	"logstow/record"
)

// Explain returns the likely reasons why a plan of the query has no match, the likeliest first. Call it after reading the plan.
// defaulted is set if the user gave no range.
//
// It mainly uses what the query has listed and read. If nothing was listed for a service, or nothing in the range, it lists the
// names of services, and the newest records as [Query.Newest] does. If a level was selected and there are outputs of compaction
// or several stores, it plans again without the level, to count each record once. If a listing fails, the reasons that need it
// are missing; only the end of ctx is an error.
func (q *Query) Explain(ctx context.Context, p *Plan, defaulted bool) ([]Reason, error) {
	e := explain.NewEvidence(q.findings, q.matcher, p.Segments)
	e.Defaulted, e.Indexed = defaulted, q.opts.Plan == PlanIndex
	none := e.Segments+e.Foreign == 0
	if none || !q.findings.ListedAll(q.matcher.Selection.Services) {
		step, done := q.meter.StepContext(ctx)
		services, failures := AllServices(step, q.stores)
		done()
		e.Services, e.ServicesKnown = services, len(failures) == 0
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
		}
	}
	if q.matcher.Selection.Levels == 0 || q.findings.HaveOutputs() || len(q.stores) > 1 {
		levels, err := q.countLevels(ctx, p)
		if err != nil {
			return nil, err
		}
		e.SetCounts(levels, q.countRecords(ctx, p.Segments))
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return explain.Reasons(e), nil
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
