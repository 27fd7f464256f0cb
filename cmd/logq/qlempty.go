package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"logstow/internal/units"
	"logstow/logql/engine"
	"logstow/logql/labels"
	"logstow/logql/syntax"
	"logstow/query"
	"logstow/query/explain"
)

// maxNamedServices is the maximum number of services that a hint names.
const maxNamedServices = 10

// reasonStage is the reason if there are records that the query excludes.
const reasonStage = "stage"

// printNothing prints that nothing was found, and the likely reasons.
func (r *qlRequest) printNothing(ctx context.Context, stores []query.Store) error {
	from, to := r.sel.From, r.sel.To
	if r.metric() {
		if r.span.open {
			to = r.sel.Now
		}
		if r.step == 0 {
			from = to
		}
	}
	var reasons []query.Reason
	for _, sel := range engine.Selections(r.query, from.UnixNano(), to.UnixNano()) {
		reason, err := r.explainSelection(ctx, stores, sel)
		if err != nil {
			return err
		}
		reasons = append(reasons, reason...)
	}
	stage := func(reason query.Reason) bool { return reason.Code == reasonStage }
	if others := slices.DeleteFunc(slices.Clone(reasons), stage); len(others) > 0 { // of the other operand
		reasons = others
	}
	r.env.printNone(fmt.Sprintf("nothing found %s in %s", r.span, units.Count(len(stores), "store")), slices.Compact(reasons))
	return nil
}

// metric reports whether the query has numbers as its answer.
func (r *qlRequest) metric() bool {
	_, is := r.query.(syntax.SampleExpr)
	return is
}

// explainSelection finds the likely reasons why no record is selected: a label, a level or a service that does not
// exist, or a range without records of the services. No segment is read. Only the end of ctx is an error.
func (r *qlRequest) explainSelection(ctx context.Context, stores []query.Store, sel engine.Selection) ([]query.Reason, error) {
	reason := func(code, format string, args ...any) []query.Reason {
		return []query.Reason{{Code: code, Text: fmt.Sprintf(format, args...)}}
	}
	var services, levels []*syntax.Matcher
	for _, m := range sel.Log.Matchers {
		switch m.Name {
		case labels.Service, "service":
			services = append(services, m)
		case labels.Level, labels.DetectedLevel:
			levels = append(levels, m)
		case labels.Instance, labels.Source:
		default:
			if !m.Matches("") {
				return reason("label-unknown", "no record has the label %s: selectors support service_name, level, instance and source; fields of messages are labels only after | json or | logfmt", m.Name), nil
			}
		}
	}
	if known := append(levelNames(), "unknown"); !slices.ContainsFunc(known, func(name string) bool { return matchAll(levels, name) }) {
		return reason("level-name", "no level matches %s; levels are %s", joined(levels), strings.Join(known, ", ")), nil
	}
	all, failures := query.AllServices(ctx, stores)
	switch {
	case len(failures) > 0:
		return nil, context.Cause(ctx)
	case len(all) == 0:
		return []query.Reason{query.StoreEmpty()}, nil
	}
	q := query.Selection{From: time.Unix(0, sel.From), To: time.Unix(0, sel.To), Now: r.sel.Now}
	q.Services = slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !matchAll(services, name) })
	if len(q.Services) == 0 {
		return reason("service-unknown", "no service matches %s; %s", joined(services), explain.List(all, maxNamedServices)), nil
	}
	compiled, err := query.New(stores, q, r.opts)
	if err != nil {
		return nil, err
	}
	p, err := compiled.Plan(ctx)
	switch {
	case err != nil:
		return nil, context.Cause(ctx)
	case len(p.Segments) > 0 && filtersUnparsed(sel.Log):
		return reason(reasonStage, "the services have records in the range, but a filter excludes them all; fields of JSON and logfmt are labels only after | json or | logfmt"), nil
	case len(p.Segments) > 0:
		if r.metric() {
			return reason(reasonStage, "the services have records in the window, but a label, a line filter, a stage or a comparison excludes them all, or absent_over_time finds some; try the selector alone"), nil
		}
		return reason(reasonStage, "the services have records in the range, but a label, a line filter or a stage excludes them all; try the selector alone"), nil
	case !r.metric() || r.step > 0:
		return compiled.Explain(ctx, p, !r.ranged)
	}
	text := "without --step a metric query is evaluated once, at the end of the range: its window of " + short(q.To.Sub(q.From)) + " has no records"
	if newest, service, found, err := compiled.Newest(ctx); err == nil && found {
		text += fmt.Sprintf("; the newest record is from %s (%s)", newest.In(r.sel.Now.Location()).Format(time.RFC3339), service)
	}
	return reason("range-empty", "%s", text), nil
}

// filtersUnparsed reports whether a query filters by labels and has no parser that makes any.
func filtersUnparsed(log *syntax.LogExpr) bool {
	filters := false
	for _, stage := range log.Stages {
		switch stage.(type) {
		case *syntax.LabelFilter:
			filters = true
		case *syntax.JSONParser, *syntax.LogfmtParser, *syntax.RegexpParser, *syntax.PatternParser, *syntax.UnpackParser:
			return false
		}
	}
	return filters
}

// matchAll reports whether all matchers match a value.
func matchAll(matchers []*syntax.Matcher, value string) bool {
	return !slices.ContainsFunc(matchers, func(m *syntax.Matcher) bool { return !m.Matches(value) })
}

// joined are matchers as they are written.
func joined(matchers []*syntax.Matcher) string {
	var texts []string
	for _, m := range matchers {
		texts = append(texts, m.String())
	}
	return strings.Join(texts, ", ")
}
