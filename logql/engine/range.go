package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"logstow/logql/labels"
	"logstow/logql/pipeline"
	"logstow/logql/syntax"
)

// rangePlan is how a range aggregation is computed.
type rangePlan struct {
	agg     *syntax.RangeAggregation
	log     *syntax.LogExpr
	stages  []syntax.Stage // that the source does not apply
	pipe    *pipeline.Pipeline
	group   *grouper
	windows windows
	bytes   bool // samples of lines are their lengths
	errors  bool // samples with __error__ count
	// fields are the fields that replace lines, nil if lines are needed; numbers has the use of each.
	fields  *Fields
	numbers []numberUse
}

// rangeAggregation computes a range aggregation. outer is the grouping of an aggregation around it that can be computed
// along with it, otherwise nil. Equal range aggregations are computed once.
func (ev *evaluation) rangeAggregation(ctx context.Context, agg *syntax.RangeAggregation, outer *grouper) (*vector, error) {
	if agg.Range.Range == 0 { // no record is in a window
		return ev.emptyRange(agg), nil
	}
	group := ev.rangeGroup(agg, outer)
	key := group.key() + " " + agg.String()
	if v := ev.ranges[key]; v != nil {
		return v, nil
	}
	plan, err := ev.plan(agg, group)
	if err != nil {
		return nil, err
	}
	v, err := ev.readRange(ctx, plan)
	if err != nil {
		return nil, err
	}
	ev.ranges[key] = v
	return v, nil
}

// emptyRange is the result of a range aggregation over no records.
func (ev *evaluation) emptyRange(agg *syntax.RangeAggregation) *vector {
	if agg.Op == syntax.AbsentOver {
		return absent(agg.Range.Log.Matchers, &vector{}, ev.steps)
	}
	return &vector{}
}

// rangeGroup returns the grouping of the series of a range aggregation. Without one, series have all labels except error
// labels (unless a filter selects them), the unwrapped label, and metadata that the query does not name.
func (ev *evaluation) rangeGroup(agg *syntax.RangeAggregation, outer *grouper) *grouper {
	g := ev.rangeLabels(agg, outer)
	if g.without {
		g.metadata = named(g.names).hiddenMetadata()
	}
	return g
}

func (ev *evaluation) rangeLabels(agg *syntax.RangeAggregation, outer *grouper) *grouper {
	if agg.Op == syntax.AbsentOver {
		return newGrouper(false)
	}
	excluded := slices.Clone(ev.hidden)
	if !selectsErrors(agg.Range) {
		excluded = append(excluded, labels.Error, labels.ErrorDetails)
	}
	if u := agg.Range.Unwrap; u != nil {
		excluded = append(excluded, u.Label)
	}
	switch {
	case agg.Grouping != nil && agg.Grouping.Without:
		return newGrouper(true, append(excluded, agg.Grouping.Labels...)...)
	case agg.Grouping != nil:
		return newGrouper(false, agg.Grouping.Labels...)
	case outer == nil:
		return newGrouper(true, excluded...)
	case outer.without:
		return newGrouper(true, append(excluded, outer.names...)...)
	}
	names := outer.names
	if u := agg.Range.Unwrap; u != nil && (agg.Op == syntax.MinOver || agg.Op == syntax.MaxOver) { // Loki only groups within a sum
		names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == u.Label })
	}
	return newGrouper(false, names...)
}

// maxRange is the maximum length of a range, and of an offset: times in Unix nanoseconds have 292 years each way.
const maxRange = 36_500 * 24 * time.Hour

func (ev *evaluation) plan(agg *syntax.RangeAggregation, group *grouper) (*rangePlan, error) {
	r := agg.Range
	if r.Range <= 0 {
		return nil, fmt.Errorf("%w: the range of %s must be positive", ErrQuery, agg.Op)
	}
	if max(r.Range, r.Offset, -r.Offset) > maxRange {
		return nil, fmt.Errorf("%w: the range and the offset of %s must be at most %d days", ErrQuery, agg.Op, int(maxRange.Hours()/24))
	}
	if err := ev.checkTimes(r); err != nil {
		return nil, err
	}
	reads := r.Unwrap != nil || group.without || len(group.names) > 0
	log := Simplify(&syntax.LogExpr{Matchers: r.Log.Matchers, Stages: pipeline.Needed(r.Log.Stages, reads)})
	p := &rangePlan{agg: agg, log: log, stages: log.Stages[ev.engine.Source.Applied(log):], group: group}
	p.bytes = agg.Op == syntax.BytesOver || agg.Op == syntax.BytesRate
	p.errors = selectsErrors(r)
	p.windows = newWindows(ev.params.Start-int64(r.Offset)-int64(r.Range), int64(ev.params.Step), int64(r.Range), ev.steps)
	var needed []string
	if !group.without {
		needed = slices.Concat(group.names, group.aliased)
		if !readsParsed(p.stages, r.Unwrap, needed) {
			needed = append(needed, labels.Error) // otherwise parsers stop at the last label, as Loki's do
		}
		needed = append([]string{}, sortedSet(needed)...) // nil is all labels
	}
	var err error
	if p.pipe, err = valid(pipeline.Compile(p.stages, r.Unwrap, needed)); err != nil {
		return nil, err
	}
	if p.fields = p.requiredFields(); p.fields != nil {
		p.numbers = usesOf(p.fields.Columns, slices.Concat(group.names, group.aliased), p.stages, r.Unwrap)
	}
	return p, nil
}

// checkTimes checks that the windows of a range, and the time from the start of the first to the end of the last, are numbers of
// nanoseconds: interval and sums of times would overflow.
func (ev *evaluation) checkTimes(r *syntax.LogRange) error {
	const most = 9.2e18 // less than 2^63
	start := float64(ev.params.Start) - float64(r.Offset) - float64(r.Range)
	length := float64(ev.steps-1)*float64(ev.params.Step) + float64(r.Range)
	if start < -most || length > most || start+length > most {
		return fmt.Errorf("%w: the windows of a range must be between the years 1678 and 2261, and 291 years altogether: shorten the range of the query, or that of %v",
			ErrQuery, r.Range)
	}
	return nil
}

// readsParsed reports whether a label matters that parsers may find: one of needed, of a stage or of unwrap.
func readsParsed(stages []syntax.Stage, unwrap *syntax.Unwrap, needed []string) bool {
	isParsed := func(name string) bool { return !slices.Contains(sourceLabels(), name) && !labels.IsError(name) }
	if unwrap != nil || slices.ContainsFunc(needed, isParsed) {
		return true
	}
	return slices.ContainsFunc(stages, func(s syntax.Stage) bool {
		names, all := pipeline.Reads(s)
		return all || slices.ContainsFunc(names, isParsed)
	})
}

// selectsErrors reports whether a range has a filter that lets samples with __error__ through: they are wanted.
func selectsErrors(r *syntax.LogRange) bool {
	selects := func(f *syntax.LabelFilter) bool { return selectsError(f.Condition) }
	return r.Unwrap != nil && slices.ContainsFunc(r.Unwrap.Filters, selects) ||
		slices.ContainsFunc(r.Log.Stages, func(s syntax.Stage) bool {
			f, ok := s.(*syntax.LabelFilter)
			return ok && selects(f)
		})
}

func selectsError(c syntax.Condition) bool {
	return slices.ContainsFunc(syntax.Leaves(c), func(leaf syntax.Condition) bool {
		x, isText := leaf.(*syntax.StringCondition)
		return isText && x.Matcher.Name == labels.Error && (x.Matcher.Op != syntax.MatchEqual || x.Matcher.Value != "")
	})
}

// readRange reads the samples of a range aggregation and computes its result.
func (ev *evaluation) readRange(ctx context.Context, p *rangePlan) (*vector, error) {
	seconds := p.agg.Range.Range.Seconds()
	switch op := p.agg.Op; op {
	case syntax.CountOver:
		return evalCounts(ctx, ev, p, func(c *countCell) float64 { return float64(c.n) })
	case syntax.Rate:
		if p.agg.Range.Unwrap == nil {
			return evalCounts(ctx, ev, p, func(c *countCell) float64 { return float64(c.n) / seconds })
		}
		return evalCells(ctx, ev, p, func(c *sumCell) float64 { return c.total() / seconds })
	case syntax.BytesRate:
		return evalCells(ctx, ev, p, func(c *sumCell) float64 { return c.total() / seconds })
	case syntax.BytesOver, syntax.SumOver:
		return evalCells(ctx, ev, p, (*sumCell).total)
	case syntax.AvgOver:
		return evalCells(ctx, ev, p, (*sumCell).mean)
	case syntax.MinOver:
		return evalCells(ctx, ev, p, func(c *extremeCell) float64 { return c.min })
	case syntax.MaxOver:
		return evalCells(ctx, ev, p, func(c *extremeCell) float64 { return c.max })
	case syntax.FirstOver:
		return evalCells(ctx, ev, p, func(c *edgeCell) float64 { return c.first.value })
	case syntax.LastOver:
		return evalCells(ctx, ev, p, func(c *edgeCell) float64 { return c.last.value })
	case syntax.StdvarOver:
		return evalCells(ctx, ev, p, (*varianceCell).variance)
	case syntax.StddevOver:
		return evalCells(ctx, ev, p, (*varianceCell).deviation)
	case syntax.RateCounter:
		return evalCounters(ctx, ev, p)
	case syntax.QuantileOver:
		return evalQuantiles(ctx, ev, p)
	case syntax.AbsentOver:
		v, err := evalCounts(ctx, ev, p, func(c *countCell) float64 { return float64(c.n) })
		if err != nil {
			return nil, err
		}
		return absent(p.agg.Range.Log.Matchers, v, ev.steps), nil
	}
	return nil, fmt.Errorf("%w: the range aggregation %s does not exist", ErrQuery, p.agg.Op)
}

// absent is 1 where v has no value, with the labels that matchers define.
func absent(matchers []*syntax.Matcher, v *vector, steps int) *vector {
	var ls []labels.Label
	times := map[string]int{}
	for _, m := range matchers {
		times[m.Name]++
		if m.Op == syntax.MatchEqual {
			ls = append(ls, labels.Label{Name: m.Name, Value: m.Value})
		}
	}
	ls = slices.DeleteFunc(ls, func(l labels.Label) bool { return times[l.Name] > 1 })
	c := &collector{steps: steps}
	out := c.of(labels.New(ls...))
	for k := range steps {
		if !slices.ContainsFunc(v.series, func(s *series) bool { return present(s.values[k]) }) {
			out.values[k] = 1
		}
	}
	return c.vector()
}
