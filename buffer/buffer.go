// Package buffer holds records between the inputs and storage: it assigns each
// record to the open batch of its service and bucket, seals batches by size,
// age, bucket end and memory, and keeps sealed batches until they are
// acknowledged. Records and the input positions they came from are handed over
// in one call, so that they can not disagree.
package buffer

import (
	"context"
	"log/slog"
	"time"

	"logstow/blobnaming"
	"logstow/record"
)

// Options configure a Buffer; a zero field takes the default named at it.
type Options struct {
	// Instance is written into every segment. Required.
	Instance string
	// Width is a bucket's width, one that [blobnaming] allows; default one hour.
	Width time.Duration
	// FlushSize is the stored (compressed) size in bytes at which a batch is sealed; default 8 MiB.
	FlushSize int64
	// FlushInterval is the age of a batch's oldest record, by the clock, at which
	// it is sealed; default one minute. Negative is never.
	FlushInterval time.Duration
	// MaxOpen is how many buckets a service may have open; default 64. Past that, records
	// older than the oldest open bucket get the time they were read, unless Once.
	MaxOpen int
	// Once lifts that bound: the bucket longest unused is sealed instead, and
	// neither age nor bucket end seals.
	Once bool
	// Memory bounds the bytes of all open and waiting batches; default 64 MiB.
	// Append waits while it is exceeded and sealing can not help.
	Memory int64
	// Now is the clock; default time.Now.
	Now func() time.Time
	// Log gets what an operator should know; nil is silence.
	Log *slog.Logger
}

// Chunk is what an input hands over at once: the records of one service, and
// how far the input was read with them.
type Chunk struct {
	Service string
	// Class is the service's retention class.
	Class string
	// Read is when the records were read, Unix nanoseconds: the time of those that a guard refuses.
	Read    int64
	Records []record.Record
	// Positions are committed together with Records.
	Positions []Position
}

// Position is how far an input was read: opaque bytes of the input's own.
type Position struct {
	Input string
	Value []byte
}

// Mark stands for all that was appended up to a call of Append.
type Mark uint64

// Buffer is safe for concurrent use.
type Buffer struct{}

// Open starts a buffer.
func Open(opts Options) (*Buffer, error) { panic("skeleton") }

// Append takes a chunk, copying what it keeps. It waits while the buffer is
// full. After nil the chunk's records will be in batches exactly once, in the order appended.
func (b *Buffer) Append(ctx context.Context, c Chunk) (Mark, error) { panic("skeleton") }

// Synced waits until everything up to m is as durable as the buffer's mode makes it.
func (b *Buffer) Synced(ctx context.Context, m Mark) error { panic("skeleton") }

// Position returns the last position committed for an input.
func (b *Buffer) Position(input string) ([]byte, bool) { panic("skeleton") }

// Next waits for the next sealed batch, oldest first, and hands it to the
// caller, who ends with Batch.Done or Batch.Return. After Drain it returns
// io.EOF once no batch is left.
func (b *Buffer) Next(ctx context.Context) (*Batch, error) { panic("skeleton") }

// Drain seals everything; later calls of Append fail with ErrClosed.
func (b *Buffer) Drain() { panic("skeleton") }

// Close ends the buffer's goroutines and waits for them.
func (b *Buffer) Close() error { panic("skeleton") }

// Batch is a sealed segment on its way to storage.
type Batch struct {
	Service     string
	BucketStart time.Time
	Meta        blobnaming.Metadata
	Minutes     []record.Minute
}

// Body returns the segment's bytes, the same on every call.
func (b *Batch) Body() ([]byte, error) { panic("skeleton") }

// Name is the blob name last set with SetName, "" at first.
func (b *Batch) Name() string { panic("skeleton") }

// SetName writes down the name that the next create will use, before the create is tried.
func (b *Batch) SetName(name string) error { panic("skeleton") }

// SetStored writes down that the blob is in storage (with its ETag) and only the index is missing.
func (b *Batch) SetStored(etag string) error { panic("skeleton") }

// Done removes the batch: blob and index are acknowledged.
func (b *Batch) Done() error { panic("skeleton") }

// Return gives an unfinished batch back; Next will hand it out again.
func (b *Batch) Return() { panic("skeleton") }
