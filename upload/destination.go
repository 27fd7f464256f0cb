package upload

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"logstow/blobnaming"
	"logstow/buffer"
	"logstow/store"
)

// destination is a store and its state. Safe for concurrent use.
type destination struct {
	// name is recorded with each batch, so that later runs find the store again.
	name      string
	container string
	blobs     store.Blobs
	tables    store.Tables
	numbers   *blobnaming.Numberer
	gate      bucketGate
	// memory is charged against Options.Memory.
	memory *semaphore.Weighted
	// accepted is the highest number of an attempt that stored a batch; the lock of the Uploader guards it.
	accepted uint64
	// indexed is set after the first entity was written.
	indexed atomic.Bool
	// blobOutage and indexOutage log current failures.
	blobOutage, indexOutage outageLogger
}

func newDestination(name string, st store.Store, opts *Options) *destination {
	return &destination{
		name:        name,
		container:   st.Container(),
		blobs:       st.Blobs(),
		tables:      st.Tables(),
		numbers:     blobnaming.NewNumberer(opts.Random),
		gate:        newBucketGate(),
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

// destinationOf is the destination with a name: the current store, one of a route, or one of an
// earlier configuration. A create that may have been applied there must be found there, so such a
// batch waits for its store.
func (s *Uploader) destinationOf(ctx context.Context, name string) (*destination, error) {
	if d := s.known(name); d != nil {
		return d, nil
	}
	if s.opts.Stores == nil {
		return nil, errNoStore{name, errors.New("it is not a configured store")}
	}
	st, err := s.opts.Stores(ctx, name) // without the lock: a store that is repaired first takes long
	if err != nil {
		return nil, errNoStore{name, err}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.get(name); d != nil {
		return d, nil // opened by two senders
	}
	d := newDestination(name, st, &s.opts)
	s.others[name] = d
	return d, nil
}

// known is the destination with a name, nil if it has not been opened.
func (s *Uploader) known(name string) *destination {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.get(name)
}

// get is known with the lock held.
func (s *Uploader) get(name string) *destination {
	if name == s.current.name {
		return s.current
	}
	return s.others[name]
}

// routedQueue holds the batches of a store with its own senders.
type routedQueue struct {
	waiting []*buffer.Batch
	senders int
}

// forward passes a batch to the senders of its store, so that no worker waits for that store.
func (r *run) forward(ctx context.Context, name string, b *buffer.Batch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.routed[name]
	if e == nil {
		e = new(routedQueue)
		r.routed[name] = e
	}
	e.waiting = append(e.waiting, b)
	if e.senders >= r.s.opts.Workers {
		return
	}
	e.senders++
	r.senders.Add(1)
	r.group.Go(func() error {
		defer r.senders.Done()
		return r.sendRouted(ctx, name)
	})
}

// sendRouted delivers the batches of a store until none is left.
func (r *run) sendRouted(ctx context.Context, name string) error {
	opening := outageLogger{log: r.s.opts.Log, what: "opening a store", where: name}
	for b := r.nextRouted(name); b != nil; b = r.nextRouted(name) {
		var d *destination
		err := r.s.retry(ctx, &opening, func() (err error) {
			d, err = r.s.destinationOf(ctx, name)
			return err
		})
		if err != nil {
			r.requeue(b)
		} else {
			err = r.deliver(ctx, d, b)
		}
		if err != nil {
			r.abandon(name)
			return err
		}
	}
	return nil
}

// abandon ends a sender after an error, which ends the run: waiting batches are requeued.
func (r *run) abandon(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.routed[name]
	r.undelivered = append(r.undelivered, e.waiting...)
	e.waiting = nil
	e.leave(r, name)
}

// leave unregisters a sender; r.mu must be held.
func (e *routedQueue) leave(r *run, name string) {
	if e.senders--; e.senders == 0 {
		delete(r.routed, name)
	}
}

// nextRouted takes the next batch of a store. After nil, the calling sender ends.
func (r *run) nextRouted(name string) *buffer.Batch {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.routed[name]
	if len(e.waiting) == 0 {
		e.leave(r, name)
		return nil
	}
	b := e.waiting[0]
	e.waiting = e.waiting[1:]
	return b
}
