package buffer

import (
	"cmp"
	"context"
	"io"
	"slices"
)

// queue holds sealed batches: those that wait, by Seq, and those handed out.
// The Buffer's lock guards it.
type queue struct {
	waiting  []*Batch
	inflight map[*Batch]struct{}
	// turn counts what was handed out while there was a backlog.
	backlogTaken int
}

const (
	// backlog is how many waiting batches are a backlog: then one of freshTurn is
	// the newest, so that what is logged now can be asked for while it lasts.
	backlog     = 16
	newestEvery = 4
)

// put adds a batch at its place. A batch that was given back is older than all
// that was never handed out, so it comes first.
func (q *queue) put(batch *Batch) {
	at, _ := slices.BinarySearchFunc(q.waiting, batch, func(a, b *Batch) int {
		return cmp.Compare(a.Meta.Seq, b.Meta.Seq)
	})
	q.waiting = slices.Insert(q.waiting, at, batch)
}

// take hands out the next batch; nil where none waits.
func (q *queue) take() *Batch {
	last := len(q.waiting) - 1
	if last < backlog {
		return q.takeOldest()
	}
	if q.backlogTaken++; q.backlogTaken%newestEvery != 0 {
		return q.takeOldest()
	}
	batch := q.waiting[last]
	q.waiting[last] = nil
	q.waiting = q.waiting[:last]
	q.inflight[batch] = struct{}{}
	return batch
}

// takeOldest hands out the oldest batch; nil where none waits.
func (q *queue) takeOldest() *Batch {
	if len(q.waiting) == 0 {
		return nil
	}
	batch := q.waiting[0]
	q.waiting[0] = nil
	q.waiting = q.waiting[1:]
	q.inflight[batch] = struct{}{}
	return batch
}

// Next waits for the next sealed batch, oldest first but for every fourth in a
// backlog, which is the newest, and hands it to the caller, who calls Batch.Load and
// ends with Batch.Done, Batch.Return or Batch.Quarantine. Several
// may call it at once. After Drain it returns io.EOF once no batch is left to
// hand out; it does not wait for those in somebody's hands, so who gives one
// back after that calls Next again.
func (b *Buffer) Next(ctx context.Context) (*Batch, error) {
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		b.mu.Lock()
		if b.failed != nil {
			b.mu.Unlock()
			return nil, b.failed
		}
		if b.closed {
			b.mu.Unlock()
			return nil, ErrClosed
		}
		if batch := b.queue.take(); batch != nil {
			b.mu.Unlock()
			return batch, nil
		}
		if b.drained && len(b.sealing) == 0 {
			b.mu.Unlock()
			return nil, io.EOF
		}
		ready := b.ready.wait()
		b.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-ready:
		}
	}
}
