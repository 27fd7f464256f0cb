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
	errNotInFlight = errors.New("batch is not in the caller's hands")
	errBodyDropped = errors.New("the bytes of a batch in storage are not kept")
)

// Batch is a sealed segment on its way to storage. Who got it from Buffer.Next
// has it alone, and its methods are for one goroutine at a time, until Done,
// Return or Quarantine; no method may be called after those.
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
	// covered is the log's entry that must be durable before the batch may be removed; 0 is none yet.
	coverEntry uint64
	// first is when the first record was appended.
	first time.Time
	// charged is what it counts against Options.Memory; the Buffer's lock guards it.
	charged int64
}

// Load reads what was tried with the batch, and what the segment says of itself; the
// other methods but Return and Quarantine may be called once it returned nil. An error
// of the file system ([syscall.Errno]) says that it cannot be read at present, any
// other that it is damaged. It may be called again.
func (b *Batch) Load(ctx context.Context) error {
	if b.Minutes != nil {
		return nil
	}
	read := func(_ context.Context, off, n int64) ([]byte, error) { return b.body[off : off+n], nil }
	if s := b.buf.spool; s != nil {
		state, err := s.dir.State(b.Meta.Seq)
		if sealed.Corrupt(err) {
			b.buf.logStateDamage(b, state, err)
			err = nil
		}
		if err != nil {
			return err
		}
		b.buf.mu.Lock()
		b.state = state
		b.buf.mu.Unlock()
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

// Name is the blob name last set with SetName, "" at first.
func (b *Batch) Name() string { return b.state.Name }

// Store is the store last set with SetName, "" at first.
func (b *Batch) Store() string { return b.state.Store }

// SetName writes down the store and the name that the next create will use,
// before the create is tried.
func (b *Batch) SetName(store, name string) error {
	return b.setState(sealed.State{Store: store, Name: name}, true)
}

// setState writes a state down. A full disk does not stop delivery, which is
// what makes room: then the state is known to this process only, and should it
// end now, the next may store a second copy, which readers drop.
func (b *Batch) setState(state sealed.State, sync bool) error {
	if s := b.buf.spool; s != nil {
		err := s.withReserve(func() error { return s.dir.SetState(b.Meta.Seq, state, sync) })
		if disk.Full(err) {
			b.buf.opts.Log.Warn("no room to write down what is tried with a batch", "name", state.Name, "error", err)
		} else if err != nil {
			return b.buf.fail(err)
		}
	}
	b.buf.mu.Lock()
	defer b.buf.mu.Unlock()
	b.state = state
	return nil
}

// Stored is what SetStored wrote down; ok is false as long as the blob is not known to be in storage.
func (b *Batch) Stored() (etag string, ok bool) { return b.state.ETag, b.state.Stored }

// SetStored writes down that the blob is in storage (with its ETag) and only the
// index is missing. Its bytes are given up.
func (b *Batch) SetStored(etag string) error {
	state := b.state
	state.ETag, state.Stored = etag, true
	// It need not be durable: without it the next process finds the blob there.
	if err := b.setState(state, false); err != nil {
		return err
	}
	b.buf.mu.Lock()
	defer b.buf.mu.Unlock()
	b.body = nil
	b.buf.releaseBatch(b, min(b.charged, batchOverhead))
	return nil
}

// Urgent reports whether the buffer waits for the space on disk that the batch
// takes: then it should be done with soon.
func (b *Batch) Urgent() bool {
	s := b.buf.spool
	return s != nil && s.waiting.Load() > 0
}

// Done removes the batch: blob and index are acknowledged.
func (b *Batch) Done() error {
	if s := b.buf.spool; s != nil {
		if err := s.remove(b); err != nil {
			return err
		}
	}
	return b.buf.remove(b, func(s *Stats) { s.Done++ })
}

// Return gives an unfinished batch back; Next will hand it out again, before
// any that is newer.
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
// [Requeue] brings it back. In memory mode there is nowhere to keep it: it is dropped,
// counted and logged. After an error that is not the buffer's own (see [Buffer.Err]),
// a full disk, the batch stays in the caller's hands.
func (b *Batch) Quarantine(reason string) error {
	what, file := "a batch is dropped and its records are lost: it cannot be delivered, and a buffer in memory has no quarantine", ""
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
