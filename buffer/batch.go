package buffer

import (
	"context"
	"errors"
	"time"

	"logstow/blobnaming"
	"logstow/buffer/internal/disk"
	"logstow/buffer/sealed"
	"logstow/record"
	"logstow/segment"
)

var (
	errNotInFlight = errors.New("batch is not in flight")
	errBodyDropped = errors.New("the bytes of a batch in storage are not kept")
)

// Batch is a sealed segment on its way to storage. From Buffer.Next until Done, Return or
// Quarantine it is in flight and belongs to the caller alone. Its methods are for one
// goroutine at a time, and none may be called after those three.
type Batch struct {
	Service     string
	BucketStart time.Time
	Meta        blobnaming.Metadata
	// Minutes is set by Load.
	Minutes []record.Minute
	// Size is the segment's size in bytes.
	Size int64

	buf   *Buffer
	body  []byte // nil where it is on disk
	head  sealed.Head
	state sealed.State
	// stateRead is set once Load has read state.
	stateRead bool
	// coverEntry is the log entry that must be durable before the batch may be removed; 0 is none yet.
	coverEntry uint64
	// first is when the first record was appended.
	first time.Time
	// charged is how many bytes it counts against Options.Memory; the Buffer's lock guards it.
	charged int64
}

// Load reads the batch's state and the segment's footer. It must return nil before any other
// method than Return and Quarantine is called. An error of the file system ([syscall.Errno])
// means that the batch cannot be read at present, any other that it is damaged. Load may
// be called again.
func (b *Batch) Load(ctx context.Context) error {
	if b.Minutes != nil {
		return nil
	}
	read := func(_ context.Context, off, n int64) ([]byte, error) { return b.body[off : off+n], nil }
	if s := b.buf.spool; s != nil {
		if err := s.readState(b); err != nil {
			return err
		}
		read = func(_ context.Context, off, n int64) ([]byte, error) { return s.dir.Read(&b.head, off, n) }
	}
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

// readState reads a batch's state, once. Damage of it is logged and counted.
func (s *spool) readState(b *Batch) error {
	if b.stateRead {
		return nil
	}
	state, err := s.dir.State(b.Meta.Seq)
	if sealed.Corrupt(err) {
		s.buf.logStateDamage(b, state, err)
	} else if err != nil {
		return err
	}
	b.stateRead = true
	s.buf.mu.Lock()
	defer s.buf.mu.Unlock()
	b.state = state
	return nil
}

// Body returns the segment's bytes, the same on every call, which must not be
// changed. After SetStored it is an error.
func (b *Batch) Body() ([]byte, error) {
	if b.state.Stored {
		return nil, errBodyDropped
	}
	if s := b.buf.spool; s != nil {
		return s.dir.Read(&b.head, 0, b.Size)
	}
	return b.body, nil
}

// Name is the blob name last set with SetName, initially "".
func (b *Batch) Name() string { return b.state.Name }

// Store is the store last set with SetName, initially "".
func (b *Batch) Store() string { return b.state.Store }

// SetName records the store and the blob name of the next create, durably. It must be
// called before the create is sent.
func (b *Batch) SetName(store, name string) error {
	return b.setState(sealed.State{Store: store, Name: name}, true)
}

// setState writes a state to disk. A full disk does not stop delivery, as delivery
// frees space: then the state is only in memory, and if this process ends, the next may
// store a second copy, which readers drop.
func (b *Batch) setState(state sealed.State, sync bool) error {
	if s := b.buf.spool; s != nil {
		err := s.withReserve(func() error { return s.dir.SetState(b.Meta.Seq, state, sync) })
		if disk.Full(err) {
			b.buf.opts.Log.Warn("cannot write the state of a batch: the disk is full", "name", state.Name, "error", err)
		} else if err != nil {
			return b.buf.fail(err)
		}
	}
	b.buf.mu.Lock()
	defer b.buf.mu.Unlock()
	b.state = state
	return nil
}

// Stored returns the ETag set with SetStored; ok is false as long as the blob is not known to be stored.
func (b *Batch) Stored() (etag string, ok bool) { return b.state.ETag, b.state.Stored }

// SetStored records that the blob is stored, with its ETag, and only its index entity is
// missing. Body is not available afterwards.
func (b *Batch) SetStored(etag string) error {
	state := b.state
	state.ETag, state.Stored = etag, true
	// It need not be durable: without it the next process finds the blob in storage.
	if err := b.setState(state, false); err != nil {
		return err
	}
	b.buf.mu.Lock()
	defer b.buf.mu.Unlock()
	b.body = nil
	b.buf.releaseBatch(b, min(b.charged, batchOverhead))
	return nil
}

// Urgent reports whether the buffer waits for disk space: then the batch should be
// delivered soon.
func (b *Batch) Urgent() bool {
	s := b.buf.spool
	return s != nil && s.waiting.Load() > 0
}

// Done removes the batch, after blob and index entity were acknowledged.
func (b *Batch) Done() error {
	if s := b.buf.spool; s != nil {
		if err := s.remove(b); err != nil {
			return err
		}
	}
	return b.buf.remove(b, func(s *Stats) { s.Done++ })
}

// Return puts an undelivered batch back into the queue, before all newer ones.
func (b *Batch) Return() {
	b.buf.mu.Lock()
	defer b.buf.mu.Unlock()
	if _, ok := b.buf.queue.inflight[b]; !ok {
		return
	}
	delete(b.buf.queue.inflight, b)
	b.buf.queue.put(b)
	b.buf.ready.notify()
}

// Quarantine moves a batch that cannot be delivered to the quarantine, from where
// [Requeue] brings it back. In memory mode, which has no quarantine, the batch is dropped,
// counted and logged. If the disk is full, the error is not final (see [Buffer.Err])
// and the batch stays in flight.
func (b *Batch) Quarantine(reason string) error {
	what, file := "a batch cannot be delivered: it is dropped and its records are lost, because a buffer in memory has no quarantine", ""
	if b.buf.spool != nil {
		what, file = "a batch is quarantined", sealed.FileName(b.Meta.Seq)
		if err := b.buf.spool.quarantine(b, reason); err != nil {
			return err
		}
	}
	b.buf.opts.Log.Error(what, "reason", reason, "file", file,
		"service", b.Service, "bucket", b.BucketStart, "name", b.state.Name,
		"batch", b.Meta.Batch.String(), "records", b.Meta.Records, "bytes", b.Size)
	return b.buf.remove(b, func(s *Stats) { s.Quarantined++ })
}

func (b *Buffer) remove(batch *Batch, count func(*Stats)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.queue.inflight[batch]; !ok {
		return errNotInFlight
	}
	delete(b.queue.inflight, batch)
	batch.body = nil
	b.releaseBatch(batch, 0)
	count(&b.stats)
	return nil
}
