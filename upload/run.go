package upload

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"logstow/buffer"
)

// run is the upload of one buffer.
type run struct {
	u      *Uploader
	buffer *buffer.Buffer
	group  *errgroup.Group
	// senders counts the goroutines that deliver batches; when all have ended, sending is closed.
	senders sync.WaitGroup
	sending chan struct{}

	// maxWorkers is the maximum number of workers.
	maxWorkers int
	// taking has an element while a worker takes a batch from the buffer, until there is memory for the batch: so no other
	// worker takes one meanwhile, and those that wait for memory stay in the buffer, which may have to drop them.
	taking chan struct{}

	mu sync.Mutex
	// workers is the number of goroutines that take batches from the buffer.
	workers int
	// routed are batches that wait for stores with their own senders; a store with an entry has at
	// least one sender.
	routed map[string]*routedQueue
	// indexed are the stores with a goroutine that writes their entities.
	indexed map[string]bool
	// suspects counts batches that are retried apart from the senders.
	suspects int
	// failed are the errors of the stores that the run has given up, by name. end ends the run; it is set with the first of them,
	// and called if no batch is delivered for RetryFor.
	failed map[string]error
	end    *time.Timer
	cancel context.CancelCauseFunc
	// undelivered are the batches to return to the buffer when all goroutines have ended. If they were returned earlier,
	// a sender that does not know yet that the run ends could take them again.
	undelivered []*buffer.Batch
}

// upload uploads a buffer until it is drained and everything is stored and indexed.
func (u *Uploader) upload(ctx context.Context, b *buffer.Buffer, maxWorkers int) error {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	g, running := errgroup.WithContext(limited)
	r := &run{
		u: u, buffer: b, group: g, cancel: cancel, maxWorkers: maxWorkers, taking: make(chan struct{}, 1),
		sending: make(chan struct{}), routed: make(map[string]*routedQueue), indexed: make(map[string]bool), failed: make(map[string]error),
	}
	if u.opts.NoIndex {
		if err := u.dropEntities(b); err != nil {
			return err
		}
	}
	for _, store := range b.Unindexed().Stores() { // an earlier run left them
		r.index(running, store, u.earlierLimit(store))
	}
	r.startWorkers(running)
	g.Go(func() error {
		r.senders.Wait()
		close(r.sending)
		return nil
	})
	err := g.Wait()
	if failed := r.gaveUp(); failed != nil && ctx.Err() == nil && (err == nil || errors.As(err, new(gaveUp))) {
		err = failed
	}
	for _, b := range r.undelivered {
		b.Return()
	}
	if ctx.Err() != nil && err != nil {
		for _, d := range u.destinations() {
			err = d.indexOutage.wrap(d.blobOutage.wrap(err))
		}
		err = u.batchOutage.wrap(err)
	}
	return err
}

// startWorkers starts workers up to the limit of the current store. It returns false if the calling worker is to end,
// because the limit was lowered.
func (r *run) startWorkers(ctx context.Context) bool {
	limit := min(r.u.workers(r.u.currentName()), r.maxWorkers)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.workers > limit {
		r.workers--
		return false
	}
	for ; r.workers < limit; r.workers++ {
		r.senders.Add(1)
		r.group.Go(func() error {
			defer r.senders.Done()
			return r.work(ctx)
		})
	}
	return true
}

// work sends one batch after the other.
func (r *run) work(ctx context.Context) error {
	for r.startWorkers(ctx) {
		d, b, err := r.take(ctx)
		var unreadable suspect
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &unreadable):
			err = r.retrySeparately(ctx, nil, b, unreadable)
		case err == nil && d != nil:
			err = r.deliver(ctx, d, b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// take takes a batch from the buffer, with memory for it, and returns the store to deliver it to; nil if the batch was forwarded. A batch
// that cannot be loaded is returned with a [suspect].
func (r *run) take(ctx context.Context) (d *destination, b *buffer.Batch, err error) {
	select {
	case r.taking <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	defer func() { <-r.taking }()
	if b, err = r.buffer.Next(ctx); err != nil {
		return nil, nil, err
	}
	switch err = b.Load(ctx); {
	case err == nil:
		d, err = r.dispatch(ctx, b)
		return d, b, err
	case ctx.Err() != nil:
		r.requeue(b)
		return nil, nil, context.Cause(ctx)
	default:
		return nil, b, suspectFile(err)
	}
}

// dispatch returns the store to deliver a loaded batch to, after it reserved memory for it, or forwards the batch to the senders of its
// store: then d is nil.
func (r *run) dispatch(ctx context.Context, b *buffer.Batch) (d *destination, err error) {
	own, name := r.u.destinationFor(b)
	if own == nil {
		r.forward(ctx, name, b)
		return nil, nil
	}
	return own, r.reserve(ctx, own, b)
}

// reserve reserves memory for a batch. If ctx ends, it requeues the batch.
func (r *run) reserve(ctx context.Context, d *destination, b *buffer.Batch) error {
	if err := d.memory.Acquire(ctx, r.u.memoryOf(b)); err != nil {
		r.requeue(b)
		return context.Cause(ctx)
	}
	return nil
}

// requeue makes the run return an undelivered batch to the buffer when it ends. The caller then returns an error, which
// ends the run.
func (r *run) requeue(b *buffer.Batch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.undelivered = append(r.undelivered, b)
}

// dropEntities drops the entities that a buffer has from a time when the index was written.
func (u *Uploader) dropEntities(b *buffer.Buffer) error {
	n, err := b.Unindexed().Clear()
	if n > 0 {
		u.opts.Log.Warn("the index is off: entities that waited for it are dropped; shipper reindex adds them", "dropped", n)
	}
	return err
}
