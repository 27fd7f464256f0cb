package buffer

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"logstow/blobnaming"
	"logstow/buffer/internal/disk"
)

// The values that a zero field of [Options] takes.
const (
	DefaultFlushSize     = 8 << 20
	DefaultFlushInterval = time.Minute
	DefaultMaxOpen       = 64
	// DefaultMemory holds one segment being filled and two on their way. With the
	// collector's usual doubling it keeps a shipper below 128 MiB.
	DefaultMemory = 32 << 20
	// DefaultMaxSize is of what waits on disk.
	DefaultMaxSize = 1 << 30
)

// Options configure a Buffer; a zero field takes the default named at it.
type Options struct {
	// Instance is written into every segment. Required.
	Instance string
	// Width is a bucket's width, one that [blobnaming.ValidWidth] allows; default one hour.
	Width time.Duration
	// FlushSize is the stored (compressed) size in bytes at which a batch is sealed; default 8 MiB.
	FlushSize int64
	// FlushInterval is the age of a batch's oldest record, by the clock, at which
	// it is sealed; default one minute. Negative is never.
	FlushInterval time.Duration
	// MaxOpen is how many buckets a service may have open; default 64. Past that, records
	// older than the oldest open bucket get the time they were read, and a newer
	// one seals the oldest bucket.
	MaxOpen int
	// MaxLateness is how old a record may be when it is read; an older one gets the
	// time it was read. 0 is any age.
	MaxLateness time.Duration
	// Once is for reading old files to their end: every record keeps its time whatever
	// MaxOpen and MaxLateness say, the buckets open are bounded by Memory alone, and neither age nor bucket end seals.
	Once bool
	// Memory bounds the bytes of all open and waiting batches; default 32 MiB.
	// Append waits while it is exceeded and sealing cannot help. A smaller Memory
	// than FlushSize and a few MiB makes segments smaller than FlushSize.
	Memory int64
	// Dir is the directory that makes the buffer durable; "" keeps all in memory.
	// One process may have it open at a time.
	Dir string
	// Sync says when what was appended is made durable; default every second.
	// Sealed batches are always durable before they are handed out.
	Sync Sync
	// MaxSize bounds the bytes in Dir; default 1 GiB. What waits there is
	// compressed, but for what was appended last. A disk with less space bounds them
	// further. A part of either, at most a quarter, is reserved for sealing.
	MaxSize int64
	// OnFull is what Append does when MaxSize is reached or the disk is full; default Block.
	OnFull OnFull
	// OnLostPositions is what Open does where the positions of the inputs are lost.
	OnLostPositions LostPositions
	// NoFilter writes segments without a token filter.
	NoFilter bool
	// Now is the clock; default time.Now.
	Now func() time.Time
	// Log gets what an operator should know; nil is silence.
	Log *slog.Logger

	// fs is the file system that Dir is in; tests make it fail.
	fs disk.FS
	// fullWait is the time between tries while the disk is full.
	fullRetryInterval time.Duration
}

// Sync is when appended records are made durable: SyncAlways, SyncNever, or an interval.
type Sync time.Duration

const (
	// SyncAlways syncs in each Append, before it returns.
	SyncAlways Sync = -1
	// SyncNever leaves it to the operating system: a crash of the process loses
	// nothing, one of the machine may lose what was appended last.
	SyncNever Sync = -2
	// DefaultSync is the interval where none is given.
	DefaultSync = Sync(time.Second)
)

// OnFull is what happens when the buffer is full.
type OnFull uint8

const (
	// Block makes Append wait: files are simply read later.
	Block OnFull = iota
	// DropOldest removes the oldest sealed batches that nobody sends, which is counted and said.
	DropOldest
)

// withDefaults fills the zero fields and checks the others.
func (o Options) withDefaults() (Options, error) {
	if o.Width == 0 {
		o.Width = blobnaming.DefaultWidth
	}
	if o.FlushSize == 0 {
		o.FlushSize = DefaultFlushSize
	}
	if o.FlushInterval == 0 {
		o.FlushInterval = DefaultFlushInterval
	}
	if o.MaxOpen == 0 {
		o.MaxOpen = DefaultMaxOpen
	}
	if o.Memory == 0 {
		o.Memory = DefaultMemory
	}
	if o.Sync == 0 {
		o.Sync = DefaultSync
	}
	if o.MaxSize == 0 {
		o.MaxSize = DefaultMaxSize
	}
	if o.fs == nil {
		o.fs = disk.OS{}
	}
	if o.fullRetryInterval == 0 {
		o.fullRetryInterval = time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	var errs []error
	if !blobnaming.ValidInstance(o.Instance) {
		errs = append(errs, fmt.Errorf("instance %q: want 1 to %d of A-Z a-z 0-9 . _ -", o.Instance, blobnaming.MaxInstance))
	}
	if !blobnaming.ValidWidth(o.Width) {
		errs = append(errs, fmt.Errorf("bucket width %v: want 5, 10, 15, 20, 30 or 60 minutes", o.Width))
	}
	if o.FlushSize < 0 {
		errs = append(errs, fmt.Errorf("flush size %d: want more than 0 bytes", o.FlushSize))
	}
	if o.MaxOpen < 0 {
		errs = append(errs, fmt.Errorf("open buckets %d: want more than 0", o.MaxOpen))
	}
	if o.Memory < 0 {
		errs = append(errs, fmt.Errorf("memory %d: want more than 0 bytes", o.Memory))
	}
	if o.Sync < SyncNever {
		errs = append(errs, fmt.Errorf("sync interval %v: want more than 0", time.Duration(o.Sync)))
	}
	if o.MaxSize < 0 {
		errs = append(errs, fmt.Errorf("size on disk %d: want more than 0 bytes", o.MaxSize))
	}
	return o, errors.Join(errs...)
}
