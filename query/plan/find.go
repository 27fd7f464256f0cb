package plan

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"logstow/query/source"
)

// Find finds the segments of all stores, in no order, copies included. A listing that fails is a problem in the report; only the end
// of ctx is an error.
func (p *Planner) Find(ctx context.Context) ([]*source.Segment, error) {
	all, _, err := p.FindLatest(ctx)
	return all, err
}

// FindLatest is Find, and also returns the latest time at which a listed blob of the range was stored; zero if there is none, or if
// the plan is by the index.
func (p *Planner) FindLatest(ctx context.Context) ([]*source.Segment, time.Time, error) {
	found := &segments{}
	group, gctx := errgroup.WithContext(ctx)
	for i := range p.Stores {
		s := &p.Stores[i]
		group.Go(func() error { return p.store(gctx, s, found) })
	}
	if err := group.Wait(); err != nil {
		return nil, time.Time{}, context.Cause(ctx)
	}
	return found.all, found.latest, nil
}

// store plans one store.
func (p *Planner) store(ctx context.Context, s *source.Store, found *segments) error {
	converted, err := s.Segments(ctx, p.Matcher.Selection.From, p.Matcher.Selection.To, p.Recorder)
	if err != nil {
		l := &listing{planner: p, store: s, found: found, service: "cannot list blobs"}
		return l.finish(ctx, err)
	}
	s = &converted
	services, err := p.services(ctx, s)
	if err != nil {
		l := &listing{planner: p, store: s, found: found, service: "cannot list services"}
		return l.finish(ctx, err)
	}
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(source.MaxInFlight)
	for _, service := range services {
		l := &listing{planner: p, store: s, catalog: s.Catalog(), found: found, service: service}
		group.Go(func() error {
			switch {
			case found.isDown(s):
				return nil
			case p.Indexed:
				return l.index(gctx)
			case p.Since != nil:
				return l.raw(gctx)
			}
			return l.walk(gctx)
		})
	}
	return group.Wait()
}
