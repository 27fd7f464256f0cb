// Package storage answers LogQL queries from segments. It is the [engine.Source] over the stores that logq reads, and
// provides the data for the endpoints of labels, volumes, fields and patterns.
//
// Selectors become name prefixes and levels, line filters become literals and regular expressions, and windows are counted
// by footers. Fields that json finds are read from columns.
package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"logstow/logql/engine"
	"logstow/logql/syntax"
	"logstow/query"
)

// ErrIncomplete is wrapped by the error of a request that could not read all that it needed.
var ErrIncomplete = errors.New("the answer would be incomplete")

// Storage is the stores of a server. It is safe for concurrent use.
type Storage struct {
	stores []query.Store
	opts   query.Options
	now    func() time.Time
}

// New makes a storage. opts apply to each request; [Storage.View] may override its limits. now is the clock.
func New(stores []query.Store, opts query.Options, now func() time.Time) *Storage {
	opts.Unexplained = true
	return &Storage{stores: stores, opts: opts, now: now}
}

// Access limits what a request may read.
type Access struct {
	// Services are globs of the services that exist for the request; nil is all.
	Services []string
	// MaxBytes and MaxCost (dollars) limit the reads of the request, which ends with [query.ErrBudget] before exceeding
	// them. 0 is no limit.
	MaxBytes int64
	MaxCost  float64
}

// allows reports whether a service exists for the request.
func (a *Access) allows(service string) bool {
	return a.Services == nil ||
		slices.ContainsFunc(a.Services, func(glob string) bool { return doublestar.MatchUnvalidated(glob, service) })
}

// View is the storage for one request, with its access and its report. Not safe for concurrent use. If something could not
// be read, a method returns an error that wraps [ErrIncomplete] at its end.
//
// The labels of a stream are service_name, level, instance and label attributes (see [attributes.Labels]). Matchers may also name service
// (the same as service_name), detected_level (the same as level), source and other attributes.
type View struct {
	storage *Storage
	access  Access
	// first is the first query of the request and has its limits, which later queries share.
	first *query.Query
	err   error
	// beside is the report of queries with limits of their own: the polls of Tail, and those of Explain.
	beside query.Report
	// watching creates watches for Tail.
	watching Watching
}

var _ engine.Source = (*View)(nil)

// View begins a request.
func (s *Storage) View(a Access) *View {
	opts := s.opts
	opts.MaxBytes, opts.MaxCost = cmp.Or(a.MaxBytes, opts.MaxBytes), cmp.Or(a.MaxCost, opts.MaxCost)
	v := &View{storage: s, access: a, watching: unwatched{}}
	now := s.now()
	v.first, v.err = query.New(s.stores, query.Selection{From: now, To: now.Add(1), Now: now}, opts)
	return v
}

// Report returns the report of the request so far.
func (v *View) Report() query.Report {
	if v.first == nil {
		return query.Report{}
	}
	r := v.first.Report()
	r.Add(v.beside)
	return r
}

// complete is err, or an error if something could not be read.
func (v *View) complete(err error) error {
	unread := v.Report().Problems
	if err != nil || len(unread) == 0 {
		return err
	}
	if len(unread) > 1 {
		return fmt.Errorf("%w: %w (and %d more)", ErrIncomplete, unread[0], len(unread)-1)
	}
	return fmt.Errorf("%w: %w", ErrIncomplete, unread[0])
}

// selected is a selection as a query over the stores.
type selected struct {
	*query.Query
	*query.Plan
	streams *streams
}

// plan finds the segments of a selection; nil if no record can match.
func (v *View) plan(ctx context.Context, sel engine.Selection) (*selected, error) {
	s, err := v.selector(ctx, sel)
	if s == nil || err != nil {
		return nil, err
	}
	return v.planFor(ctx, sel, s)
}

// servicesPerPlan is the number of services whose segments eachPlan has in memory at a time.
const servicesPerPlan = 16

// eachPlan calls f with plans of a selection by metadata, each of some of its services; share is their part of all services.
func (v *View) eachPlan(ctx context.Context, sel engine.Selection, f func(s *selected, share float64) error) error {
	all, err := v.selector(ctx, sel)
	if all == nil || err != nil {
		return err
	}
	for services := range slices.Chunk(all.services, servicesPerPlan) {
		some := *all
		some.services = services
		s, err := v.planFor(ctx, sel, &some)
		if err == nil {
			err = f(s, float64(len(services))/float64(len(all.services)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// planFor finds the segments of a selection, whose log query is in s.
func (v *View) planFor(ctx context.Context, sel engine.Selection, s *selector) (*selected, error) {
	f := filters{whole: true}
	for _, m := range s.attributes {
		f.addLabel(&syntax.StringCondition{Matcher: m})
	}
	f.add(s.stages)
	conditions := f.Selection
	conditions.Services, conditions.Levels = s.services, s.levels
	conditions.From, conditions.To, conditions.Newest = time.Unix(0, sel.From), time.Unix(0, sel.To), sel.Newest
	conditions.Now, conditions.Substring, conditions.MessageOnly = v.storage.now(), true, true
	conditions.Attributed = s.attributed()
	if sel.Records != nil {
		conditions.Records = recordFilter(sel.Records, s)
	}
	if sel.Records != nil || s.exact() {
		conditions.Limit = sel.Limit
	}
	conditions.Columns = blockFilter(sel.Filter, s)
	q, err := v.first.With(conditions)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", engine.ErrQuery, err)
	}
	p, err := q.Plan(ctx)
	if err != nil {
		return nil, err
	}
	p.Segments = slices.DeleteFunc(p.Segments, func(seg *query.Segment) bool {
		return !seg.Meta.Mixed() && !seg.Foreign && !s.instance(seg.Meta.Instance)
	})
	return &selected{Query: q, Plan: p, streams: &streams{selector: s, parserOf: q.Parser}}, nil
}
