package buffer

import (
	"context"
	"errors"
	"time"
)

// errUnsealed is why a batch is not sealed when an older one could not be, or the buffer closes.
var errUnsealed = errors.New("an older batch is not sealed")

// opened makes a new open batch known to memory and to the sealing goroutine.
// The lane's lock is held.
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

// detached gives a batch that takes no more records its place in the order of
// sealing. The lane's lock is held, so a bucket's next batch comes after it.
func (b *Buffer) markDetached(o *openBatch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, o)
	b.sealing[o] = struct{}{}
	b.seq = max(b.seq+1, b.opts.Now().UnixNano())
	o.seq = b.seq
	b.memory.pending += o.charged
}

// seal is a batch's place among those of its lane, which become durable in the
// order in which they stopped taking records: what a sealed batch covers must
// not wait in an older one that is not.
type sealTicket struct {
	previous *sealTicket
	done     chan struct{}
	// failed is set before done is closed.
	failed bool
}

// wait waits for the batches before and reports whether they are sealed.
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

// seal seals one batch, unless another goroutine has. It waits for that until ctx ends.
func (b *Buffer) seal(ctx context.Context, o *openBatch) {
	if o.partition.detachOne(o) {
		b.sealDetached(ctx, o)
	}
}

// finish has a sealed batch made of one that was detached, and waits until it is
// queued, or ctx ends: on a full disk it may take as long as storage is away.
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

// end makes a sealed batch of one that was detached, and queues it.
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

// queued takes a batch that was sealed, or failed to be, over from the open ones.
func (b *Buffer) enqueue(o *openBatch, batch *Batch, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.sealing, o)
	b.memory.used -= o.charged
	b.memory.pending -= o.charged
	if err != nil && b.spool != nil {
		// The log has the records; the next process seals them.
		b.spool.frozen = true
		b.stats.Unsealed++
		if !errors.Is(err, errUnsealed) && !errors.Is(err, ErrClosed) {
			b.opts.Log.Error("a batch could not be sealed; its records stay in the log", "service", o.partition.service,
				"bucket", time.Unix(0, o.bucket.start).UTC(), "error", err)
		}
	} else if err != nil {
		b.stats.Failed++
		b.opts.Log.Error("a batch could not be sealed and is lost", "service", o.partition.service,
			"bucket", time.Unix(0, o.bucket.start).UTC(), "error", err)
	} else {
		if b.spool == nil { // what is on disk takes no memory to speak of
			batch.charged = batch.Size + batchOverhead
		}
		b.memory.used += batch.charged
		b.memory.pending += batch.charged
		b.queue.put(batch)
	}
	b.space.notify()
	b.ready.notify()
}

// discard ends a batch that was detached and that nobody wants any more.
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

// newBatch ends the segment of a batch that was detached.
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

// sealDue seals open batches by age and bucket end until Close.
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

// due lists the batches whose time has come.
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

// nextDue is when the first of the open batches is due. b.mu is held.
func (b *Buffer) nextDue() (at time.Time) {
	for o := range b.open {
		if !o.due.IsZero() && (at.IsZero() || o.due.Before(at)) {
			at = o.due
		}
	}
	return at
}
