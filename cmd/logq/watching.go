package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"logstow/internal/price"
	"logstow/internal/units"
	"logstow/query"
	"logstow/query/follow"
	"logstow/query/output"
	"logstow/query/plan"
	"logstow/store"
	"logstow/watch"
)

const (
	// responseTimeout is the time without a response to a watch after which following reports that there is none. It does not begin
	// while shippers may poll once a minute.
	responseTimeout = 15 * time.Second
	// maxNamedShippers is the maximum number of shippers that a message names.
	maxNamedShippers = 5
)

// watchSet is the watches of a command: a watcher for each store that may have any.
type watchSet struct {
	stores []*watchedStore
	cancel context.CancelFunc
	all    sync.WaitGroup
}

// watchedStore is a store with its watcher.
type watchedStore struct {
	name    string
	free    bool
	watcher *watch.Watcher

	mu sync.Mutex
	// counted is set once the shippers that respond were counted; err is why there are no watches.
	counted bool
	err     error
}

// newWatches are the watches on the selected services of stores, none of which is created yet. Stores that cannot be written have
// none.
func newWatches(stores []query.Store, sel query.Selection) *watchSet {
	w := &watchSet{cancel: func() {}}
	for _, s := range stores {
		tables, ok := s.Tables.(store.Tables)
		if !ok {
			continue
		}
		w.stores = append(w.stores, &watchedStore{name: s.Name, free: s.Free, watcher: &watch.Watcher{
			Tables: tables, Container: s.Container, Free: s.Free,
			Services: func(ctx context.Context) ([]string, error) { return watchable(ctx, s, &sel) },
		}})
	}
	return w
}

// watchable are the selected services of a store. A directory that does not exist has none: a watch would create it.
func watchable(ctx context.Context, s query.Store, sel *query.Selection) ([]string, error) {
	if s.Free {
		if _, err := plan.Services(ctx, s); errors.Is(err, store.ErrNoContainer) {
			return nil, nil
		}
	}
	services, err := plan.SelectedServices(ctx, s, sel)
	if errors.Is(err, store.ErrNoContainer) {
		err = nil
	}
	return services, err
}

// start creates the watches and keeps them until stop; then they expire by themselves.
func (w *watchSet) start(ctx context.Context) {
	ctx, w.cancel = context.WithCancel(ctx)
	for _, s := range w.stores {
		w.all.Go(func() {
			if err := s.watcher.Run(ctx, func() { s.set(true, nil) }); ctx.Err() == nil { // else it was stopped
				s.set(false, err)
			}
		})
	}
}

// stop ends the renewal of the watches.
func (w *watchSet) stop() {
	w.cancel()
	w.all.Wait()
}

func (s *watchedStore) set(counted bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counted, s.err = s.counted || counted, err
}

// failure is why a store is not watched; nil while it is.
func (s *watchedStore) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// status returns the sum over the watched stores. counted is set after the shippers of all were counted; usage is the usage of
// the stores that are not free.
func (w *watchSet) status() (sum watch.Status, counted, some bool, usage price.Usage) {
	counted = true
	for _, s := range w.stores {
		if s.failure() != nil {
			continue
		}
		some = true
		one := s.watcher.Status()
		sum.Services += one.Services
		sum.Unwatched += one.Unwatched
		sum.Shippers += one.Shippers
		sum.Idle = sum.Idle || one.Idle
		sum.FlushInterval = max(sum.FlushInterval, one.FlushInterval)
		if !s.free {
			usage = usage.Plus(one.Usage)
		}
		s.mu.Lock()
		counted = counted && s.counted
		s.mu.Unlock()
	}
	return sum, counted && some, some, usage
}

// unwatched is the reason that a store is not watched, as a message. Hints of the error are left out: they name roles that may alter
// the index too.
func (s *watchedStore) unwatched(err error) string {
	return fmt.Sprintf("%s: not watched: %v", s.name, err)
}

// pollInterval is the interval until the next poll.
func (f *following) pollInterval() time.Duration {
	if f.interval > 0 {
		return f.interval
	}
	if sum, _, _, _ := f.watches.status(); sum.Shippers > 0 {
		return follow.WatchedInterval
	}
	return follow.DefaultInterval
}

// reportWatches prints what is new about the watches: each store that is not watched once, once whether shippers respond, and what
// that costs. With --explain it prints each change.
func (f *following) reportWatches() {
	for _, s := range f.watches.stores {
		if err := s.failure(); err != nil && !f.printed[s.name+" not watched"] {
			f.onceAs(s.name+" not watched", s.unwatched(err)+"; its records are printed after the flush interval of their shippers")
		}
	}
	sum, counted, _, usage := f.watches.status()
	began := f.env.now().Sub(f.began)
	switch {
	case !counted || sum.Services == 0:
		return
	case sum.Shippers == 0 && sum.Idle:
		if began >= responseTimeout {
			f.once("no one has followed for an hour: shippers respond within a minute")
		}
		return
	case sum.Shippers == 0 && began >= responseTimeout && !f.printed["responded"]:
		f.once("no shipper responds to the watches: records are printed after the flush interval of their shippers; see docs/query.md#following")
		return
	case sum.Shippers == 0:
		return
	}
	key := "responded"
	if f.explain {
		key = fmt.Sprintf("%d %d", sum.Services, sum.Shippers)
	}
	if f.printed[key] {
		return
	}
	f.printed["responded"], f.printed[key] = true, true
	cost := f.opts.Prices.OrDefault().Cost(usage)
	if f.jsonExplain() {
		f.printJSON(struct {
			Stage       string  `json:"stage"`
			Services    int     `json:"services"`
			Shippers    int     `json:"shippers"`
			Interval    float64 `json:"flush_interval_seconds"`
			CostPerHour float64 `json:"at_most_usd_per_hour"`
		}{"watching", sum.Services, sum.Shippers, sum.FlushInterval.Seconds(), cost})
		return
	}
	text := fmt.Sprintf("watching %s: flushed every %v by %s while this runs", units.Count(sum.Services, "service"),
		sum.FlushInterval, units.Count(sum.Shippers, "shipper"))
	if cost > 0 {
		text += fmt.Sprintf(", which costs at most $%.2f per hour; --no-watch avoids this", cost)
	}
	f.env.printf("%s", text)
	if sum.Unwatched > 0 {
		f.once("too many services: %s more are not watched; select fewer with -s", units.Count(sum.Unwatched, "service"))
	}
}

// awaitFlush creates watches on the selected services and waits until the shippers of these have flushed what they had read, as
// [watch.Watcher.AwaitFlush] does. It prints which have not, and which stores are not watched.
func (r *request) awaitFlush(ctx context.Context, stores []query.Store) error {
	w := newWatches(stores, r.sel)
	stop := r.env.line.Start(func() string {
		if sum, _, _, _ := w.status(); sum.Idle {
			return "waiting for shippers to flush: up to " + (watch.IdleInterval + watch.FreshTimeout).String() + ", because no one has followed for an hour"
		}
		return "waiting for shippers to flush"
	})
	var mu sync.Mutex
	lateOf, live, timeout := make([][]watch.Shipper, len(w.stores)), 0, time.Duration(0)
	for i, s := range w.stores {
		w.all.Go(func() {
			flushed, err := s.watcher.AwaitFlush(ctx)
			s.set(true, err)
			mu.Lock()
			defer mu.Unlock()
			lateOf[i] = flushed.Late
			live += flushed.Live
			timeout = max(timeout, flushed.Timeout)
		})
	}
	w.all.Wait()
	stop()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, s := range w.stores {
		if err := s.failure(); err != nil {
			r.notef("%s; records that its shippers have not flushed are missing", s.unwatched(err))
		} else if n := s.watcher.Status().Unwatched; n > 0 {
			r.notef("%s: too many services: --fresh did not wait for %s; select fewer with -s", s.name, units.Count(n, "service"))
		}
	}
	sum, _, _, usage := w.status()
	late, services := slices.Concat(lateOf...), sum.Services
	switch {
	case len(late) > 0:
		r.notef("%d of %s did not flush within %v and their newest records may be missing: %s",
			len(late), units.Count(live, "shipper"), timeout, named(late))
	case services > 0 && live == 0:
		r.notef("no shipper responded to --fresh: records that are not flushed yet are missing; see docs/query.md#fresh-answers")
	}
	cost := r.opts.Prices.OrDefault().Cost(usage) * watch.Lifetime.Hours()
	switch {
	case !r.explain:
	case r.jsonExplain():
		r.printJSON(struct {
			Stage    string  `json:"stage"`
			Services int     `json:"services"`
			Shippers int     `json:"shippers"`
			Late     int     `json:"late"`
			Cost     float64 `json:"at_most_usd"`
		}{"fresh", services, live, len(late), cost})
	default:
		r.env.printf("--fresh: %s of %s responded; until the watches expire they cost at most $%.4f",
			units.Count(live, "shipper"), units.Count(services, "service"), cost)
	}
	return nil
}

// named are the names of shippers, of many the first.
func named(all []watch.Shipper) string {
	names := make([]string, 0, len(all))
	for _, s := range all {
		names = append(names, output.Visible(s.Service+" on "+s.Instance))
	}
	names = slices.Compact(names)
	if more := len(names) - maxNamedShippers; more > 0 {
		names = append(names[:maxNamedShippers], fmt.Sprintf("and %d more", more))
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}
