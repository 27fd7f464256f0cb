// Package upload takes sealed batches from the buffer to storage: the blob, then
// its row in the index, then the acknowledgement. It is the only owner of that
// order and of retries: what lies below it tries once.
//
// A batch's store and name are written down before its create is tried, and kept
// for as long as that create may have been applied, whatever is configured by
// then. A create that finds its name taken looks whether the blob there is this
// batch, whose answer got lost; if not, it takes the next number. So a batch is
// stored once, whatever answers are lost.
//
// What storage as a whole does not do is tried without end. A batch is quarantined
// only for a reason of its own that a second check confirmed: it is damaged, or
// storage refuses it, or its file cannot be read, while others are delivered.
//
// The index is no condition for a blob: rows are collected, written in groups,
// and kept until the index takes them.
package upload

import (
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"logstow/buffer"
	"logstow/store"
)

// Options configure a [Uploader]; a zero field takes the default named at it.
type Options struct {
	// Buffer is where batches come from. Required.
	Buffer *buffer.Buffer
	// Store is where they go. Required.
	Store store.Store
	// StoreName is written down with each batch before it is sent, to find the store
	// again after a change of the configuration; default Store.String().
	StoreName string
	// Stores opens another store by such a name, for batches that may have been
	// stored there by an earlier run; who gives it closes what it opened. Nil opens none.
	Stores func(ctx context.Context, name string) (store.Store, error)
	// Route is the name of the store that a new batch goes to, for Stores to open; it
	// must be safe for concurrent use. Nil is Store for all.
	Route func(service, instance string) string
	// Workers is how many batches are sent to a store at once; default 4.
	Workers int
	// Memory bounds the bytes of the batches being sent to a store at once, unless one
	// alone is larger; default 16 MiB.
	Memory int64
	// RetryFor is how long a request that storage does not answer is tried before
	// Run gives up; a request that it refuses then ends Run at once. 0 is for ever.
	RetryFor time.Duration
	// Backoff is the wait between tries.
	Backoff Backoff
	// IndexWait is how long a row may wait for others to be written with; default five seconds.
	IndexWait time.Duration
	// IndexGroup is how many rows are written without waiting; default 100, a transaction.
	IndexGroup int
	// MaxUnindexed is how many batches may wait for the index; past that the oldest are
	// acknowledged without a row, which is counted and said. 0 is any number.
	MaxUnindexed int
	// Random returns a number in [0, n); default [rand.Uint64N].
	Random func(n uint64) uint64
	// Log gets what an operator should know; nil is silence.
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

	mu sync.Mutex
	// route is that of Options or SetStore.
	route func(service, instance string) string
	// current is the store of Options or SetStore, others those of routes and of
	// earlier configurations.
	current *destination
	others  map[string]*destination
	stats   Stats
	// batchOutage is of single batches that cannot be delivered.
	batchOutage outageLogger
	// services are the parts of stats that [MaxServices] of them have, and "" the rest.
	services map[string]*Delivered
}

// MaxServices is how many services [Uploader.Services] tells apart.
const MaxServices = 1000

// Delivered is what is in storage.
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

// Stats are numbers since New.
type Stats struct {
	Delivered
	// Creates were tried, Conflicts of them found another's blob under their name.
	Creates, Conflicts uint64
	// Quarantined batches could not be delivered: storage refuses them while it takes
	// others, or they are damaged or cannot be read.
	Quarantined uint64
	// Unindexed batches were acknowledged without a row in the index.
	Unindexed uint64
}

// New makes a Uploader.
func New(opts Options) *Uploader {
	opts = opts.withDefaults()
	return &Uploader{
		opts:     opts,
		route:    opts.Route,
		current:  newDestination(opts.StoreName, opts.Store, &opts),
		others:   make(map[string]*destination),
		services: make(map[string]*Delivered),

		batchOutage: outageLogger{log: opts.Log, what: "delivering a batch", where: opts.Store.String()},
	}
}

// Outage is the error of the last attempt to store a batch, nil if that succeeded or
// there was none. Of several stores it is the first one's that does not work.
func (s *Uploader) Outage() error {
	for _, d := range s.destinations() {
		if err := d.blobOutage.lastError(); err != nil {
			return err
		}
	}
	return nil
}

// destinationFor is where a batch goes: the destination, or the name of one that has senders of its own.
func (s *Uploader) destinationFor(b *buffer.Batch) (own *destination, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case b.Name() != "":
		name = b.Store() // it was written down, and may have been created there
	case s.route != nil:
		name = s.route(b.Service, b.Meta.Instance)
	default:
		name = s.current.name
	}
	if s.route == nil && name == s.current.name {
		return s.current, name
	}
	return nil, name // where there are several, none may keep the workers from the others
}

// destinations are all that are known.
func (s *Uploader) destinations() []*destination {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*destination{s.current}, slices.Collect(maps.Values(s.others))...)
}

// SetStore makes new batches go elsewhere; name and route are as in Options. What may
// have been sent to the store before still goes there.
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

// Stats returns the numbers up to now.
func (s *Uploader) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Services are what of each service is in storage; past [MaxServices] of them
// the others are together under the empty name.
func (s *Uploader) Services() map[string]Delivered {
	s.mu.Lock()
	defer s.mu.Unlock()
	services := make(map[string]Delivered, len(s.services))
	for name, d := range s.services {
		services[name] = *d
	}
	return services
}

// delivered counts a batch whose blob is stored.
func (s *Uploader) delivered(d *destination, b *buffer.Batch) {
	d.delivered.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
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

// Run ships until the buffer is drained and everything is stored and indexed,
// or ctx ends, or, with RetryFor, storage does not work. Batches that are not done
// then went back to the buffer. It may be called once at a time.
func (s *Uploader) Run(ctx context.Context) error {
	return s.upload(ctx, s.opts.Buffer, s.opts.Workers)
}

// RunOther ships another buffer, one that was taken over, in the same way and
// with one worker. It may be called while Run or RunOther of other buffers run.
func (s *Uploader) RunOther(ctx context.Context, b *buffer.Buffer) error {
	return s.upload(ctx, b, 1)
}

// CurrentError is what does not work at the moment; nil while all does.
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
