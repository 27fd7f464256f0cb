package upload

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"logstow/buffer"
	"logstow/internal/inflight"
	"logstow/relay"
	"logstow/store"
)

// destination is a store with the state of its deliveries. Safe for concurrent use.
type destination struct {
	// name is recorded with each batch, so that later runs can open the store again.
	name      string
	container string
	blobs     store.Blobs
	tables    store.Tables
	// relays is set if the store is relays; only blobs is used besides.
	relays relays
	gate   *bucketGate
	// limit limits the creates in flight.
	limit *inflight.Limiter
	// memory limits the bytes of the batches in flight to Options.Memory.
	memory *semaphore.Weighted
	// accepted is the highest number of a successful attempt to store a batch; the lock of the Uploader guards it.
	accepted uint64
	// indexed is set after the first entity was written.
	indexed atomic.Bool
	// blobOutage and indexOutage log current failures.
	blobOutage, indexOutage outageLogger
}

func newDestination(name string, st store.Store, opts *Options) *destination {
	relays, _ := store.As[relays](st)
	return &destination{
		name:        name,
		container:   st.Container(),
		blobs:       st.Blobs(),
		tables:      st.Tables(),
		relays:      relays,
		gate:        newBucketGate(opts.Random),
		limit:       inflight.New(inflight.Options{First: min(firstWorkers, opts.Workers), Max: opts.Workers, Latency: true}),
		memory:      semaphore.NewWeighted(opts.Memory),
		blobOutage:  outageLogger{log: opts.Log, what: "storing segments", where: st.String()},
		indexOutage: outageLogger{log: opts.Log, what: "writing the index", where: st.String()},
	}
}

// errNoStore reports that the store to which a batch was being sent cannot be opened.
type errNoStore struct {
	name  string
	cause error // not unwrapped: the configuration is invalid, not the batch
}

func (e errNoStore) Error() string {
	return fmt.Sprintf("cannot open store %s, which may hold the segment already: %v", e.name, e.cause)
}

// destinationOf returns the destination with a name: the current store, one of a route, or one of an
// earlier configuration. A batch whose create may have been applied in a store waits for that store,
// because only there the blob can be found.
func (u *Uploader) destinationOf(ctx context.Context, name string) (*destination, error) {
	if d := u.known(name); d != nil {
		return d, nil
	}
	if u.opts.Stores == nil {
		return nil, errNoStore{name, errors.New("it is not a configured store")}
	}
	st, err := u.opts.Stores(ctx, name) // without the lock: a store that is repaired first takes long
	if err != nil {
		return nil, errNoStore{name, err}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if d := u.get(name); d != nil {
		return d, nil // opened by two senders
	}
	d := newDestination(name, st, &u.opts)
	u.others[name] = d
	return d, nil
}

// known returns the destination with a name; nil if it is not open.
func (u *Uploader) known(name string) *destination {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.get(name)
}

// get is known with the lock held. Relays are recognized by their IDs: other addresses of the configuration serve as well.
func (u *Uploader) get(name string) *destination {
	if name == u.current.name || u.current.relays != nil && relay.IsName(name) {
		return u.current
	}
	return u.others[name]
}

// routedQueue holds the batches of a store with its own senders.
type routedQueue struct {
	waiting []*buffer.Batch
	senders int
}

// forward passes a batch to the senders of a store, so that no worker waits for that store.
func (r *run) forward(ctx context.Context, name string, b *buffer.Batch) {
	limit := r.u.workers(name)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed[name] != nil {
		r.undelivered = append(r.undelivered, b)
		return
	}
	q := r.routed[name]
	if q == nil {
		q = new(routedQueue)
		r.routed[name] = q
	}
	q.waiting = append(q.waiting, b)
	r.startSender(ctx, name, q, limit)
}

// startSender starts a sender of a store whose batches wait, up to a limit; r.mu must be held.
func (r *run) startSender(ctx context.Context, name string, q *routedQueue, limit int) {
	if len(q.waiting) == 0 || q.senders >= limit {
		return
	}
	q.senders++
	r.senders.Add(1)
	r.group.Go(func() error {
		defer r.senders.Done()
		return r.sendRouted(ctx, name)
	})
}

// opening returns the logger of failures to open a store.
func (u *Uploader) opening(name string) outageLogger {
	return outageLogger{log: u.opts.Log, what: "opening a store", where: name}
}

// open returns the destination with a name, and opens its store until that succeeds, or the limit has passed (see retryFor).
func (r *run) open(ctx context.Context, failures *outageLogger, name string, limit time.Duration) (d *destination, err error) {
	err = r.u.retry(ctx, failures, limit, func() error {
		d, err = r.u.destinationOf(ctx, name)
		return err
	})
	return d, err
}

// sendRouted delivers the batches of a store until none is left.
func (r *run) sendRouted(ctx context.Context, name string) error {
	opening := r.u.opening(name)
	for b := r.nextRouted(ctx, name); b != nil; b = r.nextRouted(ctx, name) {
		d, err := r.open(ctx, &opening, name, r.u.retryFor(b, name))
		if err != nil {
			r.requeue(b)
		} else if err = r.reserve(ctx, d, b); err == nil {
			err = r.deliver(ctx, d, b)
		}
		if err != nil {
			others := r.giveUp(ctx, name, err)
			r.abandon(name)
			if others {
				return nil
			}
			return err
		}
	}
	return nil
}

// abandon unregisters a sender after an error, which ends the run or the deliveries to its store, and requeues the waiting batches.
func (r *run) abandon(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.routed[name]
	r.undelivered = append(r.undelivered, q.waiting...)
	q.waiting = nil
	q.leave(r, name)
}

// leave unregisters a sender; r.mu must be held.
func (q *routedQueue) leave(r *run, name string) {
	if q.senders--; q.senders == 0 {
		delete(r.routed, name)
	}
}

// nextRouted takes the next batch of a store, and starts another sender if the limit allows. After nil, the calling sender
// ends.
func (r *run) nextRouted(ctx context.Context, name string) *buffer.Batch {
	limit := r.u.workers(name)
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.routed[name]
	if len(q.waiting) == 0 || q.senders > limit {
		q.leave(r, name)
		return nil
	}
	b := q.waiting[0]
	q.waiting = q.waiting[1:]
	r.startSender(ctx, name, q, limit)
	return b
}
