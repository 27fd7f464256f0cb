package batching

import (
	"context"
	"errors"
	"time"

	"logstow/blobnaming"
	"logstow/buffer/internal/disk"
	"logstow/buffer/internal/wait"
	"logstow/buffer/queue"
	"logstow/buffer/sealed"
	"logstow/buffer/spool"
)

// errUnsealed is the error of a batch that is not sealed because an older one of its partition could not be.
var errUnsealed = errors.New("an older batch is not sealed")

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
func (b *Batches) seal(ctx context.Context, o *openBatch) {
	b.mu.Lock()
	p := b.partitions[o.service]
	b.mu.Unlock()
	if p.detachOne(o) {
		b.sealDetached(ctx, o)
	}
}

// sealDetached seals a detached batch in the background and waits until it is queued or ctx
// ends: on a full disk sealing may last as long as storage is unavailable.
func (b *Batches) sealDetached(ctx context.Context, o *openBatch) {
	b.mu.Lock()
	if b.opts.Spool == nil || b.closed {
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
func (b *Batches) sealAndEnqueue(o *openBatch) {
	meta, err := o.writer.Close(o.seq)
	ok := o.ticket.wait()
	var item *queue.Item
	if err == nil && b.opts.Spool == nil {
		// In memory the batch counts with its bytes, on disk it takes hardly any memory.
		item = queue.NewItem(o.key(), meta, o.body.size, o.first, queue.InMemory(o.body.join()), o.body.size+batchOverhead)
	} else if err == nil {
		var written *spool.Batch
		if written, err = b.write(o, meta, ok); err == nil {
			item = queue.NewItem(o.key(), meta, written.Size, o.first, written, 0)
		}
	}
	o.ticket.finish(err == nil)
	if err == nil {
		item.Minutes = o.writer.Minutes()
		b.opts.Queue.Put(item)
	} else {
		b.giveUp(o, err)
	}
	b.open.endSealing(o)
	b.Trim(false)
}

// write makes a batch durable. ok reports that the older batches of its partition are. While
// the disk is full it waits until Quit; the records are in the log.
func (b *Batches) write(o *openBatch, meta blobnaming.Metadata, ok bool) (*spool.Batch, error) {
	if !ok {
		return nil, errUnsealed
	}
	s := b.opts.Spool
	head := sealed.Head{Key: o.key(), Through: o.through, First: o.first, Meta: meta}
	batch, err := s.Seal(head, o.body.parts, o.body.size)
	for disk.Full(err) {
		space := b.opts.Memory.Freed.Next()
		if err := b.opts.Failure.Err(); err != nil {
			return nil, err
		}
		b.Trim(true)
		if batch, err = s.SealFromReserve(head, o.body.parts, o.body.size); !disk.Full(err) {
			break
		}
		s.WarnFull(err)
		s.Wait(nil, b.quit, space)
		select {
		case <-b.quit:
			return nil, err
		default:
		}
	}
	return batch, err
}

// giveUp counts and logs that a batch could not be sealed.
func (b *Batches) giveUp(o *openBatch, err error) {
	text := "cannot seal a batch; its records are lost"
	b.mu.Lock()
	if b.opts.Spool != nil {
		// The records are in the log; the next process seals them.
		text = "cannot seal a batch; its records stay in the log"
		b.open.freeze()
		b.stats.Unsealed++
	} else {
		b.stats.Failed++
	}
	b.mu.Unlock()
	if b.opts.Spool == nil || !errors.Is(err, errUnsealed) && !errors.Is(err, wait.ErrClosed) {
		b.opts.Log.Error(text, "service", o.service, "bucket", time.Unix(0, o.bucket.start).UTC(), "error", err)
	}
	b.opts.Queue.GiveUp()
}

// discard drops a detached batch without sealing it.
func (b *Batches) discard(o *openBatch) {
	o.writer.Discard()
	o.ticket.wait()
	o.ticket.finish(false)
	b.opts.Queue.GiveUp()
	b.open.endSealing(o)
}

// sealLoop seals open batches by age and bucket end until Close.
func (b *Batches) sealLoop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-b.stop:
			return
		case <-b.open.wake:
		case <-timer.C:
		}
		for _, o := range b.open.due() {
			b.seal(context.Background(), o) // Close ends the wait
		}
		at := b.open.nextDue()
		if at.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(at.Sub(b.opts.Now()))
		}
	}
}
