package queue

import (
	"context"
	"errors"
	"time"

	"logstow/blobnaming"
	"logstow/buffer/sealed"
	"logstow/buffer/wal"
	"logstow/record"
	"logstow/segment"
)

var (
	errNotInFlight = errors.New("batch is not in flight")
	errBodyDropped = errors.New("the bytes of a batch in storage are not kept")
)

// Source is where a batch is until it is delivered: on disk, or in memory. Its methods are called
// by one goroutine at a time, except Urgent.
type Source interface {
	// State returns the state of the delivery, SetState changes it, durably if sync is set.
	State() (sealed.State, error)
	SetState(s sealed.State, sync bool) error
	// Read returns n bytes of the segment at offset off, which must not be changed. They are not
	// available after a state with Stored was set.
	Read(off, n int64) ([]byte, error)
	// Remove removes the batch, Quarantine moves it to the quarantine and returns its file there; ""
	// is a batch in memory, which is dropped.
	Remove() error
	Quarantine(reason string) (file string, err error)
	// Urgent reports whether the batch should be delivered soon.
	Urgent() bool
}

// Batch is a sealed segment on its way to storage. From Queue.Next until Done, Return or
// Quarantine it is in flight and belongs to the caller alone. Its methods are for one
// goroutine at a time, and none may be called after those three.
type Batch struct {
	Service     string
	BucketStart time.Time
	Meta        blobnaming.Metadata
	// Minutes are the minutes that have records, from the one who sealed the batch, else from Load.
	Minutes []record.Minute
	// Size is the segment's size in bytes.
	Size int64

	source Source
	queue  *Queue
	// state is the state of the delivery since Load; the Queue's lock guards it.
	state sealed.State
	// first is when the first record was appended.
	first time.Time
	// charged is how many bytes it counts against the memory.
	charged int64
}

// NewBatch returns a batch for Queue.Put. first is when its first record was appended, charge how
// many bytes it counts against the memory.
func NewBatch(key wal.Key, meta blobnaming.Metadata, size int64, first time.Time, source Source, charge int64) *Batch {
	return &Batch{
		Service: key.Service, BucketStart: time.Unix(0, key.Start).UTC(),
		Meta: meta, Size: size, source: source, first: first, charged: charge,
	}
}

// Load reads the batch's state and, if Minutes is not set, the segment's footer. It must return nil
// before any other method than Return and Quarantine is called. An error of the file system ([syscall.Errno])
// means that the batch cannot be read at present, any other that it is damaged. Load may
// be called again.
func (b *Batch) Load(ctx context.Context) error {
	state, err := b.source.State()
	if err != nil {
		return err
	}
	b.setState(state)
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

func (b *Batch) setState(state sealed.State) {
	b.queue.mu.Lock()
	defer b.queue.mu.Unlock()
	b.state = state
}

// Body returns the segment's bytes, the same on every call, which must not be
// changed. After SetStored it is an error.
func (b *Batch) Body() ([]byte, error) {
	if b.state.Stored {
		return nil, errBodyDropped
	}
	return b.source.Read(0, b.Size)
}

// Name is the blob name last set with SetName, initially "".
func (b *Batch) Name() string { return b.state.Name }

// Store is the store last set with SetName, initially "".
func (b *Batch) Store() string { return b.state.Store }

// SetName records the store and the blob name of the next create, durably. It must be
// called before the create is sent.
func (b *Batch) SetName(store, name string) error {
	state := sealed.State{Store: store, Name: name}
	if err := b.source.SetState(state, true); err != nil {
		return err
	}
	b.setState(state)
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
	if err := b.source.SetState(state, false); err != nil {
		return err
	}
	b.setState(state)
	b.release(min(b.charged, storedCharge))
	return nil
}

// storedCharge is about how many bytes a batch without its bytes takes in memory.
const storedCharge = 8 << 10

// release reduces what the batch counts against the memory to n bytes.
func (b *Batch) release(n int64) {
	b.queue.memory.Release(b.charged-n, b.charged-n)
	b.charged = n
}

// Urgent reports whether the buffer waits for disk space: then the batch should be
// delivered soon.
func (b *Batch) Urgent() bool { return b.source.Urgent() }

// Done removes the batch, after blob and index entity were acknowledged.
func (b *Batch) Done() error { return b.remove(func(s *Stats) { s.Done++ }) }

// remove removes the batch and counts that.
func (b *Batch) remove(count func(*Stats)) error {
	if err := b.source.Remove(); err != nil {
		return err
	}
	return b.end(count)
}

// Return puts an undelivered batch back into the queue, before all newer ones.
func (b *Batch) Return() {
	q := b.queue
	q.mu.Lock()
	_, ok := q.inflight[b]
	if ok {
		delete(q.inflight, b)
		q.put(b)
	}
	q.mu.Unlock()
	if ok {
		q.ready.Notify()
	}
}

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
	return b.end(func(s *Stats) { s.Quarantined++ })
}

// end takes a batch that is removed out of the queue and counts it.
func (b *Batch) end(count func(*Stats)) error {
	q := b.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, ok := q.inflight[b]; !ok {
		return errNotInFlight
	}
	delete(q.inflight, b)
	b.release(0)
	count(&q.counts)
	return nil
}

// inMemory is the Source of a batch in memory: its segment.
type inMemory struct {
	segment []byte
	state   sealed.State
}

// InMemory returns the source of a batch in memory.
func InMemory(segment []byte) Source { return &inMemory{segment: segment} }

func (m *inMemory) State() (sealed.State, error) { return m.state, nil }

func (m *inMemory) SetState(s sealed.State, _ bool) error {
	m.state = s
	if s.Stored {
		m.segment = nil
	}
	return nil
}

func (m *inMemory) Read(off, n int64) ([]byte, error) {
	if m.segment == nil {
		return nil, errBodyDropped
	}
	return m.segment[off : off+n], nil
}

func (m *inMemory) Remove() error {
	m.segment = nil
	return nil
}

func (m *inMemory) Quarantine(string) (file string, err error) { return "", m.Remove() }
func (m *inMemory) Urgent() bool                               { return false }
