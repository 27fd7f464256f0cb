package watch_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"logstow/internal/test/effort"
	"logstow/store"
	"logstow/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a store's tables in memory, whose clock differs from that of the process.
type memory struct {
	ahead time.Duration

	mu       sync.Mutex
	tables   map[string]map[store.Key]store.Entity
	requests store.Requests
	// polls counts the queries of watches on several services: those of shippers.
	polls int
	// read and write are the errors of requests; nil for none.
	read, write error
	// hang are the first characters of the rows of which reading does not end; "" is none.
	hang string
}

func newMemory() *memory { return &memory{tables: map[string]map[store.Key]store.Entity{}} }

func (m *memory) fail(read, write error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.read, m.write = read, write
}

func (m *memory) count() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.requests.Table
}

func (m *memory) Tables(context.Context, string) iter.Seq2[[]string, error] { panic("not needed") }
func (m *memory) DropTable(context.Context, string) error                   { panic("not needed") }

// Query returns the entities with the times, in whole seconds as those of Azure's responses.
func (m *memory) Query(ctx context.Context, table string, q store.Query) iter.Seq2[[]store.Entity, error] {
	return func(yield func([]store.Entity, error) bool) {
		m.mu.Lock()
		m.requests.Table++
		if q.Partition == "watch|" && q.RowTo != q.RowFrom+"!" {
			m.polls++
		}
		if m.hang != "" && strings.HasPrefix(q.RowFrom, m.hang) {
			m.mu.Unlock()
			<-ctx.Done()
			yield(nil, context.Cause(ctx))
			return
		}
		all, err := m.tables[table], m.read
		missing := all == nil
		var page []store.Entity
		if q.PartitionTo != "" {
			panic("a query of several partitions")
		}
		if watch := (store.Key{Partition: q.Partition, Row: q.RowFrom}); q.RowTo == q.RowFrom+"!" { // of 1,000 polls
			all = map[store.Key]store.Entity{}
			if e, ok := m.tables[table][watch]; ok {
				all[watch] = e
			}
		}
		for k, e := range all {
			if k.Partition == q.Partition && k.Row >= q.RowFrom && k.Row < q.RowTo {
				e.Read = time.Now().Add(m.ahead).Truncate(time.Second)
				page = append(page, e)
			}
		}
		m.mu.Unlock()
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err == nil && missing {
			err = store.ErrNoTable
		}
		if err != nil {
			yield(nil, err)
			return
		}
		slices.SortFunc(page, func(a, b store.Entity) int { return strings.Compare(a.Partition+"|"+a.Row, b.Partition+"|"+b.Row) })
		yield(page, nil)
	}
}

func (m *memory) CreateTable(_ context.Context, table string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests.Table++
	if m.write == nil && m.tables[table] == nil {
		m.tables[table] = map[store.Key]store.Entity{}
	}
	return m.write
}

func (m *memory) Upsert(_ context.Context, table string, entities []store.Entity) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests.Table++
	if m.write != nil {
		return m.write
	}
	if m.tables[table] == nil {
		return store.ErrNoTable
	}
	for _, e := range entities {
		if err := store.CheckEntities([]store.Entity{e}); err != nil {
			return err
		}
		e.Written = time.Now().Add(m.ahead)
		m.tables[table][e.Key] = e
	}
	return nil
}

func (m *memory) Remove(_ context.Context, table string, keys []store.Key) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests.Table++
	for _, k := range keys {
		delete(m.tables[table], k)
	}
	return m.write
}

// place is a store of these tables.
type place struct {
	store.Store
	*memory
}

func (p place) Tables() store.Tables { return p.memory }
func (p place) Container() string    { return "logs" }
func (p place) String() string       { return "memory" }

// spool is a buffer whose records come every so often, and are in storage at once. It counts the segments.
type spool struct {
	services []string
	// every is the time between records; 0 is that none come.
	every time.Duration
	// stored is how long storing takes.
	stored time.Duration

	mu      sync.Mutex
	flushed map[string][]time.Time
	last    map[string]time.Time
	// followed are the services that are followed.
	followed map[string]bool
}

func newSpool(every time.Duration, services ...string) *spool {
	return &spool{every: every, services: services, flushed: map[string][]time.Time{}, last: map[string]time.Time{}, followed: map[string]bool{}}
}

func (s *spool) Services() []string { return s.services }

func (s *spool) FlushService(_ context.Context, service string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.every == 0 || now.Sub(s.last[service]) < s.every {
		return 0
	}
	s.last[service] = now
	s.flushed[service] = append(s.flushed[service], now)
	return 1
}

func (s *spool) SetFollowed(service string, followed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.followed[service] = followed
}

func (s *spool) WaitStored(ctx context.Context, _ string, _ time.Time) error {
	s.mu.Lock()
	stored := s.stored
	s.mu.Unlock()
	select {
	case <-time.After(stored):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *spool) flushes(service string) []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.flushed[service])
}

// running are goroutines that end with the test's function.
type running struct {
	ctx    context.Context
	cancel context.CancelFunc
	sync.WaitGroup
}

func start(t *testing.T) *running {
	ctx, cancel := context.WithCancel(t.Context())
	return &running{ctx: ctx, cancel: cancel}
}

func (r *running) stop() {
	r.cancel()
	r.Wait()
}

// flusher runs the flusher of an instance.
func (r *running) flusher(m *memory, s *spool, instance string, settings watch.Settings) *watch.Flusher {
	f := watch.NewFlusher(watch.FlusherOptions{
		Instance: instance, Settings: settings,
		Stores: func(context.Context) []store.Store { return []store.Store{place{memory: m}} },
	})
	r.Go(func() { f.Run(r.ctx, s) })
	return f
}

// watcher runs a watcher of services, until the function that it returns is called.
// flushers runs those of n shippers, each of which always has records of the service web, until the end.
func (r *running) flushers(m *memory, n int) (spools []*spool) {
	for _, instance := range instances(n) {
		s := newSpool(time.Millisecond, "web")
		spools = append(spools, s)
		r.flusher(m, s, instance, defaults)
	}
	return spools
}

func (r *running) watcher(m *memory, services ...string) (w *watch.Watcher, stop func() error) {
	w = newWatcher(m, services...)
	return w, r.run(w)
}

// run runs a watcher, until the function that it returns is called.
func (r *running) run(w *watch.Watcher) (stop func() error) {
	ctx, cancel := context.WithCancel(r.ctx)
	ended := make(chan error, 1)
	r.Go(func() { ended <- w.Run(ctx, func() {}) })
	return func() error { cancel(); return <-ended }
}

func newWatcher(m *memory, services ...string) *watch.Watcher {
	return &watch.Watcher{Tables: m, Container: "logs", Free: true, Services: func(context.Context) ([]string, error) { return services, nil }}
}

// newBilledWatcher makes a watcher of a store whose requests are billed.
func newBilledWatcher(m *memory, services ...string) *watch.Watcher {
	w := newWatcher(m, services...)
	w.Free = false
	return w
}

var defaults = watch.Settings{Interval: watch.DefaultInterval, MaxFlushes: watch.DefaultMaxFlushes}

// billed are the settings of shippers whose requests are billed.
var billed = watch.Settings{Interval: watch.DefaultInterval, IdleInterval: watch.IdleInterval, MaxFlushes: watch.DefaultMaxFlushes}

// many is the number of shippers of a large service.
func many() int {
	if effort.Of() < effort.Full {
		return 200
	}
	return 1000
}

// instances are the names of n instances.
func instances(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("i-%04d", i))
	}
	return names
}
