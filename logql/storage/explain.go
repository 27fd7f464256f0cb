package storage

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"logstow/field"
	"logstow/internal/units"
	"logstow/logql/engine"
	"logstow/logql/syntax"
	"logstow/query"
	"logstow/query/explain"
)

// ExplainOptions are what [View.Explain] is told.
type ExplainOptions struct {
	// Defaulted is set if the user gave no range.
	Defaulted bool
	// Metric is set for a selection of a metric query, Instant if that is evaluated at one time.
	Metric, Instant bool
}

// Explain returns the likely reasons why the selections of a query find no record, each once, the likeliest first, by the rules of
// [query.Query.Explain].
// It searches the newest records of the range, at most 64 MiB as stored, for the line filters, and looks at some that they find, with the
// limits of the request. If
// something could not be read, it returns no reasons; only the end of ctx is an error.
func (v *View) Explain(ctx context.Context, selections []engine.Selection, opts ExplainOptions) (reasons []query.Reason, err error) {
	for _, sel := range selections {
		found, err := v.explain(ctx, sel, opts)
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			if !slices.ContainsFunc(reasons, func(other query.Reason) bool { return other.Text == r.Text }) {
				reasons = append(reasons, r)
			}
		}
	}
	stage := func(r query.Reason) bool { return r.Code == explain.CodeStage }
	if others := slices.DeleteFunc(slices.Clone(reasons), stage); len(others) > 0 { // of the other operand
		return others, nil
	}
	return reasons, nil
}

// explain is Explain for one selection.
func (v *View) explain(ctx context.Context, sel engine.Selection, opts ExplainOptions) ([]query.Reason, error) {
	if v.err != nil || sel.From >= sel.To {
		return nil, v.err
	}
	x := &explanation{view: v, sel: sel, log: engine.Simplify(sel.Log), opts: opts}
	reasons, err := x.reasons(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, engine.ErrQuery), errors.Is(err, query.ErrBudget), errors.Is(err, ErrIncomplete):
		return nil, nil
	}
	return reasons, err
}

// MissingServices returns reasons for services that selections name one by one and that no store has, although others have records. It
// lists the names of services only if nothing was listed for one of them.
func (v *View) MissingServices(ctx context.Context, all []engine.Selection) []query.Reason {
	var named []string
	for _, sel := range all {
		names, _ := namedServices(sortMatchers(engine.Simplify(sel.Log).Matchers)[field.Service])
		named = append(named, names...)
	}
	if len(named) == 0 {
		return nil
	}
	slices.Sort(named)
	now := v.storage.now()
	q, err := v.first.With(query.Selection{Services: slices.Compact(named), From: now, To: now.Add(1), Now: now})
	if err != nil {
		return nil
	}
	return q.MissingServices(ctx)
}

// explanation explains why a selection finds nothing.
type explanation struct {
	view *View
	sel  engine.Selection
	log  *syntax.LogExpr // simplified
	opts ExplainOptions
	// services are those that exist for the request.
	services []string
	// read is the time of the first record of the segments that are read, in Unix nanoseconds; 0 if none is.
	read int64
}

func (x *explanation) reasons(ctx context.Context) (_ []query.Reason, err error) {
	if x.services, err = x.view.services(ctx, x.sel, nil); err != nil {
		return nil, err
	}
	if len(x.services) == 0 {
		return []query.Reason{explain.StoreEmpty()}, nil
	}
	conditions, reason := x.selection()
	if reason != nil {
		return []query.Reason{*reason}, nil
	}
	opts := x.view.storage.opts
	opts.Unexplained = false
	opts.MaxBytes, opts.MaxCost = cmp.Or(x.view.access.MaxBytes, opts.MaxBytes), cmp.Or(x.view.access.MaxCost, opts.MaxCost)
	q, err := query.New(x.view.storage.stores, conditions, opts)
	if err != nil {
		return nil, err
	}
	defer func() { x.view.beside.Add(q.Report()) }()
	p, err := q.Plan(ctx)
	if err != nil {
		return nil, err
	}
	found, some := false, x.newest(p)
	err = q.Run(ctx, some, func(query.Match) error {
		found = true
		return nil
	})
	if report := q.Report(); err != nil || len(report.Problems) > 0 {
		return nil, err
	}
	switch {
	case found:
		return x.stages(ctx)
	case len(some.Segments) < len(p.Segments) && x.filtersLabels():
		return x.unknown(), nil
	}
	if len(p.Segments) == 0 && x.opts.Instant {
		return x.window(ctx, q), nil
	}
	reasons, err := q.Explain(ctx, p, query.ExplainOptions{Defaulted: x.opts.Defaulted, Services: x.services})
	return x.parsed(ctx, reasons), err
}

// explainedBytes is the maximum stored size of the segments that are read to explain an empty result.
const explainedBytes = 64 << 20

// newest is the part of a plan that is read: the newest segments that are not too large.
func (x *explanation) newest(p *query.Plan) *query.Plan {
	some, size := &query.Plan{}, int64(0)
	for _, s := range slices.Backward(p.Segments) {
		if size+s.Size <= explainedBytes {
			some.Segments, size = append(some.Segments, s), size+s.Size
			x.read = min(cmp.Or(x.read, s.Meta.Start), s.Meta.Start)
		}
	}
	slices.Reverse(some.Segments)
	return some
}

// filtersLabels reports whether the query has more conditions than its line filters and those on streams.
func (x *explanation) filtersLabels() bool {
	return slices.ContainsFunc(x.log.Stages, func(s syntax.Stage) bool { _, line := s.(*syntax.LineFilter); return !line }) ||
		slices.ContainsFunc(x.log.Matchers, selectsAttributes)
}

// selection is the query by its matchers and line filters, without matchers of attributes. If no record can match, the reason
// is why.
func (x *explanation) selection() (query.Selection, *query.Reason) {
	now := x.view.storage.now()
	conditions := query.Selection{
		From:        time.Unix(0, x.sel.From).In(now.Location()),
		To:          time.Unix(0, x.sel.To).In(now.Location()),
		Now:         now,
		Limit:       1,
		Substring:   true,
		MessageOnly: true,
	}
	sorted := sortMatchers(x.log.Matchers)
	for _, m := range sorted[field.Instance] {
		if m.Op == syntax.MatchEqual {
			conditions.Where = append(conditions.Where, "instance == "+strconv.Quote(m.Value))
		}
	}
	for _, m := range sorted[field.Source] {
		if m.Op == syntax.MatchEqual {
			conditions.Sources = append(conditions.Sources, explain.Glob(m.Value))
		}
	}
	levels, ok := levelsOf(sorted[field.Level])
	if !ok {
		return conditions, unknownLevels(sorted[field.Level])
	}
	conditions.Levels = levels
	conditions.Services = slices.DeleteFunc(slices.Clone(x.services),
		func(name string) bool { return !allMatch(sorted[field.Service], name) })
	if len(conditions.Services) == 0 {
		return conditions, x.unknownService(sorted[field.Service])
	}
	addLines(&conditions, x.log.Stages)
	return conditions, nil
}

// addLines adds line filters, up to a stage that may change lines. Texts whose case is ignored are patterns if all are.
func addLines(conditions *query.Selection, stages []syntax.Stage) {
	var f filters
	var folded []string
	for _, stage := range stages {
		line, ok := stage.(*syntax.LineFilter)
		if !ok {
			if _, filter := stage.(*syntax.LabelFilter); filter {
				continue
			}
			break
		}
		if text, ok := line.Folded(); ok && line.Op == syntax.LineRegexp {
			folded = append(folded, text)
			continue
		}
		f.addLine(line)
	}
	conditions.Patterns, conditions.IDs, conditions.Regexps, conditions.Excludes = f.Patterns, f.IDs, f.Regexps, f.Excludes
	if len(f.Patterns)+len(f.IDs)+len(f.Excludes) == 0 {
		conditions.Patterns, conditions.IgnoreCase = folded, len(folded) > 0
		return
	}
	for _, text := range folded {
		conditions.Regexps = append(conditions.Regexps, syntax.Fold(text))
	}
}

// window is the reason if the only window of a metric query has no records.
func (x *explanation) window(ctx context.Context, q *query.Query) []query.Reason {
	r := query.Reason{Code: "range-empty", Fact: "its window of " + units.FormatDuration(time.Duration(x.sel.To-x.sel.From)) + " has no records"}
	if newest, service, found, err := q.Newest(ctx); err == nil && found {
		r.Fact += "; the newest record is from " + newest.In(x.view.storage.now().Location()).Format(time.RFC3339) + " (" + service + ")"
	}
	r.Text = "without --step a metric query is evaluated once, at the end of the range: " + r.Fact
	return []query.Reason{r}
}

// reasonOf makes a reason about a part of the query.
func reasonOf(code, culprit, text string, corrections ...explain.Correction) *query.Reason {
	return &query.Reason{Code: code, Text: text, Culprits: []string{culprit}, Corrections: corrections}
}
