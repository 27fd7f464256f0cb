package batching

import (
	"log/slog"
	"math"
	"time"

	"logstow/buffer/internal/wait"
	"logstow/buffer/queue"
	"logstow/buffer/spool"
	"logstow/columns"
	"logstow/record"
)

// Options configure Batches, as the fields of the same names configure a buffer. All are required,
// except Spool, Columns and Observe.
type Options struct {
	Instance      string
	Width         time.Duration
	FlushSize     int64
	FlushInterval time.Duration
	// MaxFlushInterval may be 0.
	MaxFlushInterval time.Duration
	MaxOpen          int
	MaxLateness      time.Duration
	Once             bool
	NoFilter         bool
	Columns          *columns.Options
	Observe          func(service, parser string, records []record.Record)
	Now              func() time.Time
	Log              *slog.Logger

	// Spool is where batches are sealed; nil means in memory.
	Spool *spool.Spool
	// Queue gets the sealed batches, Memory counts the open ones.
	Queue  *queue.Queue
	Memory *wait.Memory
	// Failure gets the final error, after which memory and disk may differ.
	Failure *wait.Failure
	// Seq is the highest Seq so far.
	Seq int64
}

// limit returns the maximum size in bytes of an open batch.
func (o *Options) limit() int64 {
	if o.Spool == nil {
		return math.MaxInt64
	}
	return o.Spool.BatchLimit()
}

// tooOld reports whether a record with time t was older than MaxLateness when it was read. Both times are in Unix nanoseconds.
func (o *Options) tooOld(t, read int64) bool {
	return o.MaxLateness > 0 && !o.Once && t < read-int64(o.MaxLateness)
}
