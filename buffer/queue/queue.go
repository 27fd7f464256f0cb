// Package queue holds sealed batches between the buffer and the uploader. It orders the waiting batches,
// tracks those in flight, and counts those that were delivered, quarantined and dropped.
package queue

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"logstow/buffer/internal/wait"
	"logstow/buffer/unindexed"
	"logstow/internal/event"
)

var errNotInFlight = errors.New("batch is not in flight")

// Queue holds sealed batches: those waiting, in order of Seq, and those in flight. It is safe for
// concurrent use.
type Queue struct {
	memory  *wait.Memory
	failure *wait.Failure
	log     *slog.Logger
	// ready is notified when Next may find a batch.
	ready event.Event
	// entities are the index entities of stored batches.
	entities *unindexed.Entities
	// Stored is notified when a batch was removed, and by the sealer when one counts as sealed.
	Stored event.Event

	mu       sync.Mutex
	waiting  []*Item
	inflight map[*Item]struct{}
	// held has until when batches of a service and class are not taken.
	held map[kind]time.Time
	// backlogTaken counts the batches taken while there was a backlog.
	backlogTaken int
	// expected is how many announced batches are neither put nor given up yet.
	expected      int
	ended, closed bool
	counts        Stats // the counters only
}

// kind is the service and class of a batch.
type kind struct{ service, class string }

func (i *Item) kind() kind { return kind{i.Service, i.Meta.Class} }

// Stats is a snapshot of a Queue.
type Stats struct {
	// Expected is the number of batches that are being sealed, Waiting of those in the queue,
	// Sending of those in flight.
	Expected, Waiting, Sending int
	// Oldest is when the oldest record was appended; zero if there is none.
	Oldest time.Time
	// Done, Quarantined and Dropped count batches, DroppedRecords the records of Dropped.
	Done, Quarantined, Dropped, DroppedRecords uint64
}

// New returns an empty queue. Batches count against memory; entities keeps the index entities of stored ones; a final
// error in failure ends Next.
func New(memory *wait.Memory, entities *unindexed.Entities, failure *wait.Failure, log *slog.Logger) *Queue {
	return &Queue{
		memory:   memory,
		entities: entities,
		failure:  failure,
		log:      log,
		inflight: map[*Item]struct{}{},
		held:     map[kind]time.Time{},
	}
}

const (
	// More than backlog waiting batches are a backlog. Then one in newestEvery batches taken
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

// Put adds a batch that Expect announced and charges the memory for it. In a backlog it drops
// Minutes, which are not charged: Load reads them again.
func (q *Queue) Put(item *Item) {
	q.memory.Add(item.charged, item.charged)
	q.mu.Lock()
	q.expected--
	if len(q.waiting) >= backlog {
		item.Minutes = nil
	}
	q.put(item)
	q.mu.Unlock()
	q.ready.Notify()
}

// put inserts a batch in order of Seq, so a returned batch comes before all newer ones. mu is held.
func (q *Queue) put(item *Item) {
	at, _ := slices.BinarySearchFunc(q.waiting, item, func(a, b *Item) int {
		return cmp.Compare(a.Meta.Seq, b.Meta.Seq)
	})
	q.waiting = slices.Insert(q.waiting, at, item)
}

// take removes the next batch that is not held from those waiting and marks it as in flight; nil if there is none. mu is held.
func (q *Queue) take(now time.Time) *Item {
	free := func(item *Item) bool { return !now.Before(q.held[item.kind()]) }
	at := slices.IndexFunc(q.waiting, free)
	if at >= 0 && len(q.waiting) > backlog {
		if q.backlogTaken++; q.backlogTaken%newestEvery == 0 {
			for at = len(q.waiting) - 1; !free(q.waiting[at]); at-- {
			}
		}
	}
	return q.takeAt(at)
}

// takeAt removes a waiting batch and marks it as in flight; nil if it is none. mu is held.
func (q *Queue) takeAt(at int) *Item {
	if at < 0 || at >= len(q.waiting) {
		return nil
	}
	item := q.waiting[at]
	if at == 0 { // the usual case, without moving the others
		q.waiting[0] = nil
		q.waiting = q.waiting[1:]
	} else {
		q.waiting = slices.Delete(q.waiting, at, at+1)
	}
	q.inflight[item] = struct{}{}
	return item
}

// tryNext is Next without waiting: item and error are nil if Next has to wait, and then free, if it is above 0, is how long until a
// batch that is held may be taken.
func (q *Queue) tryNext(ctx context.Context) (item *Item, free time.Duration, err error) {
	if ctx.Err() != nil {
		return nil, 0, context.Cause(ctx)
	}
	if err := q.failure.Err(); err != nil {
		return nil, 0, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, 0, wait.ErrClosed
	}
	now := time.Now()
	if item := q.take(now); item != nil {
		return item, 0, nil
	}
	if q.ended && q.expected == 0 && len(q.waiting) == 0 {
		return nil, 0, io.EOF
	}
	for _, item := range q.waiting { // all are held
		if left := q.held[item.kind()].Sub(now); free == 0 || left < free {
			free = left
		}
	}
	return nil, free, nil
}

// hold puts an item in flight back into the queue, and holds all of its service and class for d.
func (q *Queue) hold(item *Item, d time.Duration) {
	q.mu.Lock()
	q.held[item.kind()] = time.Now().Add(d)
	q.mu.Unlock()
	q.putBack(item)
}

// DropOldest drops the oldest batch that is not in flight, if there is one: its records are lost.
func (q *Queue) DropOldest() error {
	q.mu.Lock()
	item := q.takeAt(0)
	q.mu.Unlock()
	if item == nil {
		return nil
	}
	q.log.Error("the buffer is full: its oldest batch is dropped and its records are lost",
		"service", item.Service, "bucket", item.BucketStart, "records", item.Meta.Records, "bytes", item.Size)
	return q.remove(item, func(s *Stats) {
		s.Dropped++
		s.DroppedRecords += item.Meta.Records
	})
}

// putBack puts an item in flight back into the queue, before all newer ones.
func (q *Queue) putBack(item *Item) {
	q.mu.Lock()
	_, ok := q.inflight[item]
	if ok {
		delete(q.inflight, item)
		q.put(item)
	}
	q.mu.Unlock()
	if ok {
		q.ready.Notify()
	}
}

// remove removes the local copy of an item in flight, and ends and counts it.
func (q *Queue) remove(item *Item, count func(*Stats)) error {
	if err := item.source.Remove(); err != nil {
		return err
	}
	return q.end(item, count)
}

// end ends the flight of an item whose local copy is removed, and counts it.
func (q *Queue) end(item *Item, count func(*Stats)) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, ok := q.inflight[item]; !ok {
		return errNotInFlight
	}
	delete(q.inflight, item)
	q.memory.Release(item.charged, item.charged)
	count(&q.counts)
	q.Stored.Notify()
	return nil
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

// OldestUnstored returns when the oldest record of a service in a batch that is not stored yet was appended; zero if
// there is none.
func (q *Queue) OldestUnstored(service string) (oldest time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	consider := func(item *Item) {
		if item.Service == service && (oldest.IsZero() || item.first.Before(oldest)) {
			oldest = item.first
		}
	}
	for _, item := range q.waiting {
		consider(item)
	}
	for item := range q.inflight {
		consider(item)
	}
	return oldest
}

// OldestSeq returns the lowest Seq of a batch that is not stored yet and may be sent to a relay at present; not ok if there is none.
func (q *Queue) OldestSeq(relay string) (seq int64, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	mayGo := func(item *Item) bool { return item.only == "" || item.only == relay }
	free := func(item *Item) bool { return mayGo(item) && !now.Before(q.held[item.kind()]) }
	if i := slices.IndexFunc(q.waiting, free); i >= 0 { // they are in order
		seq, ok = q.waiting[i].Meta.Seq, true
	}
	for item := range q.inflight {
		if mayGo(item) && (!ok || item.Meta.Seq < seq) {
			seq, ok = item.Meta.Seq, true
		}
	}
	return seq, ok
}

// setOnly sets Item.only.
func (q *Queue) setOnly(item *Item, relay string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	item.only = relay
}

// Waiting is the number of waiting batches.
func (q *Queue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// Stats returns a snapshot of the queue.
func (q *Queue) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.counts
	s.Expected, s.Waiting, s.Sending = q.expected, len(q.waiting), len(q.inflight)
	for _, item := range q.waiting {
		s.add(item)
	}
	for item := range q.inflight {
		s.add(item)
	}
	return s
}

func (s *Stats) add(item *Item) {
	if s.Oldest.IsZero() || item.first.Before(s.Oldest) {
		s.Oldest = item.first
	}
}
