// Package input turns the logs of applications into records and passes them to the buffer. It has the
// parts that inputs share, such as splitting a stream into lines; each folder below it is one kind of
// input.
package input

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"logstow/buffer"
	"logstow/input/dedupe"
	"logstow/input/listen"
	"logstow/internal/logging"
	"logstow/message/parse"
	"logstow/record"
	"logstow/record/recognize"
)

// Sink receives the records of inputs; [*buffer.Buffer] is one.
type Sink interface {
	// Append appends records together with the positions behind them. It copies both.
	Append(ctx context.Context, c buffer.Chunk) (buffer.LSN, error)
	// Position returns the last position stored for an input.
	Position(input string) ([]byte, bool)
	// Positions returns all inputs with a position whose names start with prefix, in order.
	Positions(prefix string) []buffer.Position
	// Synced waits until everything up to lsn is as durable as the sink's policy makes it.
	Synced(ctx context.Context, lsn buffer.LSN) error
}

// Processor changes or drops records on their way to the sink. Safe for concurrent use.
type Processor interface {
	// Process reports whether a record of a service is kept. It may replace attributes and message, but must
	// not change their bytes.
	Process(service string, r *record.Record) (keep bool)
}

// Options are common to all inputs.
type Options struct {
	// Service and Class are the service and the retention class of the records. Service is required,
	// unless the input determines one for each of its sources.
	Service, Class string
	// Parse is the parser of the messages, as in [buffer.Chunk].
	Parse string
	// MaxRecord is the length in bytes past which a line is truncated, from [MinMaxRecord] to
	// [record.MaxSize]; 0 is [DefaultMaxRecord].
	MaxRecord int
	// Recognize configures how timestamps and levels are recognized.
	Recognize recognize.Options
	// TimeFrom is the time that network inputs prefer.
	TimeFrom TimeFrom
	// Lines configures how lines become messages; for inputs that read lines.
	Lines Lines
	// Parts finds the records of which a line consists, for inputs that read lines; nil is for lines of one record.
	Parts *Parts
	// SourcePrefix is prepended to the source of every record.
	SourcePrefix string
	// Memory limits the received data that all network inputs together hold; if it is nil, each input
	// has its own limit.
	Memory *listen.Budget
	// Buffers has the buffers of inputs that read lines. If it is nil, each has its own, and reads in smaller pieces.
	Buffers *ReadBuffers
	// Keys recognizes repeated requests; network inputs with the same sink share it. If it is nil, each input makes its
	// own.
	Keys *dedupe.Keys
	// Process changes or drops records before the sink receives them; nil keeps all unchanged.
	Process Processor
	// Sink receives the records. Required.
	Sink Sink
	// Stats counts what is read; it may be nil.
	Stats *Stats
	// Now is the clock; default [time.Now].
	Now func() time.Time
	// Log receives operational messages; nil discards them.
	Log *slog.Logger
}

// Parts finds the records of which a line consists, such as those of a request that a program wrote to a file. Safe for
// concurrent use.
type Parts struct {
	// Prefix begins the lines that have parts.
	Prefix string
	// Events returns the parts of a line, each of which may point into it. It is not ok if the line has none, or cannot be
	// read.
	Events func(line []byte) (parts []Event, ok bool)
	// Sources is set if parts have sources of their own: one that is not empty counts instead of that of the line.
	Sources bool
}

// begin reports whether a line begins like those that have parts. p may be nil.
func (p *Parts) begin(line []byte) bool {
	return p != nil && len(line) > len(p.Prefix) && line[len(p.Prefix)-1] == p.Prefix[len(p.Prefix)-1] &&
		string(line[:len(p.Prefix)]) == p.Prefix
}

// WithDefaults fills in defaults and validates the options.
func (o Options) WithDefaults() (Options, error) {
	if o.MaxRecord == 0 {
		o.MaxRecord = DefaultMaxRecord
	}
	if o.MaxRecord < MinMaxRecord || o.MaxRecord > record.MaxSize {
		return o, fmt.Errorf("record limit of %d bytes: it must be from %d to %d", o.MaxRecord, MinMaxRecord, record.MaxSize)
	}
	var err error
	if o.Lines, err = o.Lines.withDefaults(o.MaxRecord); err != nil {
		return o, err
	}
	if o.Stats == nil {
		o.Stats = new(Stats)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = logging.OrDiscard(o.Log)
	if o.Recognize.Parser == nil {
		o.Recognize.Parser = parse.Auto()
	}
	return o, nil
}

// Stats counts what inputs read. Safe for concurrent use.
type Stats struct {
	// Records counts records that were passed to the sink, Bytes the bytes read for them, including
	// newlines and truncated or dropped bytes.
	Records, Bytes atomic.Int64
	// Cut counts truncated lines and messages.
	Cut atomic.Int64
	// NULs counts NUL bytes at the start of lines, which are skipped.
	NULs atomic.Int64
	// Split counts multi-line records that reached a limit: the next record continues them.
	Split atomic.Int64
	// TimesRejected counts timestamps before 1990 or too far ahead: such a record gets its read
	// time.
	TimesRejected atomic.Int64
	// Ahead counts records whose accepted time is at least 55 minutes ahead of the clock.
	Ahead atomic.Int64
	// Repeated counts requests that an earlier request had stored completely or in part.
	Repeated atomic.Int64
	// Denied counts requests with a failed login.
	Denied atomic.Int64
	// Dropped counts messages for which there was no space, LostByKernel datagrams that were dropped before they could be read, if
	// the system counts them (Linux).
	Dropped, LostByKernel atomic.Int64
	// Incomplete counts messages that were dropped because not all of their datagrams arrived, Invalid datagrams that were
	// dropped because they cannot be decoded.
	Incomplete, Invalid atomic.Int64
	// TimesNotFound counts lines without a timestamp although time rules are set.
	TimesNotFound atomic.Int64
	// FileBytes is the size of the files that a run with Once reads, FileBytesRead how much of that was read. Compressed files count
	// once they are read.
	FileBytes, FileBytesRead atomic.Int64
}

// Grace returns a context that ends d after ctx ends. With it an input that is stopped can flush what it
// has read.
func Grace(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel(context.Cause(ctx))
		case <-late.Done():
		}
	})
	return late, func() {
		stop()
		cancel(context.Canceled)
	}
}
