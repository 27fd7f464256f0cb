package queue

import (
	"errors"
	"time"

	"logstow/blobnaming"
	"logstow/buffer/sealed"
	"logstow/buffer/wal"
	"logstow/record"
)

var errRemoved = errors.New("the bytes of a removed batch are not kept")

// Source holds a batch until it is delivered, on disk or in memory. Its methods are called by one
// goroutine at a time.
type Source interface {
	// State reads the state of the delivery that an earlier process began.
	State() (sealed.State, error)
	// SetState sets the state of the delivery, durably. Unless must is set, it may fail to be durable on a full disk.
	SetState(s sealed.State, must bool) error
	// Read returns n bytes of the segment at offset off, which must not be changed.
	Read(off, n int64) ([]byte, error)
	// Remove removes the batch.
	Remove() error
	// Quarantine moves the batch to the quarantine and returns the name of its file there. A batch in
	// memory is dropped, and the name is "".
	Quarantine(reason string) (file string, err error)
}

// Item is a sealed batch in a Queue.
type Item struct {
	Service     string
	BucketStart time.Time
	Meta        blobnaming.Metadata
	// Minutes are the minutes that have records; nil if they are not known before Batch.Load.
	Minutes []record.Minute
	// Size is the segment's size in bytes.
	Size int64
	// Recovered is set if an earlier process sealed the batch and Batch.Load has not read yet what that
	// process recorded of the delivery.
	Recovered bool

	source Source
	// state is the state of the delivery; that of a recovered batch is set by Batch.Load.
	state sealed.State
	// first is when the first record was appended.
	first time.Time
	// only is the ID of the relay that may have the batch, to which it must be sent; "" if it may be sent to any. The lock of the
	// queue guards it.
	only string
	// charged is how many bytes of the memory it is charged.
	charged int64
}

// NewItem returns an item for Queue.Put. first is when its first record was appended, charge how
// many bytes of the memory it is charged.
func NewItem(key wal.Key, meta blobnaming.Metadata, size int64, first time.Time, source Source, charge int64) *Item {
	return &Item{
		Service: key.Service, BucketStart: time.Unix(0, key.Start).UTC(),
		Meta: meta, Size: size, source: source, first: first, charged: charge,
	}
}

// inMemory is the Source of a batch in memory.
type inMemory struct{ segment []byte }

// InMemory returns the source of a batch in memory.
func InMemory(segment []byte) Source { return &inMemory{segment} }

func (m *inMemory) State() (sealed.State, error) { return sealed.State{}, nil }

func (m *inMemory) SetState(sealed.State, bool) error { return nil }

func (m *inMemory) Read(off, n int64) ([]byte, error) {
	if m.segment == nil {
		return nil, errRemoved
	}
	return m.segment[off : off+n], nil
}

func (m *inMemory) Remove() error {
	m.segment = nil
	return nil
}

func (m *inMemory) Quarantine(string) (file string, err error) { return "", m.Remove() }
