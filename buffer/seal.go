package buffer

import (
	"context"
	"errors"
	"time"
)

// errUnsealed is the error of a batch that is not sealed because an older one of its partition could not be.
var errUnsealed = errors.New("an older batch is not sealed")

// addOpen registers a new open batch, charges its memory and wakes sealLoop if it is due
// first. The partition's lock is held.
func (b *Buffer) addOpen(o *openBatch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[o] = struct{}{}
	b.tick++
	o.used = b.tick
	o.charged = batchOverhead
	b.memory.used += o.charged
	if !o.due.IsZero() && (b.wakeAt.IsZero() || o.due.Before(b.wakeAt)) {
		b.wakeAt = o.due
		select {
		case b.wake <- struct{}{}:
		default:
		}
	}
}

// markDetached gives a batch that accepts no more records its Seq. The partition's lock is
// held, so the bucket's next batch gets a higher one.
func (b *Buffer) markDetached(o *openBatch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, o)
	b.sealing[o] = struct{}{}
	b.seq = max(b.seq+1, b.opts.Now().UnixNano())
	o.seq = b.seq
	b.memory.pending += o.charged
}

// sealTicket orders the sealing of a partition's batches: they become durable in the order
// in which they were detached, because a sealed batch covers all lower record numbers of its
// key, and none of those may be in an older batch that is not sealed.
type sealTicket struct {
	previous *sealTicket
	done     chan struct{}
	// failed is set before done is closed.
	failed bool
}

// wait waits until the previous batch is done and reports whether it and all before it are sealed.
func (s *sealTicket) wait() bool {
	if s.previous == nil {
		return true
	}
	<-s.previous.done
	ok := !s.previous.failed
	s.previous = nil
	return ok
}

func (s *sealTicket) finish(ok bool) {
	s.failed = !ok
	close(s.done)
}

// seal detaches and seals a batch, unless another goroutine has detached it. It waits until
// the batch is queued or ctx ends.
func (b *Buffer) seal(ctx context.Context, o *openBatch) {
	if o.partition.detachOne(o) {
		b.sealDetached(ctx, o)
	}
}

// sealDetached seals a detached batch in the background and waits until it is queued or ctx
// ends: on a full disk sealing may last as long as storage is unavailable.
func (b *Buffer) sealDetached(ctx context.Context, o *openBatch) {
	b.mu.Lock()
	if b.spool == nil || b.closed {
		b.mu.Unlock()
		b.sealAndEnqueue(o)
		return
	}
	done := make(chan struct{})
	b.sealers.Go(func() {
		defer close(done)
		b.sealAndEnqueue(o)
	})
	b.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// sealAndEnqueue seals a detached batch and queues it.
func (b *Buffer) sealAndEnqueue(o *openBatch) {
	batch, err := b.newBatch(o)
	if ok := o.ticket.wait(); err == nil && b.spool != nil {
		err = b.spool.seal(o, batch, ok)
	}
	o.ticket.finish(err == nil)
	b.enqueue(o, batch, err)
	if b.spool != nil {
		b.spool.trim(false)
	}
}

// enqueue queues a batch that was sealed; with an error it counts and logs the failure.
func (b *Buffer) enqueue(o *openBatch, batch *Batch, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.sealing, o)
	b.memory.used -= o.charged
	b.memory.pending -= o.charged
	if err != nil && b.spool != nil {
		// The records are in the log; the next process seals them.
		b.spool.frozen = true
		b.stats.Unsealed++
		if !errors.Is(err, errUnsealed) && !errors.Is(err, ErrClosed) {
			b.opts.Log.Error("cannot seal a batch; its records stay in the log", "service", o.partition.service,
				"bucket", time.Unix(0, o.bucket.start).UTC(), "error", err)
		}
	} else if err != nil {
		b.stats.Failed++
		b.opts.Log.Error("cannot seal a batch; its records are lost", "service", o.partition.service,
			"bucket", time.Unix(0, o.bucket.start).UTC(), "error", err)
	} else {
		if b.spool == nil { // a batch on disk takes hardly any memory
			batch.charged = batch.Size + batchOverhead
		}
		b.memory.used += batch.charged
		b.memory.pending += batch.charged
		b.queue.put(batch)
	}
	b.space.notify()
	b.ready.notify()
}

// discard drops a detached batch without sealing it.
func (b *Buffer) discard(o *openBatch) {
	o.writer.Discard()
	o.ticket.wait()
	o.ticket.finish(false)
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.sealing, o)
	b.memory.used -= o.charged
	b.memory.pending -= o.charged
}

// newBatch closes the segment of a detached batch.
func (b *Buffer) newBatch(o *openBatch) (*Batch, error) {
	meta, err := o.writer.Close(o.seq)
	if err != nil {
		return nil, err
	}
	batch := &Batch{
		Service:     o.partition.service,
		BucketStart: time.Unix(0, o.bucket.start).UTC(),
		Meta:        meta,
		Size:        o.body.size,
		buf:         b,
		first:       o.first,
	}
	if b.spool == nil {
		batch.body = o.body.join()
	}
	return batch, nil
}

// sealLoop seals open batches by age and bucket end until Close.
func (b *Buffer) sealLoop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-b.stop:
			return
		case <-b.wake:
		case <-timer.C:
		}
		due := b.due()
		for _, o := range due {
			b.seal(context.Background(), o) // Close ends the wait
		}
		b.mu.Lock()
		at := b.nextDue()
		b.wakeAt = at
		b.mu.Unlock()
		if at.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(at.Sub(b.opts.Now()))
		}
	}
}

// due returns the open batches that are due.
func (b *Buffer) due() []*openBatch {
	now := b.opts.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	var due []*openBatch
	for o := range b.open {
		if !o.due.IsZero() && !o.due.After(now) {
			due = append(due, o)
		}
	}
	return due
}

// nextDue returns when the first open batch is due; zero is never. b.mu is held.
func (b *Buffer) nextDue() (at time.Time) {
	for o := range b.open {
		if !o.due.IsZero() && (at.IsZero() || o.due.Before(at)) {
			at = o.due
		}
	}
	return at
}
