package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"logstow/internal/price"
	"logstow/internal/retry"
	"logstow/store"
)

const (
	// MaxServices limits the services that a [Watcher] watches in a store.
	MaxServices = 100
	// countInterval is the interval at which a watcher counts the shippers that respond.
	countInterval = 4 * time.Second
	// expandInterval is the interval at which a watcher looks for new services. Without any service it is countInterval.
	expandInterval = time.Minute
	// FreshTimeout limits [Watcher.AwaitFlush], to IdleInterval more if shippers may poll that rarely.
	FreshTimeout = 15 * time.Second
	// responseTime is how long AwaitFlush waits at least, so that shippers can respond: a polling interval and a flush.
	responseTime = DefaultInterval + 2*time.Second
	// freshInterval is the interval at which AwaitFlush polls.
	freshInterval = time.Second
	// concurrency limits the requests of a watcher in flight.
	concurrency = 8
)

// Watcher is the reader's side: it keeps watches on services of a store. Its methods are safe for concurrent use.
type Watcher struct {
	// Tables and Container are the tables and the container of the store.
	Tables    store.Tables
	Container string
	// Free is set if requests to the store are not billed: then shippers never poll every IdleInterval.
	Free bool
	// Services returns the services to watch, in order of name; the watcher ignores those after the first [MaxServices]. It is
	// called once a minute, more often while there are none. Its ctx ends after ten seconds.
	Services func(ctx context.Context) ([]string, error)

	mu sync.Mutex
	// services is the last result of Services, shippers the number of shippers that respond, by service.
	services []string
	shippers map[string]int
	// unwatched is the number of services beyond [MaxServices].
	unwatched int
	// written holds the number of shippers that each watch contains, by service.
	written map[string]int
	// found is when this watcher found that shippers of a service may poll every IdleInterval, by service.
	found map[string]time.Time
}

// Status describes a watcher's watches.
type Status struct {
	// Services is the number of watched services, Unwatched the number of services beyond [MaxServices]. Shippers is the number
	// of shippers that respond; a shipper counts once for each of its services.
	Services, Unwatched, Shippers int
	// Idle is set while shippers may poll every [IdleInterval], because no one has watched for [IdleAfter].
	Idle bool
	// FlushInterval is the longest time between two early flushes of a service by one of its shippers; 0 if none responds.
	FlushInterval time.Duration
	// Usage is the maximum usage per hour that the watches cause, including the early flushes.
	Usage price.Usage
}

// FlushUsage returns the usage of n early flushes: for each, a segment, its entity, and the report of the shipper.
func FlushUsage(n int) price.Usage { return price.Usage{Create: int64(n), Table: 2 * int64(n)} }

// Status returns the current state.
func (w *Watcher) Status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := Status{Services: len(w.services), Unwatched: w.unwatched}
	for service := range w.found {
		s.Idle = s.Idle || w.isNew(service)
	}
	for _, n := range w.shippers {
		if n == 0 {
			continue
		}
		s.Shippers += n
		s.FlushInterval = max(s.FlushInterval, FlushInterval(n))
		s.Usage = s.Usage.Plus(FlushUsage(n * int(time.Hour/FlushInterval(n))))
		s.Usage.Table += int64(n) * int64(time.Hour/Renewal)
	}
	// A watch is renewed at the last tick before Renewal, that is every 12 seconds, and once a minute services are listed instead of
	// counting shippers. The additional renewals and the missing counts are equally many.
	s.Usage.Table += int64(s.Services) * int64(time.Hour/Renewal+time.Hour/countInterval)
	s.Usage.List += int64(time.Hour / expandInterval)
	return s
}

// Run creates the watches and renews them until ctx ends; then they expire by themselves. It returns an error at once if the
// store does not allow watches. It retries after other failures, and returns the last one if ctx ends before a retry succeeds.
// It calls counted each time after it has counted the shippers that respond.
func (w *Watcher) Run(ctx context.Context, counted func()) error {
	var expanded, renewed time.Time
	var failure error
	ticker := time.NewTicker(countInterval)
	defer ticker.Stop()
	for {
		now := time.Now()
		if expanded.IsZero() || now.Sub(expanded) >= expandInterval || w.Status().Services == 0 {
			if failure = w.expand(ctx); failure == nil {
				expanded = now
			}
			if failure == nil && w.Status().Services == 0 {
				counted()
			}
		} else if failure = w.count(ctx); failure == nil {
			counted()
		}
		all := renewed.IsZero() || now.Sub(renewed) > Renewal-countInterval
		if err := w.renew(ctx, all); err != nil {
			failure = err
		} else if all {
			renewed = now
		}
		if Denied(failure) && ctx.Err() == nil {
			return failure
		}
		select {
		case <-ctx.Done():
			return failure
		case <-ticker.C:
		}
	}
}

// expand updates the services to watch.
func (w *Watcher) expand(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	services, err := w.Services(ctx)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.services = slices.Clone(services[:min(len(services), MaxServices)])
	w.unwatched = len(services) - len(w.services)
	if w.shippers == nil {
		w.shippers, w.written, w.found = map[string]int{}, map[string]int{}, map[string]time.Time{}
	}
	maps.DeleteFunc(w.found, func(service string, _ time.Time) bool { return !slices.Contains(w.services, service) })
	unwatched := func(service string, _ int) bool { return !slices.Contains(w.services, service) }
	maps.DeleteFunc(w.shippers, unwatched)
	maps.DeleteFunc(w.written, unwatched)
	return nil
}

// each calls f with each service, concurrently, and returns the first error. It takes at most requestTimeout: the watches must
// not expire because a request hangs.
func (w *Watcher) each(ctx context.Context, f func(ctx context.Context, service string) error) error {
	w.mu.Lock()
	services := w.services
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var group errgroup.Group // an error does not cancel the requests of other services
	group.SetLimit(concurrency)
	for _, service := range services {
		group.Go(func() error { return f(ctx, service) })
	}
	return group.Wait()
}

// count counts the shippers that respond, and removes the entities of those that stopped a day ago.
func (w *Watcher) count(ctx context.Context) error { return w.each(ctx, w.countService) }

func (w *Watcher) countService(ctx context.Context, service string) error {
	all, err := readShippers(ctx, w.Tables, Table(w.Container), service)
	if err != nil {
		return err
	}
	n := 0
	var garbage []store.Key
	for _, s := range all {
		switch {
		case s.live():
			n++
		case s.age >= garbageAge && len(garbage) < store.MaxTransaction:
			garbage = append(garbage, shipperEntity(s).Key)
		}
	}
	w.mu.Lock()
	w.shippers[service] = n
	w.mu.Unlock()
	if len(garbage) > 0 {
		_ = w.Tables.Remove(ctx, Table(w.Container), garbage) // best effort: the permission may be missing
	}
	return nil
}

// renew writes all watches if all is set. Otherwise it writes the new watches, and those whose number of shippers has grown so
// much that the shippers flush too often. It counts a service's shippers before the first write: shippers that already respond
// to another watcher would all flush at the interval of a single one.
func (w *Watcher) renew(ctx context.Context, all bool) error {
	return w.each(ctx, func(ctx context.Context, service string) error {
		if _, counted := w.counted(service); !counted {
			err := w.findIdle(ctx, service)
			if err == nil {
				err = w.countService(ctx, service)
			}
			if err != nil {
				return err
			}
		}
		n, _ := w.counted(service)
		w.mu.Lock()
		before, written := w.written[service]
		isNew := w.isNew(service)
		w.mu.Unlock()
		if !all && written && FlushInterval(n) <= FlushInterval(before)*5/4 {
			return nil
		}
		if err := w.put(ctx, watchEntity(service, n, isNew)); err != nil {
			return err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.written[service] = n
		return nil
	})
}

// findIdle finds out whether the shippers of a service may poll every IdleInterval, before this watcher writes its watch.
func (w *Watcher) findIdle(ctx context.Context, service string) error {
	if w.Free {
		return nil
	}
	all, err := readWatches(ctx, w.Tables, Table(w.Container), service, service)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(all) == 0 || all[0].idle() {
		w.found[service] = time.Now()
	}
	return nil
}

// isNew reports whether shippers that poll every IdleInterval may not have read the watch on a service. w.mu must be held.
func (w *Watcher) isNew(service string) bool {
	found, ok := w.found[service]
	return ok && time.Since(found) < newFor
}

// counted returns the number of shippers that respond; ok is false until they are counted.
func (w *Watcher) counted(service string) (n int, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, ok = w.shippers[service]
	return n, ok
}

// put writes a watch, and creates the table if it is missing.
func (w *Watcher) put(ctx context.Context, e store.Entity) error {
	table := Table(w.Container)
	err := w.Tables.Upsert(ctx, table, []store.Entity{e})
	if errors.Is(err, store.ErrNoTable) {
		if err = w.Tables.CreateTable(ctx, table); err == nil {
			err = w.Tables.Upsert(ctx, table, []store.Entity{e})
		}
	}
	if err != nil {
		return fmt.Errorf("cannot create a watch: %w", err)
	}
	return nil
}

// Flushed is the result of [Watcher.AwaitFlush].
type Flushed struct {
	// Live is the number of shippers that respond; Late are those of them that have not flushed, sorted.
	Live int
	Late []Shipper
	// Timeout is how long AwaitFlush waited at most.
	Timeout time.Duration
}

// AwaitFlush creates watches and waits until all shippers that respond have flushed the records that they had read before: at
// most [FreshTimeout], and [IdleInterval] longer if the shippers may poll that rarely. It may miss shippers that poll less often
// than the default.
func (w *Watcher) AwaitFlush(ctx context.Context) (f Flushed, err error) {
	began := time.Now()
	if err := w.expand(ctx); err != nil {
		return f, err
	}
	if w.Status().Services == 0 {
		return f, nil
	}
	if err := w.renew(ctx, true); err != nil {
		return f, err
	}
	renewed := time.Now()
	created, err := w.created(ctx)
	if err != nil {
		return f, err
	}
	f.Timeout = FreshTimeout
	responded := began.Add(responseTime)
	idle := w.Status().Idle
	if idle {
		f.Timeout += IdleInterval
		responded = responded.Add(IdleInterval)
	}
	for {
		if f.Late, f.Live, err = w.late(ctx, created); err != nil {
			return Flushed{}, err
		}
		all := time.Since(renewed) > Renewal-countInterval || idle && !w.Status().Idle // later readers need not wait as long
		if err := w.renew(ctx, all); err != nil {                                      // the more shippers respond, the less often each may flush
			return Flushed{}, err
		}
		now := time.Now()
		if all {
			renewed, idle = now, w.Status().Idle
		}
		left := began.Add(f.Timeout).Sub(now)
		if left <= 0 || len(f.Late) == 0 && !now.Before(responded) {
			return f, nil
		}
		if err := retry.Sleep(ctx, min(freshInterval, left)); err != nil {
			return Flushed{}, err
		}
	}
}

// created returns when the watches were written, by storage's clock, by service.
func (w *Watcher) created(ctx context.Context) (map[string]time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	w.mu.Lock()
	first, last := w.services[0], w.services[len(w.services)-1]
	w.mu.Unlock()
	all, err := readWatches(ctx, w.Tables, Table(w.Container), first, last)
	created := make(map[string]time.Time, len(all))
	for _, one := range all {
		created[one.Service] = one.Written
	}
	return created, err
}

// late returns the shippers that respond but have not flushed since the watches were created, sorted, and the number of all
// shippers that respond.
func (w *Watcher) late(ctx context.Context, created map[string]time.Time) (late []Shipper, live int, err error) {
	var mu sync.Mutex
	err = w.each(ctx, func(ctx context.Context, service string) error {
		all, err := readShippers(ctx, w.Tables, Table(w.Container), service)
		if err != nil {
			return err
		}
		n := 0
		mu.Lock()
		for _, s := range all {
			if !s.live() {
				continue
			}
			if n++; s.Flushed.Before(created[service]) {
				late = append(late, s)
			}
		}
		live += n
		mu.Unlock()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.shippers[service] = n
		return nil
	})
	slices.SortFunc(late, func(a, b Shipper) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Instance, b.Instance))
	})
	return late, live, err
}
