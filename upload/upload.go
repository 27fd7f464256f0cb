// Package upload moves sealed batches from the buffer to storage: first the blob, then the acknowledgement, then the
// entity in the index. It alone owns this order and the retries: the layers
// below try once.
//
// The store and name of a batch are recorded before the create is sent, and kept as long as that create
// may have been applied, even if the configuration changes. If a create finds its name taken, it checks
// whether the blob there is this batch, because the response to an earlier create may have been lost. If
// it is another batch, it takes the next number. So a batch is stored once, even if responses are lost.
//
// Failures of storage as a whole are retried forever. A batch is quarantined only if a second check
// confirms that the batch itself is the cause: it is damaged, or storage rejects it or its file
// cannot be read while other batches are delivered.
//
// Blobs do not wait for the index: a stored batch leaves the buffer, and its entity stays there, durable, until
// the index has it. Entities are written in groups, and retried until the index accepts them.
package upload

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"logstow/buffer"
	"logstow/internal/logging"
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
	// Stores opens another store by its StoreName, for batches of a Route and for batches that an earlier
	// run may have stored there. The provider of Stores closes them. Concurrent calls with the same name
	// must return the same store. If it is nil, no other store is opened.
	Stores func(ctx context.Context, name string) (store.Store, error)
	// Route returns the name of the store for a new batch, which Stores opens. It must be safe for
	// concurrent use. If it is nil, all batches go to Store.
	Route func(service, instance string) string
	// Workers is the maximum number of batches that are sent to a store concurrently; default 64. How many are sent adapts to
	// the store: it begins with 4, grows while batches wait and requests succeed, and is halved when the store throttles, or
	// responds later without responding more often.
	Workers int
	// Memory bounds the bytes of the batches in flight to a store, unless a single batch is larger;
	// default 16 MiB.
	Memory int64
	// RetryFor is how long a request is retried before Run gives up a store. If it is set, Run gives up at once after an error
	// that an operator must correct, such as denied access, and after a second for a store that only an earlier configuration
	// names. Run then returns the error, at once if there is only one store. With several it first delivers the batches of the
	// others, as long as one is delivered in each RetryFor. 0 retries forever.
	RetryFor time.Duration
	// Backoff is the delay between attempts.
	Backoff Backoff
	// IndexWait is the maximum time that an entity waits for others to be written with; default five seconds.
	IndexWait time.Duration
	// IndexGroup is the number of waiting entities that are written at once; default 100, one transaction.
	IndexGroup int
	// NoIndex writes no entities, and drops those that wait in the buffer.
	NoIndex bool
	// Random returns a number in [0, n); default [rand.Uint64N].
	Random func(n uint64) uint64
	// Log receives operational messages; nil discards them.
	Log *slog.Logger
}

const (
	// defaultWorkers is the default of Options.Workers, firstWorkers the number of batches that are sent concurrently at first.
	defaultWorkers = 64
	firstWorkers   = 4
)

func (o Options) withDefaults() Options {
	o.StoreName = cmp.Or(o.StoreName, o.Store.String())
	o.Workers = cmp.Or(o.Workers, defaultWorkers)
	o.Memory = cmp.Or(o.Memory, 16<<20)
	o.IndexWait = cmp.Or(o.IndexWait, 5*time.Second)
	o.IndexGroup = cmp.Or(o.IndexGroup, store.MaxTransaction)
	o.Backoff = o.Backoff.withDefaults()
	if o.Random == nil {
		o.Random = rand.Uint64N
	}
	o.Log = logging.OrDiscard(o.Log)
	return o
}

// Uploader is the sending end of the pipeline.
type Uploader struct {
	opts Options
	// again is the suffix of this sender's name for segments whose numbers relays have forgotten.
	again string
	// wait is Options.IndexWait or the last value of SetIndexWait.
	wait atomic.Int64

	mu sync.Mutex
	// route is the Route of Options or SetStore.
	route func(service, instance string) string
	// current is the store of Options or SetStore, others are the stores of routes and of
	// earlier configurations, by name.
	current *destination
	others  map[string]*destination
	stats   Stats
	// attempts counts the attempts to store a batch; accepted is the highest number of a successful one, to any destination.
	attempts, accepted uint64
	// batchOutage logs single batches that cannot be delivered.
	batchOutage outageLogger
	// services has the stats by service for up to [MaxServices] services; "" has those of all others.
	services map[string]*Delivered
}

// MaxServices is the number of services that [Uploader.Services] distinguishes.
const MaxServices = 1000

// Delivered counts what was stored.
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
func (u *Uploader) SetIndexWait(d time.Duration) { u.wait.Store(int64(d)) }

func (u *Uploader) indexWait() time.Duration { return time.Duration(u.wait.Load()) }

// Stats are totals since New.
type Stats struct {
	Delivered
	// Creates counts the attempts to create a blob, Conflicts those whose name another batch had taken.
	Creates, Conflicts uint64
	// Quarantined counts undeliverable batches: rejected by storage while it accepts others,
	// damaged, or unreadable.
	Quarantined uint64
	// Unindexed counts stored batches whose entity the index rejected.
	Unindexed uint64
}

// New makes an Uploader.
func New(opts Options) *Uploader {
	opts = opts.withDefaults()
	u := &Uploader{
		opts:     opts,
		again:    newSuffix(),
		route:    opts.Route,
		current:  newDestination(opts.StoreName, opts.Store, &opts),
		others:   make(map[string]*destination),
		services: make(map[string]*Delivered),

		batchOutage: outageLogger{log: opts.Log, what: "delivering a batch", where: opts.Store.String()},
	}
	u.SetIndexWait(opts.IndexWait)
	return u
}

// Outage returns the error of the last attempt to store a batch; nil if the attempt succeeded or
// there was none. With several stores it returns the error of the first one that fails.
func (u *Uploader) Outage() error {
	for _, d := range u.destinations() {
		if err := d.blobOutage.lastError(); err != nil {
			return err
		}
	}
	return nil
}

// destinationFor returns the name of the store of a batch. own is its destination if the workers deliver to it
// themselves; otherwise it is nil, and the store has its own senders.
func (u *Uploader) destinationFor(b *buffer.Batch) (own *destination, name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case b.Name() != "":
		name = b.Store() // the name was recorded and may have been created there
	default:
		name = u.configured(b)
	}
	if u.route == nil && u.get(name) == u.current {
		return u.current, name
	}
	return nil, name // with several stores, none may block the workers of the others
}

// configured returns the name of the store to which the configuration sends a batch. u.mu must be held.
func (u *Uploader) configured(b *buffer.Batch) string {
	if u.route != nil {
		return u.route(b.Service, b.Meta.Instance)
	}
	return u.current.name
}

// destinations returns all open destinations.
func (u *Uploader) destinations() []*destination {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]*destination{u.current}, slices.Collect(maps.Values(u.others))...)
}

// SetStore changes the store of new batches; name and route are as in Options. A batch that may
// have been sent to the previous store still goes there.
func (u *Uploader) SetStore(st store.Store, name string, route func(service, instance string) string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.route = route
	if name == u.current.name {
		return
	}
	u.others[u.current.name] = u.current
	if d := u.others[name]; d != nil {
		u.current = d
		delete(u.others, name)
		return
	}
	u.current = newDestination(name, st, &u.opts)
}

// workers returns how many batches may be sent to a store concurrently.
func (u *Uploader) workers(name string) int {
	if d := u.known(name); d != nil {
		return d.limit.Limit()
	}
	return min(firstWorkers, u.opts.Workers)
}

func (u *Uploader) currentName() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.current.name
}

// Limits returns how many batches may be sent to each open store at present, by its name.
func (u *Uploader) Limits() map[string]int {
	limits := make(map[string]int)
	for _, d := range u.destinations() {
		limits[d.name] = d.limit.Limit()
	}
	return limits
}

// Stats returns the current totals.
func (u *Uploader) Stats() Stats {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.stats
}

// Services returns what was stored since New, by service. If there are more than [MaxServices] services,
// "" has the counts of all others.
func (u *Uploader) Services() map[string]Delivered {
	u.mu.Lock()
	defer u.mu.Unlock()
	services := make(map[string]Delivered, len(u.services))
	for name, d := range u.services {
		services[name] = *d
	}
	return services
}

// delivered counts a stored batch.
func (u *Uploader) delivered(d *destination, b *buffer.Batch, attempt uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	d.accepted, u.accepted = max(d.accepted, attempt), max(u.accepted, attempt)
	u.stats.add(b)
	name := b.Service
	if u.services[name] == nil && len(u.services) >= MaxServices {
		name = ""
	}
	if u.services[name] == nil {
		u.services[name] = new(Delivered)
	}
	u.services[name].add(b)
}

func (u *Uploader) count(change func(*Stats)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	change(&u.stats)
}

// Run uploads until the buffer is drained and everything is stored and indexed, ctx ends, or, with
// RetryFor, storage keeps failing. It returns unfinished batches to the buffer. It must not be called
// while another Run is active.
func (u *Uploader) Run(ctx context.Context) error {
	return u.upload(ctx, u.opts.Buffer, u.opts.Workers)
}

// RunOther uploads another buffer, one that was taken over, with one worker. It may be called while
// Run or RunOther of other buffers run.
func (u *Uploader) RunOther(ctx context.Context, b *buffer.Buffer) error {
	return u.upload(ctx, b, 1)
}

// CurrentError returns the error of an operation that fails at present; nil if none does.
func (u *Uploader) CurrentError() error {
	for _, d := range u.destinations() {
		if err := d.blobOutage.lastError(); err != nil {
			return err
		}
		if err := d.indexOutage.lastError(); err != nil {
			return err
		}
	}
	return u.batchOutage.lastError()
}
