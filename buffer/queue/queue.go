// Package queue holds sealed batches between the buffer and the uploader: in order, with those in
// flight, and what is delivered, returned, quarantined and dropped.
package queue

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"logstow/buffer/internal/wait"
)

// Queue holds sealed batches: those waiting, in order of Seq, and those in flight. It is safe for
// concurrent use.
type Queue struct {
	memory  *wait.Memory
	failure *wait.Failure
	log     *slog.Logger
	// ready is notified when Next may find a batch.
	ready wait.Event

	mu       sync.Mutex
	waiting  []*Batch
	inflight map[*Batch]struct{}
	// backlogTaken counts the batches taken while there was a backlog.
	backlogTaken int
	// expected is how many batches Expect announced that are not put or given up yet.
	expected      int
	ended, closed bool
	counts        Stats // the counters only
}

// Stats is a snapshot of a Queue.
type Stats struct {
	// Expected is the number of batches that are being sealed, Waiting of those in the queue,
	// Sending of those in flight, Unindexed how many of the last two are stored, but not indexed.
	Expected, Waiting, Sending, Unindexed int
	// Oldest is when the oldest record was appended; zero if there is none.
	Oldest time.Time
	// Done, Quarantined and Dropped count batches, DroppedRecords the records of the last.
	Done, Quarantined, Dropped, DroppedRecords uint64
}

// New returns an empty queue. Batches count against memory; a final error in failure ends Next.
func New(memory *wait.Memory, failure *wait.Failure, log *slog.Logger) *Queue {
	return &Queue{memory: memory, failure: failure, log: log, inflight: map[*Batch]struct{}{}}
}

const (
	// More waiting batches than backlog are a backlog: then one in newestEvery batches taken
	// is the newest, so that recent records can be queried while the backlog lasts.
	backlog     = 16
	newestEvery = 4
)

// Expect announces a batch: Next waits for it. Put or GiveUp must follow.
func (q *Queue) Expect() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.expected++
}

// GiveUp ends the wait for a batch that could not be sealed.
func (q *Queue) GiveUp() {
	q.mu.Lock()
	q.expected--
	q.mu.Unlock()
	q.ready.Notify()
}

// Put adds a batch that Expect announced, which counts with its charge against the memory. In a
// backlog it does not keep Minutes, which are not charged: Load reads them again.
func (q *Queue) Put(batch *Batch) {
	batch.queue = q
	q.memory.Add(batch.charged, batch.charged)
	q.mu.Lock()
	q.expected--
	if len(q.waiting) >= backlog {
		batch.Minutes = nil
	}
	q.put(batch)
	q.mu.Unlock()
	q.ready.Notify()
}

// put inserts a batch in order of Seq, so a returned batch comes before all newer ones. mu is held.
func (q *Queue) put(batch *Batch) {
	at, _ := slices.BinarySearchFunc(q.waiting, batch, func(a, b *Batch) int {
		return cmp.Compare(a.Meta.Seq, b.Meta.Seq)
	})
	q.waiting = slices.Insert(q.waiting, at, batch)
}

// take removes the next batch from those waiting and marks it as in flight; nil if none waits.
// mu is held.
func (q *Queue) take() *Batch {
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

// takeOldest is take of the oldest batch; nil if none waits. mu is held.
func (q *Queue) takeOldest() *Batch {
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
// every fourth is the newest. After End it returns io.EOF when no batch waits or is expected, after
// Close [wait.ErrClosed].
func (q *Queue) Next(ctx context.Context) (*Batch, error) {
	for {
		ready := q.ready.Next()
		batch, err := q.tryNext(ctx)
		if batch != nil || err != nil {
			return batch, err
		}
		select {
		case <-ctx.Done():
		case <-q.failure.Failed():
		case <-ready:
		}
	}
}

// tryNext is Next without waiting: batch and error are nil if Next has to wait.
func (q *Queue) tryNext(ctx context.Context) (*Batch, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := q.failure.Err(); err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, wait.ErrClosed
	}
	if batch := q.take(); batch != nil {
		return batch, nil
	}
	if q.ended && q.expected == 0 {
		return nil, io.EOF
	}
	return nil, nil
}

// DropOldest drops the oldest batch that is not in flight, if there is one: its records are lost.
func (q *Queue) DropOldest() error {
	q.mu.Lock()
	batch := q.takeOldest()
	q.mu.Unlock()
	if batch == nil {
		return nil
	}
	q.log.Error("the buffer is full: its oldest batch is dropped and its records are lost",
		"service", batch.Service, "bucket", batch.BucketStart, "records", batch.Meta.Records, "bytes", batch.Size)
	return batch.remove(func(s *Stats) {
		s.Dropped++
		s.DroppedRecords += batch.Meta.Records
	})
}

// End announces that Expect is not called any more.
func (q *Queue) End() {
	q.mu.Lock()
	q.ended = true
	q.mu.Unlock()
	q.ready.Notify()
}

// Close ends Next.
func (q *Queue) Close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.ready.Notify()
}

// Stats returns a snapshot of the queue.
func (q *Queue) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.counts
	s.Expected, s.Waiting, s.Sending = q.expected, len(q.waiting), len(q.inflight)
	for _, batch := range q.waiting {
		s.add(batch)
	}
	for batch := range q.inflight {
		s.add(batch)
	}
	return s
}

func (s *Stats) add(batch *Batch) {
	if s.Oldest.IsZero() || batch.first.Before(s.Oldest) {
		s.Oldest = batch.first
	}
	if batch.state.Stored {
		s.Unindexed++
	}
}
