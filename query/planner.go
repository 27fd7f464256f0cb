package query

import (
	"context"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"logstow/store"
)

// planner finds the segments that may hold wanted records. Its fields do not change; it is safe
// for concurrent use.
type planner struct {
	sel      *Selection
	matcher  *matcher
	stores   []Store
	rec      *Recorder
	findings *findings
	// indexed says to ask the table index, else blobs are listed.
	indexed bool
}

// find finds the segments of all stores, in no order, with their copies. What cannot be
// listed is a problem of the report; only the end of ctx is an error.
func (p *planner) find(ctx context.Context) ([]*Segment, error) {
	found := &segments{}
	group, gctx := errgroup.WithContext(ctx)
	for i := range p.stores {
		s := &p.stores[i]
		group.Go(func() error { return p.store(gctx, s, found) })
	}
	if err := group.Wait(); err != nil {
		return nil, context.Cause(ctx)
	}
	return found.all, nil
}

// segments are those found so far; safe for concurrent use.
type segments struct {
	mu  sync.Mutex
	all []*Segment
}

// A listing is the search for one service in one store.
type listing struct {
	store    *Store
	found    *segments
	service  string
	prefixes []string

	down     atomic.Bool // storage does not answer: the rest is not tried
	mu       sync.Mutex
	failures []error
}

// store plans one store.
func (p *planner) store(ctx context.Context, s *Store, found *segments) error {
	services, err := p.services(ctx, s)
	if err != nil {
		l := &listing{store: s, found: found, service: "services"}
		defer l.report(p.rec)
		return l.fail(ctx, err)
	}
	listings := make([]*listing, len(services))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, service := range services {
		l := &listing{store: s, found: found, service: service}
		defer l.report(p.rec)
		listings[i] = l
		group.Go(func() error { return p.start(gctx, l) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	group, gctx = errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, l := range listings {
		for _, prefix := range l.prefixes {
			group.Go(func() error { return p.list(gctx, l, prefix) })
		}
	}
	return group.Wait()
}

// fail notes a failure, unless ctx ended.
func (l *listing) fail(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if store.Retryable(err) {
		l.down.Store(true)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = append(l.failures, err)
	return nil
}

// report makes the failures problems. Where everything failed, one stands for all.
func (l *listing) report(rec *Recorder) {
	failures := l.failures
	if len(failures) > 1 && (l.down.Load() || len(failures) == len(l.prefixes)) {
		failures = failures[:1]
	}
	for _, err := range failures {
		rec.Problem(&Problem{Store: l.store.Name, Object: l.store.Name + ": " + l.service, Err: err})
	}
}

// start asks the index, or finds the prefixes to list.
func (p *planner) start(ctx context.Context, l *listing) (err error) {
	if p.indexed {
		return p.index(ctx, l)
	}
	if l.prefixes, err = p.prefixes(ctx, l.store, l.service); err != nil {
		return l.fail(ctx, err)
	}
	return nil
}
