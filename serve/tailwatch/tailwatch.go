// Package tailwatch keeps watches for the live tails of a server. Each followed service has one watch per store, from the start of
// the first tail that follows it to the end of the last.
package tailwatch

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"logstow/internal/price"
	"logstow/internal/retry"
	"logstow/store"
	"logstow/watch"
)

const (
	// Interval is the maximum interval between polls of a tail while shippers respond to its watches.
	Interval = time.Second
	// responseTime is the time for shippers to respond. Until it has passed, tails poll as if shippers responded.
	responseTime = 15 * time.Second
	// deniedInterval is the time after which a watch is retried in a store that denied it.
	deniedInterval = 10 * time.Minute
	// checkTimeout limits the check of a store at the start.
	checkTimeout = 10 * time.Second
	// maxServices limits the services that a server watches. [watch.MaxServices] limits those of a tail.
	maxServices = 500
	// minDuration is the minimum duration of a watch, so that the shippers that respond are counted at least twice. They flush until
	// the watch expires, even if the tail is shorter.
	minDuration = 10 * time.Second
)

// Store is a store that may have watches.
type Store struct {
	Name, Container string
	Tables          store.Tables
	// Prices are the prices of its requests; nil means that they are free.
	Prices *price.Table
	// Exists reports whether the store exists, because a watch would create a missing directory. Nil means that it exists.
	Exists func(context.Context) (bool, error)
}

// Status is the state of watches.
type Status struct {
	// Services is the number of watched services. Shippers is the number of shippers that respond; a shipper counts once for each
	// of its services.
	Services, Shippers int
}

// Watches are the watches of a server. They are safe for concurrent use.
type Watches struct {
	stores  []*watchedStore
	log     *slog.Logger
	ctx     context.Context //nolint:containedctx // the lifetime of the goroutines
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	services map[string]*service
	closed   bool
	// cost is the total cost in dollars, see [Watches.Cost].
	cost float64
	// limited is set after it was logged that some services are not watched.
	limited bool
}

// watchedStore is a store that may have watches, with its logger and its costs.
type watchedStore struct {
	Store
	log *slog.Logger
	// works and denied log each state once.
	works, denied sync.Once
	// bills are the bills of watches, by service. Bills of expired watches may remain for a while.
	bills map[string]*bill
}

// service is a service that is watched.
type service struct {
	tails    int  // may be 0 until minDuration has passed
	ending   bool // a goroutine waits for minDuration
	began    time.Time
	cancel   context.CancelFunc
	watchers []*watcher
}

// watcher keeps the watch on a service in a store.
type watcher struct {
	watch.Watcher
	bill *bill
	// denied is set while the store denies watches.
	denied atomic.Bool
}

// New returns Watches for stores. There are none until a [Tail] needs them. The caller must Close it.
func New(ctx context.Context, stores []Store, log *slog.Logger) *Watches {
	w := &Watches{log: log, services: map[string]*service{}}
	w.ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for _, s := range stores {
		w.stores = append(w.stores, &watchedStore{Store: s, log: log.With("store", s.Name), bills: map[string]*bill{}})
	}
	return w
}

// Check starts to check whether the stores allow watches, and logs the results. It must not be called after Close.
func (w *Watches) Check() {
	for _, p := range w.stores {
		w.running.Go(func() { p.check(w.ctx) })
	}
}

// Close stops to renew the watches, which then expire, and waits for running requests.
func (w *Watches) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.cancel()
	w.running.Wait()
}

// Status returns the current state.
func (w *Watches) Status() (status Status) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.services {
		if s.tails == 0 {
			continue
		}
		if s.allowed() {
			status.Services++
		}
		status.Shippers += s.shippers()
	}
	return status
}

// allowed reports whether any store allows the watch.
func (s *service) allowed() bool {
	return slices.ContainsFunc(s.watchers, func(w *watcher) bool { return !w.denied.Load() })
}

// shippers returns the number of shippers that respond.
func (s *service) shippers() (n int) {
	for _, w := range s.watchers {
		if !w.denied.Load() {
			n += w.Status().Shippers
		}
	}
	return n
}

// check finds out whether a store allows watches, by creating their table.
func (p *watchedStore) check(ctx context.Context) {
	requesting, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	exists, err := p.exists(requesting)
	if err == nil && exists {
		err = p.Tables.CreateTable(requesting, watch.Table(p.Container))
	}
	switch {
	case ctx.Err() != nil:
	case watch.Denied(err):
		p.logDenied(err)
	case err != nil:
		p.log.Warn("cannot check whether live tails can be watched", "error", err)
	case exists:
		p.logWorks()
	}
}

func (p *watchedStore) exists(ctx context.Context) (bool, error) {
	if p.Exists == nil {
		return true, nil
	}
	return p.Exists(ctx)
}

func (p *watchedStore) logWorks() {
	p.works.Do(func() { p.log.Info("live tails are watched: shippers flush followed services early") })
}

func (p *watchedStore) logDenied(err error) {
	p.denied.Do(func() {
		p.log.Warn("live tails are not watched: records come after the flush interval of their shipper", "error", err)
	})
}

// keep keeps a watch until ctx ends. If the store denies it, keep retries after deniedInterval.
func (w *Watches) keep(ctx context.Context, p *watchedStore, one *watcher) {
	for {
		err := one.Run(ctx, func() {
			one.denied.Store(false)
			if one.Status().Services > 0 {
				p.logWorks()
				w.pay(p, one)
			}
		})
		if ctx.Err() != nil {
			return
		}
		one.denied.Store(true)
		p.logDenied(err)
		if retry.Sleep(ctx, deniedInterval) != nil {
			return
		}
	}
}

// begin starts to watch a service. The lock is held.
func (w *Watches) begin(name string) *service {
	ctx, cancel := context.WithCancel(w.ctx)
	s := &service{began: time.Now(), cancel: cancel}
	for _, p := range w.stores {
		one := &watcher{bill: p.bill(name, s.began), Watcher: watch.Watcher{
			Tables: p.Tables, Container: p.Container, Free: p.Prices == nil,
			Services: func(ctx context.Context) ([]string, error) {
				if exists, err := p.exists(ctx); !exists || err != nil {
					return nil, err
				}
				return []string{name}, nil
			},
		}}
		s.watchers = append(s.watchers, one)
		w.running.Go(func() { w.keep(ctx, p, one) })
	}
	return s
}

// Tail is a live tail, with the services that it follows.
type Tail struct {
	w        *Watches
	services map[string]*service // guarded by the lock of w
}

// Tail begins a live tail. The caller must Close it.
func (w *Watches) Tail() *Tail { return &Tail{w: w, services: map[string]*service{}} }

// Watch watches services until the tail is closed, in addition to those of earlier calls.
func (t *Tail) Watch(services []string) {
	t.w.mu.Lock()
	defer t.w.mu.Unlock()
	if t.w.closed {
		return
	}
	for _, name := range services {
		if t.services[name] != nil {
			continue
		}
		s := t.w.services[name]
		if len(t.services) >= watch.MaxServices || s == nil && len(t.w.services) >= maxServices {
			t.w.logLimited()
			return
		}
		if s == nil {
			s = t.w.begin(name)
			t.w.services[name] = s
		}
		s.tails++
		t.services[name] = s
	}
}

// logLimited logs once that some services are not watched. The lock is held.
func (w *Watches) logLimited() {
	if !w.limited {
		w.limited = true
		w.log.Warn("some services of live tails are not watched: there are too many", "limit", watch.MaxServices)
	}
}

// Watched reports whether shippers respond to the watches.
func (t *Tail) Watched() bool {
	t.w.mu.Lock()
	defer t.w.mu.Unlock()
	for _, s := range t.services {
		if s.shippers() > 0 {
			return true
		}
	}
	return false
}

// Interval returns the interval between polls: [Interval], if it is shorter than normal, while shippers respond to the watches or
// still have time to respond, otherwise normal.
func (t *Tail) Interval(normal time.Duration) time.Duration {
	t.w.mu.Lock()
	defer t.w.mu.Unlock()
	for _, s := range t.services {
		if s.allowed() && time.Since(s.began) < responseTime || s.shippers() > 0 {
			return min(normal, Interval)
		}
	}
	return normal
}

// Close ends the watches that no other tail needs.
func (t *Tail) Close() {
	t.w.mu.Lock()
	defer t.w.mu.Unlock()
	for name, s := range t.services {
		if s.tails--; s.tails == 0 {
			t.w.end(name, s)
		}
	}
	clear(t.services)
}

// end ends the watch on a service that no tail follows, after its minimum duration. The lock is held.
func (w *Watches) end(name string, s *service) {
	left := minDuration - time.Since(s.began)
	if left <= 0 || w.closed {
		s.cancel()
		delete(w.services, name)
		return
	}
	if s.ending {
		return
	}
	s.ending = true
	w.running.Go(func() {
		_ = retry.Sleep(w.ctx, left)
		w.mu.Lock()
		defer w.mu.Unlock()
		if s.ending = false; s.tails == 0 {
			s.cancel()
			delete(w.services, name)
		}
	})
}
