package buffer

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"logstow/blobnaming"
	"logstow/buffer/batching"
	"logstow/buffer/disk"
	"logstow/columns"
	"logstow/internal/logging"
	"logstow/record"
)

// The defaults of [Options].
const (
	DefaultFlushSize     = 8 << 20
	DefaultFlushInterval = time.Minute
	DefaultMaxOpen       = 64
	// DefaultMemory fits one segment being filled and two waiting. With the garbage
	// collector's usual overhead a shipper stays below 128 MiB.
	DefaultMemory = 32 << 20
	// DefaultMaxSize is the default limit on disk.
	DefaultMaxSize = 1 << 30
	// LargeText is the size in bytes of the text of a batch from which MaxFlushInterval does not apply.
	LargeText = batching.LargeText
	// DefaultMaxUnindexed is the default limit of index entities that wait, of a durable buffer; of a buffer in memory it is
	// DefaultMaxUnindexedMemory.
	DefaultMaxUnindexed       = 100_000
	DefaultMaxUnindexedMemory = 4096
)

// Options configure a Buffer; a zero field means the default given at it.
type Options struct {
	// Instance is written into every segment. Required.
	Instance string
	// TakenOverBy is the instance that drains the buffer if that is not Instance: see [Status]. Default none.
	TakenOverBy string
	// Width is the width of a bucket, which [blobnaming.ValidWidth] must allow; default one hour.
	Width time.Duration
	// FlushSize is the stored (compressed) size in bytes at which a batch is sealed; default 8 MiB.
	FlushSize int64
	// FlushInterval is the age of a batch's oldest record, by the clock, at which
	// it is sealed; default one minute. Negative is never.
	FlushInterval time.Duration
	// MaxFlushInterval replaces FlushInterval, if it is longer, for batches with less than [LargeText] of services that are
	// not followed (see Buffer.SetFollowed). 0 is FlushInterval.
	MaxFlushInterval time.Duration
	// MaxOpen is how many buckets a service may have open; default 64. At that limit, records
	// older than the oldest open bucket get the time they were read, and a record of a newer
	// bucket that is not open seals the oldest one.
	MaxOpen int
	// MaxLateness is how old a record may be when it is read; an older one gets the
	// time it was read. 0 is unlimited.
	MaxLateness time.Duration
	// Once is for reading old files to their end: every record keeps its time, MaxOpen and
	// MaxLateness are ignored, only Memory limits the number of open buckets, and batches are
	// not sealed by age or bucket end.
	Once bool
	// Memory limits the bytes of all open and waiting batches; default 32 MiB.
	// Append waits while it is exceeded and sealing does not help. If Memory is less than
	// FlushSize and a few MiB, segments are smaller than FlushSize.
	Memory int64
	// Dir is the directory of a durable buffer; "" is a buffer in memory.
	// One process may have it open at a time.
	Dir string
	// Sync is the fsync policy of the log; default every second. Sealed batches are always
	// durable before Next returns them.
	Sync Sync
	// MaxSize limits the bytes in Dir; default 1 GiB. Sealed batches are compressed, the log is
	// not. If the disk has less free space, the free space is the limit. At most a quarter of
	// the limit is reserved for sealing.
	MaxSize int64
	// OnFull is the policy when MaxSize is reached or the disk is full; default Block.
	OnFull OnFull
	// MaxUnindexed limits the number of stored batches whose index entities wait for the index. Beyond it, or if they use
	// more than a quarter of MaxSize, the oldest are dropped and counted. Default 100,000, in memory 4,096.
	MaxUnindexed int
	// OnLostPositions is what Open does if the positions of the inputs are lost.
	OnLostPositions LostPositions
	// NoFilter writes segments without a token filter.
	NoFilter bool
	// Columns are fields of the messages. If there are any, segments of 256 KiB of text or more get columns of them
	// and of frequent fields; otherwise no segment has columns.
	Columns []string
	// Observe, if set, gets the records of each Append after they are in the buffer, as they will be stored; it does not
	// get records that Open recovers. parser is Chunk.Parse. It must not retain or change the records, and may be called
	// concurrently.
	Observe func(service, parser string, records []record.Record)
	// Now is the clock; default time.Now.
	Now func() time.Time
	// Log is the logger; nil discards.
	Log *slog.Logger

	// fs is the file system of Dir; tests inject faults.
	fs disk.FS
	// fullRetryInterval is the time between retries while the disk is full.
	fullRetryInterval time.Duration
	// maxWaiting applies with Once. From this number of waiting batches on, Append waits for deliveries and does not seal
	// small batches to free memory: each waiting batch takes memory that is not counted.
	maxWaiting int
}

// Sync is an fsync policy: SyncAlways, SyncNever, or an interval.
type Sync time.Duration

const (
	// SyncAlways syncs in each Append, before it returns.
	SyncAlways Sync = -1
	// SyncNever leaves syncing to the operating system: a crash of the process loses
	// nothing, a crash of the machine may lose what was appended last.
	SyncNever Sync = -2
	// DefaultSync is the default of Options.Sync.
	DefaultSync = Sync(time.Second)
)

// OnFull is the policy of a full buffer.
type OnFull uint8

const (
	// Block makes Append wait, so that files are read later.
	Block OnFull = iota
	// DropOldest drops the oldest sealed batches that are not in flight; it counts and logs them.
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
	if o.MaxUnindexed == 0 {
		o.MaxUnindexed = DefaultMaxUnindexed
		if o.Dir == "" {
			o.MaxUnindexed = DefaultMaxUnindexedMemory
		}
	}
	if o.fs == nil {
		o.fs = disk.OS{}
	}
	if o.maxWaiting == 0 {
		o.maxWaiting = 4096
	}
	if o.fullRetryInterval == 0 {
		o.fullRetryInterval = time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = logging.OrDiscard(o.Log)
	var errs []error
	if o.MaxUnindexed < 0 {
		errs = append(errs, fmt.Errorf("unindexed batches %d: want more than 0", o.MaxUnindexed))
	}
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

// minColumns is the length in bytes of the text below which a segment gets no columns.
const minColumns = 256 << 10

// columns are the options of the columns of segments, nil if they get none.
func (o *Options) columns() *columns.Options {
	if len(o.Columns) == 0 {
		return nil
	}
	return &columns.Options{Named: o.Columns, MinText: minColumns}
}
