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
	services, err := p.services(ctx, s)
	if err != nil {
		l := &listing{store: s, found: found, service: "cannot list services"}
		defer l.report(p.Recorder)
		return l.fail(ctx, err)
	}
	listings := make([]*listing, len(services))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(source.MaxInFlight)
	for i, service := range services {
		l := &listing{store: s, found: found, service: service}
		defer l.report(p.Recorder)
		listings[i] = l
		group.Go(func() error { return p.start(gctx, l) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	group, gctx = errgroup.WithContext(ctx)
	group.SetLimit(source.MaxInFlight)
	for _, l := range listings {
		for _, prefix := range l.prefixes {
			group.Go(func() error { return p.listAll(gctx, group, l, prefix) })
		}
	}
	return group.Wait()
}

// listAll lists a prefix, or the narrower prefixes that list returns for it, in parallel as far as group allows.
func (p *Planner) listAll(ctx context.Context, group *errgroup.Group, l *listing, prefix string) error {
	narrower, err := p.list(ctx, l, prefix)
	for _, prefix := range narrower {
		if err != nil {
			return err
		}
		if list := func() error { return p.listAll(ctx, group, l, prefix) }; !group.TryGo(list) {
			err = list()
		}
	}
	return err
}

// start reads the index, or finds the prefixes to list.
func (p *Planner) start(ctx context.Context, l *listing) (err error) {
	if p.Indexed {
		return p.index(ctx, l)
	}
	if l.prefixes, err = p.prefixes(ctx, l.store, l.service); err != nil {
		return l.fail(ctx, err)
	}
	return nil
}
