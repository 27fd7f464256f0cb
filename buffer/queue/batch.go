package queue

import (
	"context"
	"time"

	"logstow/buffer/sealed"
	"logstow/buffer/unindexed"
	"logstow/segment"
)

// Batch is a sealed segment on its way to storage. From Queue.Next until Done, Return or
// Quarantine it is in flight and belongs to the caller alone. Its methods are for one
// goroutine at a time, and none may be called after those three.
type Batch struct {
	*Item

	queue *Queue
}

// Next waits for a sealed batch and hands it to the caller, which calls Batch.Load first and
// Batch.Done, Batch.Return or Batch.Quarantine last. The oldest comes first; in a backlog
// every fourth is the newest. After End it returns io.EOF when no batch waits or is expected, after
// Close [wait.ErrClosed].
func (q *Queue) Next(ctx context.Context) (*Batch, error) {
	for {
		ready := q.ready.Next()
		item, free, err := q.tryNext(ctx)
		if err != nil {
			return nil, err
		}
		if item != nil {
			return &Batch{item, q}, nil
		}
		var freed <-chan time.Time
		if free > 0 {
			freed = time.After(free)
		}
		select {
		case <-ctx.Done():
		case <-q.failure.Failed():
		case <-ready:
		case <-freed:
		}
	}
}

// Load reads the state of a recovered batch and, if Minutes is not set, the segment's footer. Until it returns nil,
// only Return and Quarantine may be called. An error of the file system ([syscall.Errno]) means that the batch
// cannot be read at present, any other error that it is damaged. Load may be called again.
func (b *Batch) Load(ctx context.Context) error {
	if b.Recovered {
		state, err := b.source.State()
		if err != nil {
			return err
		}
		b.state = state
		b.Recovered = false
	}
	if b.Minutes != nil {
		return nil
	}
	read := func(_ context.Context, off, n int64) ([]byte, error) { return b.source.Read(off, n) }
	footer, err := segment.ReadFooter(ctx, read, b.Size, b.Meta.Footer)
	if err != nil {
		return err
	}
	if err := footer.Check(b.Meta); err != nil {
		return err
	}
	b.Minutes = footer.Minutes
	return nil
}

// Body returns the segment's bytes, the same on every call. They must not be changed.
func (b *Batch) Body() ([]byte, error) { return b.source.Read(0, b.Size) }

// Name returns the blob name that SetName last set, initially "".
func (b *Batch) Name() string { return b.state.Name }

// Store returns the store that SetName last set, initially "".
func (b *Batch) Store() string { return b.state.Store }

// SetName records the store and the blob name of the next create, durably. It must be
// called before the create is sent.
func (b *Batch) SetName(store, name string) error {
	return b.setName(store, name, false)
}

// Bind is SetName for a relay. A second copy there would not be recognized: on a full disk it fails, which is not final. The batch may be
// bound to another relay later, until BindFinally.
func (b *Batch) Bind(store, name string) error {
	if err := b.setName(store, name, true); err != nil {
		return err
	}
	b.queue.setOnly(b.Item, "")
	return nil
}

// BindFinally records that the batch will only be sent to the relay to which it is bound, which may have it: [Queue.OldestSeq] of
// others does not include it. It lasts until the process ends.
func (b *Batch) BindFinally(relay string) { b.queue.setOnly(b.Item, relay) }

func (b *Batch) setName(store, name string, must bool) error {
	state := sealed.State{Store: store, Name: name}
	if err := b.source.SetState(state, must); err != nil {
		return err
	}
	b.state = state
	return nil
}

// DoneWithEntity is Done for a batch whose index entity is to be written: the buffer keeps the entity, durably, until
// the index has it. etag is that of the blob, whose name is that of SetName.
func (b *Batch) DoneWithEntity(etag string) error {
	err := b.queue.entities.Add(b.state.Store, unindexed.Entity{
		Name:    b.state.Name,
		ETag:    etag,
		Size:    b.Size,
		Meta:    b.Meta,
		Minutes: b.Minutes,
	})
	if err != nil {
		return err
	}
	return b.Done()
}

// Done removes the batch, whose blob is stored.
func (b *Batch) Done() error { return b.queue.remove(b.Item, func(s *Stats) { s.Done++ }) }

// Return puts an undelivered batch back into the queue, before all newer ones.
func (b *Batch) Return() { b.queue.putBack(b.Item) }

// Hold is Return for a batch whose service and class are refused at present: none of these is taken for d. Meanwhile [Queue.OldestSeq] does
// not include them, so that what is delivered of others need not be remembered: a relay may then have forgotten their numbers.
func (b *Batch) Hold(d time.Duration) { b.queue.hold(b.Item, d) }

// Quarantine moves a batch that cannot be delivered to the quarantine, from where
// a requeue brings it back. In memory, where there is no quarantine, the batch is dropped,
// counted and logged. If the disk is full, the error is not final and the batch stays in flight.
func (b *Batch) Quarantine(reason string) error {
	file, err := b.source.Quarantine(reason)
	if err != nil {
		return err
	}
	what := "a batch is quarantined"
	if file == "" {
		what = "a batch cannot be delivered: it is dropped and its records are lost, because a buffer in memory has no quarantine"
	}
	b.queue.log.Error(what, "reason", reason, "file", file,
		"service", b.Service, "bucket", b.BucketStart, "name", b.state.Name,
		"batch", b.Meta.Batch.String(), "records", b.Meta.Records, "bytes", b.Size)
	return b.queue.end(b.Item, func(s *Stats) { s.Quarantined++ })
}
