package watch

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"logstow/internal/logging"
	"logstow/internal/retry"
	"logstow/store"
)

const (
	// DefaultInterval is the default interval at which a shipper polls for watches.
	DefaultInterval = 5 * time.Second
	// DefaultMaxFlushes is the default of [Settings.MaxFlushes].
	DefaultMaxFlushes = 5000
	// deniedInterval is the polling interval for a store that denies access to its watches.
	deniedInterval = 10 * time.Minute
	// storeTimeout limits the wait for an upload: the shipper must report every Renewal that it runs.
	storeTimeout = Renewal
	// requestTimeout limits a request of a shipper, and all requests of one step of a watcher. Three steps take less than the
	// lifetime of a watch.
	requestTimeout = 10 * time.Second
)

// Buffer is what a [Flusher] needs of a buffer. Package buffer implements it.
type Buffer interface {
	Services() []string
	FlushService(ctx context.Context, service string) (batches int)
	SetFollowed(service string, followed bool)
	WaitStored(ctx context.Context, service string, before time.Time) error
}

// FlusherOptions configure a [Flusher].
type FlusherOptions struct {
	// Instance is the instance ID of the shipper.
	Instance string
	// Stores returns the stores that new segments are written to, except those that cannot be opened. Of a store that is a [Source], the
	// watches are those of that source, of others those in their tables.
	Stores func(ctx context.Context) []store.Store
	// Senders are the shippers that send to this one; nil if none does.
	Senders *Senders
	// Settings are the initial settings.
	Settings Settings
	// Log may be nil.
	Log *slog.Logger
}

// Settings are the settings of a [Flusher] that may change while it runs.
type Settings struct {
	// Interval is the interval between polls; 0 disables watches.
	Interval time.Duration
	// IdleInterval is the interval, if it is longer, while no one has watched a service of the shipper for [IdleAfter]; 0 is
	// Interval.
	IdleInterval time.Duration
	// MaxFlushes limits the segments that are flushed early per service and UTC day. A restart resets the count.
	MaxFlushes int
}

// FlusherStats are totals since the start, except Watched.
type FlusherStats struct {
	// Watched is the number of services that are being watched.
	Watched int
	// Flushes is the number of segments flushed early, Limited the number of flushes skipped because of MaxFlushes.
	Flushes, Limited uint64
	// Failures is the number of polls and reports that failed.
	Failures uint64
}

// Flusher is the shipper's side: it polls for watches and flushes the watched services of a buffer. It is safe for
// concurrent use.
type Flusher struct {
	opts FlusherOptions
	// buffer is the argument of Run.
	buffer Buffer
	// changed wakes the poll loop after Configure, woken when a source has changed.
	changed, woken chan struct{}

	mu       sync.Mutex
	settings Settings
	stats    FlusherStats
	// followed is when a service of the buffer was last watched; initially the start.
	followed time.Time
	// flushing holds the watched services, by name.
	flushing map[string]*flushing
	// flushed counts the segments flushed early on day, by service; limited holds the services at MaxFlushes.
	day     string
	flushed map[string]int
	limited map[string]bool
	// denied holds the sources that deny access to their watches, with the time of the next poll; logged holds those for which
	// this was logged.
	denied map[string]time.Time
	logged map[string]bool
	// awake holds the sources that have changed since they were polled.
	awake map[string]bool
}

// NewFlusher makes a Flusher; Run runs it.
func NewFlusher(opts FlusherOptions) *Flusher {
	opts.Log = logging.OrDiscard(opts.Log)
	if opts.Senders == nil {
		opts.Senders = NewSenders()
	}
	return &Flusher{
		opts:     opts,
		settings: opts.Settings,
		changed:  make(chan struct{}, 1),
		woken:    make(chan struct{}, 1),
		flushing: map[string]*flushing{},
		flushed:  map[string]int{},
		limited:  map[string]bool{},
		denied:   map[string]time.Time{},
		logged:   map[string]bool{},
		awake:    map[string]bool{},
	}
}

// Configure changes the settings.
func (f *Flusher) Configure(s Settings) {
	f.mu.Lock()
	f.settings = s
	f.mu.Unlock()
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// Stats returns a snapshot.
func (f *Flusher) Stats() FlusherStats {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.stats
	s.Watched = len(f.flushing)
	return s
}

// Run polls for watches and flushes the watched services of a buffer until ctx ends. It may be called once. It waits a random
// part of the interval before the first poll, so that shippers that start together do not poll together.
func (f *Flusher) Run(ctx context.Context, b Buffer) {
	f.buffer = b
	f.noteFollowed(time.Now())
	var loops sync.WaitGroup
	defer loops.Wait()
	timer := time.NewTimer(rand.N(max(1, f.interval())))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.changed:
		case <-timer.C:
		case <-f.woken:
			if f.interval() > 0 {
				f.poll(ctx, &loops, f.isAwake)
			}
			continue
		}
		began := time.Now()
		if f.interval() == 0 {
			timer.Stop()
			continue
		}
		f.poll(ctx, &loops, func(Source) bool { return true }) // which may change the interval
		timer.Reset(max(0, f.interval()-time.Since(began)))
	}
}

func (f *Flusher) interval() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.settings.Interval > 0 && time.Since(f.followed) >= IdleAfter {
		return max(f.settings.Interval, f.settings.IdleInterval)
	}
	return f.settings.Interval
}

// noteFollowed records that a service was watched at a time.
func (f *Flusher) noteFollowed(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.followed = later(f.followed, at)
}

// wake makes Run poll a source.
func (f *Flusher) wake(s Source) {
	f.mu.Lock()
	f.awake[s.String()] = true
	f.mu.Unlock()
	select {
	case f.woken <- struct{}{}:
	default:
	}
}

func (f *Flusher) isAwake(s Source) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.awake[s.String()]
}

// poll reads the watches on the services of the buffer and of senders in the sources that are due, starts to flush the newly watched
// services, and asks the senders to do so.
func (f *Flusher) poll(ctx context.Context, loops *sync.WaitGroup, due func(Source) bool) {
	services := f.services()
	if len(services) == 0 {
		return
	}
	for _, st := range f.opts.Stores(ctx) {
		s := sourceOf(st)
		if !due(s) || !f.allowed(s) {
			continue
		}
		requesting, cancel := context.WithTimeout(ctx, requestTimeout)
		all, err := s.Watches(requesting, services, func() { f.wake(s) })
		cancel()
		if err != nil {
			f.failed(ctx, s, err)
			continue
		}
		for _, w := range all {
			if _, ok := slices.BinarySearch(services, w.Service); !ok {
				continue
			}
			if !w.Written.IsZero() { // even if it has expired: its reader may come back
				f.noteFollowed(w.Read.Add(-w.Clock.Sub(w.Written)))
			}
			f.noteWatch(ctx, loops, s, w)
		}
	}
	f.opts.Senders.set(f.live())
}

// services returns the services of the buffer and of senders, in order of name.
func (f *Flusher) services() []string {
	own, others := f.buffer.Services(), f.opts.Senders.Services()
	if len(others) == 0 {
		return own
	}
	all := slices.Concat(own, others)
	slices.Sort(all)
	return slices.Compact(all)
}

// live returns the live watches.
func (f *Flusher) live() map[string]Watch {
	f.mu.Lock()
	defer f.mu.Unlock()
	live := make(map[string]Watch, len(f.flushing))
	for service, g := range f.flushing {
		if time.Now().Before(g.until) {
			live[service] = Watch{Service: service, Written: g.written, Clock: g.clock, Read: g.localClock}
		}
	}
	return live
}

// allowed reports whether a source may be polled now.
func (f *Flusher) allowed(s Source) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.awake, s.String())
	if time.Now().Before(f.denied[s.String()]) {
		return false
	}
	delete(f.denied, s.String())
	return true
}

// failed counts a failure. It logs denied access once per source. Other failures affect uploads too, and uploads log them.
func (f *Flusher) failed(ctx context.Context, s Source, err error) {
	if ctx.Err() != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Failures++
	if !Denied(err) {
		f.opts.Log.Debug("watches are unavailable", "store", s.String(), "error", err)
		return
	}
	if !f.logged[s.String()] {
		f.logged[s.String()] = true
		f.opts.Log.Info("no watches: live tails see records after the flush interval", "store", s.String(), "error", err)
	}
	f.denied[s.String()] = time.Now().Add(deniedInterval)
}

// noteWatch records a watch that was read. If the watch is live, its service is flushed until the watch expires.
func (f *Flusher) noteWatch(ctx context.Context, loops *sync.WaitGroup, s Source, w Watch) {
	left, ok := w.live()
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.flushing[w.Service]
	if g == nil {
		g = &flushing{service: w.Service, source: s, count: new(sync.Once), counted: make(chan struct{})}
		f.flushing[w.Service] = g
		f.buffer.SetFollowed(w.Service, true)
		loops.Go(func() { f.flushLoop(ctx, g) })
	}
	if g.polls++; g.polls == 2 || g.polls == 1 && w.Shippers > 0 {
		g.count.Do(func() { close(g.counted) })
	}
	if !g.written.Equal(w.Written) {
		g.asked = time.Now()
	}
	g.until, g.interval, g.written = w.Read.Add(left), FlushInterval(w.Shippers), w.Written
	// Both are past times of storage's clock. The response's date may be rounded down, so take the later one.
	g.clock, g.localClock = later(w.Clock, w.Written), w.Read
}

// flushing is a service that is being watched. The lock of the Flusher guards the fields from polls on.
type flushing struct {
	service string
	source  Source
	// counted is closed when the number of shippers that respond is known. That is at the second poll at the latest: by then
	// the watcher has counted the shippers that responded at the first.
	counted chan struct{}
	count   *sync.Once

	// polls is the number of polls that found the watch live.
	polls int
	// until is when the watch expires, by this process's clock.
	until    time.Time
	interval time.Duration
	// written is when the watch was renewed, asked when that was read, by this process's clock. clock was the time by storage's clock
	// when this process's clock was at localClock.
	written, asked, clock, localClock time.Time
}

// flushLoop flushes a service until the watch on it has expired, and reports up to which time the records are in storage.
// Before the first flush it reports that this shipper responds, so that the watch counts it. It flushes nothing without such
// a report.
func (f *Flusher) flushLoop(ctx context.Context, g *flushing) {
	var began, reported, tried time.Time // the last flush, report, and attempt to report; zero before the first
	var flushed time.Time                // by storage's clock
	share := 1.0                         // part of the interval before the next flush; random once, to spread the shippers
	report := func() {
		tried = time.Now()
		if f.report(ctx, g, flushed) == nil {
			reported = time.Now()
		}
	}
	for {
		now, ok := f.current(ctx, g)
		if !ok {
			return
		}
		if time.Since(reported) >= Renewal && time.Since(tried) >= MinFlushInterval {
			report()
		}
		if time.Since(reported) >= Lifetime { // no watcher counts this shipper
			sleep(ctx, tried.Add(MinFlushInterval))
			continue
		}
		if due := began.Add(max(MinFlushInterval, time.Duration(share*float64(now.interval)))); !began.IsZero() && time.Now().Before(due) {
			sleep(ctx, earlier(due, later(reported.Add(Renewal), tried.Add(MinFlushInterval))))
			continue
		}
		first := began.IsZero()
		if first {
			f.opts.Senders.wait(ctx, g.service, now.written, now.asked.Add(SendersTimeout))
		}
		began, share = time.Now(), 1
		bySenders, limited := f.opts.Senders.flushed(g.service, now.written, time.Since(now.asked) >= SendersTimeout)
		batches, stored := f.flush(ctx, g.service, began)
		if stored {
			responded := !flushed.Before(now.written)
			to := now.clock.Add(began.Sub(now.localClock))
			if limited {
				to = earlier(to, bySenders)
			}
			flushed = later(flushed, to)
			if batches > 0 || !responded && !flushed.Before(now.written) {
				report()
			}
		}
		if first {
			share = rand.Float64()
			g.awaitCount(ctx)
		}
	}
}

// awaitCount waits until a watch that counts this shipper was read, so that the interval before the second flush is known.
func (g *flushing) awaitCount(ctx context.Context) {
	expired := time.NewTimer(Lifetime)
	defer expired.Stop()
	select {
	case <-g.counted:
	case <-expired.C:
	case <-ctx.Done():
	}
}

// sleep waits until a time or until ctx ends.
func sleep(ctx context.Context, until time.Time) {
	_ = retry.Sleep(ctx, time.Until(until))
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// current returns a copy of g. If ok is false, the service is no longer watched and g was removed.
func (f *Flusher) current(ctx context.Context, g *flushing) (now flushing, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, denied := f.denied[g.source.String()]
	if ctx.Err() == nil && !denied && f.settings.Interval > 0 && time.Now().Before(g.until) {
		return *g, true
	}
	delete(f.flushing, g.service)
	f.buffer.SetFollowed(g.service, false)
	return flushing{}, false
}

// flush flushes a service and waits, at most storeTimeout, until the records appended before began are in storage; stored
// reports whether they are. It does nothing once the service has reached MaxFlushes.
func (f *Flusher) flush(ctx context.Context, service string, began time.Time) (batches int, stored bool) {
	if !f.mayFlush(service) {
		return 0, false
	}
	batches = f.buffer.FlushService(ctx, service)
	f.mu.Lock()
	f.flushed[service] += batches
	f.stats.Flushes += uint64(batches)
	f.mu.Unlock()
	storing, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return batches, f.buffer.WaitStored(storing, service, began) == nil
}

// mayFlush reports whether the service is below MaxFlushes today. It logs the first refusal of a day.
func (f *Flusher) mayFlush(service string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if day := time.Now().UTC().Format(time.DateOnly); day != f.day {
		f.day = day
		clear(f.flushed)
		clear(f.limited)
	}
	if f.flushed[service] < f.settings.MaxFlushes {
		return true
	}
	f.stats.Limited++
	if !f.limited[service] {
		f.limited[service] = true
		f.opts.Log.Warn("limit of early flushes reached: until midnight UTC live tails see records after the flush interval",
			"service", service, "max_watch_flushes", f.settings.MaxFlushes)
	}
	return false
}

// report reports what this shipper has flushed.
func (f *Flusher) report(ctx context.Context, g *flushing, flushed time.Time) error {
	requesting, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := g.source.Report(requesting, Shipper{Service: g.service, Instance: f.opts.Instance, Flushed: flushed})
	if err != nil {
		f.failed(ctx, g.source, fmt.Errorf("cannot respond to a watch: %w", err))
	}
	return err
}
