// Package upload moves sealed batches from the buffer to storage: first the blob, then its entity
// in the index, then the acknowledgement. It alone owns this order and the retries: the layers
// below try once.
//
// The store and name of a batch are recorded before the create is sent, and kept for as long as
// that create may have been applied, whatever the configuration by then. If a create finds its name
// taken, it checks whether the blob there is this batch, whose response was lost; if not, it takes
// the next number. So a batch is stored once, whatever responses are lost.
//
// Failures of storage as a whole are retried forever. A batch is quarantined only if a second check
// confirms that the batch itself is the cause: it is damaged, or storage rejects it or its file
// cannot be read while other batches are delivered.
//
// The index is no condition for a blob: entities are collected, written in groups, and retried
// until the index accepts them.
package upload

import (
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"logstow/buffer"
	"logstow/store"
)

// Options configure an [Uploader]; a zero field takes the default given in its comment.
type Options struct {
	// Buffer is the source of batches. Required.
	Buffer *buffer.Buffer
	// Store is the destination. Required.
	Store store.Store
	// StoreName is recorded with each batch before it is sent, to find the store again after a
	// change of the configuration; default Store.String().
	StoreName string
	// Stores opens another store by such a name, for batches that may have been stored there by an
	// earlier run; its provider closes what it opened. Two calls at once with one name return the
	// same store. Nil opens none.
	Stores func(ctx context.Context, name string) (store.Store, error)
	// Route is the name of the store for a new batch, for Stores to open. Safe for concurrent use.
	// Nil is Store for all.
	Route func(service, instance string) string
	// Workers is how many batches are sent to a store concurrently; default 4.
	Workers int
	// Memory bounds the bytes of the batches in flight to a store, unless a single batch is larger;
	// default 16 MiB.
	Memory int64
	// RetryFor is how long a request is retried before Run gives up; an access-denied error then
	// ends Run at once. 0 is forever.
	RetryFor time.Duration
	// Backoff is the delay between attempts.
	Backoff Backoff
	// IndexWait is how long an entity may wait to be written with others; default five seconds.
	IndexWait time.Duration
	// IndexGroup is how many entities are written without waiting; default 100, one transaction.
	IndexGroup int
	// MaxUnindexed is how many batches may wait for the index; beyond that the oldest are
	// acknowledged without an entity, which is counted and logged. 0 is unlimited.
	MaxUnindexed int
	// Random returns a number in [0, n); default [rand.Uint64N].
	Random func(n uint64) uint64
	// Log receives operational messages; nil discards them.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	setDefault(&o.StoreName, o.Store.String())
	setDefault(&o.Workers, 4)
	setDefault(&o.Memory, 16<<20)
	setDefault(&o.IndexWait, 5*time.Second)
	setDefault(&o.IndexGroup, store.MaxTransaction)
	o.Backoff = o.Backoff.withDefaults()
	if o.Random == nil {
		o.Random = rand.Uint64N
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Uploader is the sending end of the pipeline.
type Uploader struct {
	opts Options
	// wait is Options.IndexWait or that of SetIndexWait.
	wait atomic.Int64

	mu sync.Mutex
	// route is that of Options or SetStore.
	route func(service, instance string) string
	// current is the store of Options or SetStore, others those of routes and of
	// earlier configurations.
	current *destination
	others  map[string]*destination
	stats   Stats
	// attempts numbers the attempts to store a batch; accepted is the highest one that did, to any destination.
	attempts, accepted uint64
	// batchOutage logs single batches that cannot be delivered.
	batchOutage outageLogger
	// services are the stats by service, up to [MaxServices] of them; the rest is under "".
	services map[string]*Delivered
}

// MaxServices is the number of services that [Uploader.Services] distinguishes.
const MaxServices = 1000

// Delivered counts what is in storage.
type Delivered struct {
	// RawBytes is the size of the text form, StoredBytes that of the segments.
	Segments, Records, RawBytes, StoredBytes uint64
}

func (d *Delivered) add(b *buffer.Batch) {
	d.Segments++
	d.Records += b.Meta.Records
	d.RawBytes += b.Meta.RawBytes
	d.StoredBytes += uint64(b.Size)
}

// SetIndexWait changes Options.IndexWait for entities that are added from now on.
func (s *Uploader) SetIndexWait(d time.Duration) { s.wait.Store(int64(d)) }

func (s *Uploader) indexWait() time.Duration { return time.Duration(s.wait.Load()) }

// Stats are totals since New.
type Stats struct {
	Delivered
	// Creates counts attempts, Conflicts those that found their name taken by another batch.
	Creates, Conflicts uint64
	// Quarantined counts undeliverable batches: rejected by storage while it accepts others,
	// damaged, or unreadable.
	Quarantined uint64
	// Unindexed counts batches acknowledged without an index entity.
	Unindexed uint64
}

// New makes an Uploader.
func New(opts Options) *Uploader {
	opts = opts.withDefaults()
	s := &Uploader{
		opts:     opts,
		route:    opts.Route,
		current:  newDestination(opts.StoreName, opts.Store, &opts),
		others:   make(map[string]*destination),
		services: make(map[string]*Delivered),

		batchOutage: outageLogger{log: opts.Log, what: "delivering a batch", where: opts.Store.String()},
	}
	s.SetIndexWait(opts.IndexWait)
	return s
}

// Outage returns the error of the last attempt to store a batch; nil if the attempt succeeded or
// there was none. With several stores it returns the error of the first one that fails.
func (s *Uploader) Outage() error {
	for _, d := range s.destinations() {
		if err := d.blobOutage.lastError(); err != nil {
			return err
		}
	}
	return nil
}

// destinationFor is where a batch goes: the destination, or the name of one with its own senders.
func (s *Uploader) destinationFor(b *buffer.Batch) (own *destination, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case b.Name() != "":
		name = b.Store() // the name was recorded and may have been created there
	case s.route != nil:
		name = s.route(b.Service, b.Meta.Instance)
	default:
		name = s.current.name
	}
	if s.route == nil && name == s.current.name {
		return s.current, name
	}
	return nil, name // with several stores, none may block the workers of the others
}

// destinations are all known destinations.
func (s *Uploader) destinations() []*destination {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*destination{s.current}, slices.Collect(maps.Values(s.others))...)
}

// SetStore changes the store of new batches; name and route are as in Options. A batch that may
// have been sent to the previous store still goes there.
func (s *Uploader) SetStore(st store.Store, name string, route func(service, instance string) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.route = route
	if name == s.current.name {
		return
	}
	s.others[s.current.name] = s.current
	if again := s.others[name]; again != nil {
		s.current = again
		delete(s.others, name)
		return
	}
	s.current = newDestination(name, st, &s.opts)
}

// Stats returns the current totals.
func (s *Uploader) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Services returns what is in storage by service; beyond [MaxServices] the rest is under the empty
// name.
func (s *Uploader) Services() map[string]Delivered {
	s.mu.Lock()
	defer s.mu.Unlock()
	services := make(map[string]Delivered, len(s.services))
	for name, d := range s.services {
		services[name] = *d
	}
	return services
}

// delivered counts a stored batch.
func (s *Uploader) delivered(d *destination, b *buffer.Batch, attempt uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.accepted, s.accepted = max(d.accepted, attempt), max(s.accepted, attempt)
	s.stats.add(b)
	name := b.Service
	if s.services[name] == nil && len(s.services) >= MaxServices {
		name = ""
	}
	if s.services[name] == nil {
		s.services[name] = new(Delivered)
	}
	s.services[name].add(b)
}

func (s *Uploader) count(change func(*Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.stats)
}

// Run uploads until the buffer is drained and everything is stored and indexed, ctx ends, or, with
// RetryFor, storage keeps failing. Unfinished batches are then back in the buffer. It may be called
// once at a time.
func (s *Uploader) Run(ctx context.Context) error {
	return s.upload(ctx, s.opts.Buffer, s.opts.Workers)
}

// RunOther uploads another buffer, one that was taken over, with one worker. It may be called while
// Run or RunOther of other buffers run.
func (s *Uploader) RunOther(ctx context.Context, b *buffer.Buffer) error {
	return s.upload(ctx, b, 1)
}

// CurrentError is the error of operations that fail at present; nil if none does.
func (s *Uploader) CurrentError() error {
	for _, d := range s.destinations() {
		if err := d.blobOutage.lastError(); err != nil {
			return err
		}
		if err := d.indexOutage.lastError(); err != nil {
			return err
		}
	}
	return s.batchOutage.lastError()
}
