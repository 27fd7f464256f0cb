// Package input turns what applications log into records and hands them to the
// buffer. It holds what its inputs share, the cutting of a stream into lines;
// each folder below it is one kind of input.
package input

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"logstow/buffer"
	"logstow/input/listen"
	"logstow/record"
	"logstow/record/recognize"
)

// Sink takes what an input read; [*buffer.Buffer] is one.
type Sink interface {
	// Append takes records together with the positions reached by reading them, copying both.
	Append(ctx context.Context, c buffer.Chunk) (buffer.Mark, error)
	// Position returns the last position taken for an input.
	Position(input string) ([]byte, bool)
	// Positions returns all inputs that have one and whose names start with prefix, in order.
	Positions(prefix string) []buffer.Position
	// Synced waits until everything up to m is as durable as the sink makes it.
	Synced(ctx context.Context, m buffer.Mark) error
}

// Processor changes records on their way to the sink, or drops them. Safe for
// concurrent use.
type Processor interface {
	// Process reports whether a record of a service is kept. It may set another
	// message, but not change the bytes of the one that it gets.
	Process(service string, r *record.Record) (keep bool)
}

// Options are what every input is told.
type Options struct {
	// Service and Class are those of the records. Service is required, unless the input
	// finds one for each of its sources.
	Service, Class string
	// MaxRecord is the length in bytes past which a line is cut, from [MinMaxRecord]
	// to [record.MaxSize]; 0 is [DefaultMaxRecord].
	MaxRecord int
	// Recognize says how times and levels are found.
	Recognize recognize.Options
	// Lines say how lines become messages; for inputs that read lines.
	Lines Lines
	// SourcePrefix stands before the source of every record.
	SourcePrefix string
	// Memory bounds what network inputs hold together of what senders send; nil leaves
	// each to its own limit.
	Memory *listen.Budget
	// Process changes or drops records before the sink gets them; nil keeps all as they are.
	Process Processor
	// Sink takes the records. Required.
	Sink Sink
	// Stats counts what is read, if not nil.
	Stats *Stats
	// Now is the clock; default [time.Now].
	Now func() time.Time
	// Log gets what an operator should know; nil is silence.
	Log *slog.Logger
}

// WithDefaults fills in what was left open and reports what can not be.
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
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// Stats counts what inputs read. Safe for concurrent use.
type Stats struct {
	// Records were handed to the sink; Bytes were read for that, newlines and what was
	// cut or dropped included.
	Records, Bytes atomic.Int64
	// Cut lines were longer than the record limit.
	Cut atomic.Int64
	// Split records of several lines reached a limit: the next record goes on with them.
	Split atomic.Int64
	// TimesRejected times were before 1990 or too far ahead: such a record has the time it was read.
	TimesRejected atomic.Int64
	// Ahead are records whose time lies at least 55 minutes ahead of the clock, and was taken.
	Ahead atomic.Int64
	// TimesNotFound lines held no time although rules for times are set.
	TimesNotFound atomic.Int64
}

// Grace returns a context that ends d after ctx does: for handing over what was
// read before an input was told to stop.
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
