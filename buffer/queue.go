package buffer

import (
	"cmp"
	"context"
	"io"
	"slices"
)

// queue holds sealed batches: those waiting, in order of Seq, and those in flight.
// The Buffer's lock guards it.
type queue struct {
	waiting  []*Batch
	inflight map[*Batch]struct{}
	// backlogTaken counts the batches taken while there was a backlog.
	backlogTaken int
}

const (
	// More waiting batches than backlog are a backlog: then one in newestEvery batches taken
	// is the newest, so that recent records can be queried while the backlog lasts.
	backlog     = 16
	newestEvery = 4
)

// put inserts a batch in order of Seq, so a returned batch comes before all newer ones.
func (q *queue) put(batch *Batch) {
	at, _ := slices.BinarySearchFunc(q.waiting, batch, func(a, b *Batch) int {
		return cmp.Compare(a.Meta.Seq, b.Meta.Seq)
	})
	q.waiting = slices.Insert(q.waiting, at, batch)
}

// take removes the next batch from those waiting and marks it as in flight; nil if none waits.
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

// takeOldest is take of the oldest batch; nil if none waits.
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

// Next waits for a sealed batch and hands it to the caller, who calls Batch.Load first and
// Batch.Done, Batch.Return or Batch.Quarantine last. The oldest comes first; in a backlog
// every fourth is the newest. Next may be called concurrently. After Drain it returns
// io.EOF when no batch waits. It does not wait for batches in flight: whoever returns one
// after that calls Next again.
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
