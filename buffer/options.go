package buffer

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"logstow/blobnaming"
)

// The values that a zero field of [Options] takes.
const (
	DefaultFlushSize     = 8 << 20
	DefaultFlushInterval = time.Minute
	DefaultMaxOpen       = 64
	// DefaultMemory holds one segment being filled and two on their way. With the
	// collector's usual doubling it keeps a shipper below 128 MiB.
	DefaultMemory = 32 << 20
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
	// one seals the bucket longest unused.
	MaxOpen int
	// Once is for reading old files to their end: every record keeps its time, the
	// buckets open are bounded by Memory alone, and neither age nor bucket end seals.
	Once bool
	// Memory bounds the bytes of all open and waiting batches; default 32 MiB.
	// Append waits while it is exceeded and sealing can not help. A smaller Memory
	// than FlushSize and a few MiB makes segments smaller than FlushSize.
	Memory int64
	// Now is the clock; default time.Now.
	Now func() time.Time
	// Log gets what an operator should know; nil is silence.
	Log *slog.Logger
}

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
	return o, errors.Join(errs...)
}
