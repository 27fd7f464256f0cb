package input

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"logstow/buffer"
	"logstow/input/dedupe"
	"logstow/record"
	"logstow/record/recognize"
)

const (
	// MaxReceive is the maximum total size in bytes of the messages and attributes of one request: a request is
	// accepted or rejected as a whole.
	MaxReceive = 16 << 20
	// spaceTimeout is how long a sender waits for space in the buffer before it gets a response to retry.
	spaceTimeout = 2 * time.Second
)

// EventCost is about how many bytes of memory an event takes in addition to its message, until it
// is in the buffer. Receivers charge it for each event, however short.
const EventCost = 176

// GrowingCost is EventCost for an event that is appended to a slice: while the slice grows, the old and the new array
// take memory.
const GrowingCost = EventCost + 96

// ErrBusy reports that the buffer has no space now: nothing was accepted, and the sender should retry.
var ErrBusy = errors.New("no space for now")

// ErrTooLarge reports that a request exceeds [MaxReceive] bytes, or the capacity of the buffer's
// disk.
var ErrTooLarge = errors.New("request too large")

// Event is a record as received from a sender.
type Event struct {
	// Time is in Unix nanoseconds. If it is 0, the time is recognized in Message. If both have a time,
	// Options.TimeFrom decides.
	Time int64
	// Level is recognized in Message if it is record.None.
	Level record.Level
	// Fallback is the level if Message has none either.
	Fallback record.Level
	// previewed is set if a [Preview] has set stamp, in which the time of receiving is 0, and zoneAssumed, which is that of its recognizer.
	previewed, zoneAssumed bool
	stamp                  recognize.Stamp
	// Source need not be valid: record.CleanSource is applied to it.
	Source string
	// Attributes are in the form of package attributes.
	Attributes, Message []byte
}

// Receiver makes records of received events and passes them to the sink. Safe for concurrent use.
type Receiver struct {
	opts     Options
	aheadLog skewLog
	noted    noted

	mu sync.Mutex
	// ahead has the detectors of the services that have sent times ahead of the clock.
	ahead map[string]*skewDetector
}

// NewReceiver makes a Receiver.
func NewReceiver(opts Options) (*Receiver, error) {
	opts, err := opts.WithDefaults()
	if err != nil {
		return nil, err
	}
	if opts.Keys == nil {
		opts.Keys = dedupe.New(opts.Sink, 0, opts.Now)
	}
	return &Receiver{
		opts: opts, aheadLog: skewLog{log: opts.Log, zone: opts.Recognize.Zone}, noted: noted{of: "input"},
		ahead: map[string]*skewDetector{},
	}, nil
}

// Options returns the options with their defaults.
func (r *Receiver) Options() Options { return r.opts }

// Receive accepts events as a whole. If the error is nil, all of them are as durable as the sink makes
// them, and may be acknowledged. If the sink has no space for two seconds, the error is [ErrBusy] and
// nothing was accepted. If the events exceed [MaxReceive] bytes, or the capacity of the sink, it is
// [ErrTooLarge]. After another error, of ctx or of the sink, some events may have been accepted, but
// they must not be acknowledged. It does not retain the messages. service "" means the configured one.
func (r *Receiver) Receive(ctx context.Context, service string, events []Event) error {
	lsn, err := r.Take(ctx, service, events)
	if err != nil {
		return err
	}
	return r.Synced(ctx, lsn)
}

// ReceiveOnce is Receive for a request with a key: batches that were stored by an earlier request with the same key are
// not stored again. Each batch is accepted as a whole. The error may also be [dedupe.ErrReused].
func (r *Receiver) ReceiveOnce(ctx context.Context, key dedupe.Key, batches []Batch) error {
	request, err := r.opts.Keys.Begin(ctx, key)
	if err != nil {
		return err
	}
	defer request.End()
	if request.Stored() > 0 {
		r.opts.Stats.Repeated.Add(1)
	}
	for i := request.Stored(); i < len(batches); i++ {
		err := request.Commit(i+1, i+1 == len(batches), func(positions []buffer.Position) (buffer.LSN, error) {
			return r.Take(ctx, batches[i].Service, batches[i].Events, positions...)
		})
		if err != nil {
			return err
		}
	}
	return r.Synced(ctx, request.LSN())
}

// ReceiveBatches is Receive for batches of several services: each is accepted as a whole. If a request of the same scope
// (an input and its service) is repeated with the same content, batches that were stored before are not stored again.
func (r *Receiver) ReceiveBatches(ctx context.Context, scope string, content []byte, batches []Batch) error {
	switch len(batches) {
	case 0:
		return nil
	case 1:
		return r.Receive(ctx, batches[0].Service, batches[0].Events)
	}
	return r.ReceiveOnce(ctx, dedupe.PartsKey(scope, content), batches)
}

// Synced waits until everything up to lsn is as durable as the sink makes it.
func (r *Receiver) Synced(ctx context.Context, lsn buffer.LSN) error {
	return r.opts.Sink.Synced(ctx, lsn)
}

// Take is Receive without waiting until the events are durable: [Receiver.Synced] waits for all events
// up to the largest LSN returned. It is for senders without acknowledgement, and for acknowledging
// several requests at once. The positions are committed with the events.
func (r *Receiver) Take(ctx context.Context, service string, events []Event, positions ...buffer.Position) (buffer.LSN, error) {
	if service == "" {
		service = r.opts.Service
	}
	size := 0
	for i := range events {
		size += len(events[i].Message) + len(events[i].Attributes)
	}
	if size > MaxReceive {
		return 0, fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLarge, size, MaxReceive)
	}
	read := r.opts.Now()
	now := read.UnixNano()
	made := stamper{opts: &r.opts, read: now, ref: now, from: r.opts.TimeFrom, records: make([]record.Record, 0, len(events))}
	from := origin{service: service, noted: &r.noted}
	for i := range events {
		e := &events[i]
		if i == 0 || e.Source != events[i-1].Source {
			from.name, from.label = record.CleanSource(r.opts.SourcePrefix+e.Source), e.Source
			from.recognizer = recognize.New(r.opts.Recognize) // another source may have another order of dates
		}
		from.recognizer.Forget() // an event without a time gets that of receiving
		previewed := e
		if !e.previewed {
			previewed = nil
		}
		made.add(&from, e.Attributes, e.Message, e.Time, e.Level, e.Fallback, previewed)
	}
	chunk := buffer.Chunk{
		Service:   service,
		Class:     r.opts.Class,
		Parse:     r.opts.Parse,
		Read:      read.UnixNano(),
		Records:   made.records,
		Positions: positions,
	}
	lsn, err := r.append(ctx, chunk)
	if err != nil {
		return 0, err
	}
	r.opts.Stats.Records.Add(int64(len(chunk.Records)))
	r.opts.Stats.Bytes.Add(int64(size))
	r.detectSkew(service, made.aheadName, made.ahead, len(events), read)
	return lsn, nil
}

// detectSkew counts how many of all records of a service are ahead of the clock.
func (r *Receiver) detectSkew(service, source string, ahead skewBatch, all int, now time.Time) {
	if ahead.records == 0 {
		return
	}
	r.opts.Stats.Ahead.Add(int64(ahead.records))
	r.mu.Lock()
	defer r.mu.Unlock()
	detector := r.ahead[service]
	if detector == nil {
		detector = new(skewDetector)
		r.ahead[service] = detector
	}
	if offset, ok := detector.note(ahead, all); ok {
		r.aheadLog.warn(detector, service, source, offset, now)
	}
}

// append appends a chunk, waiting briefly for space.
func (r *Receiver) append(ctx context.Context, chunk buffer.Chunk) (buffer.LSN, error) {
	if len(chunk.Records) == 0 && len(chunk.Positions) == 0 {
		return 0, nil
	}
	limited, cancel := context.WithTimeoutCause(ctx, spaceTimeout, ErrBusy)
	defer cancel()
	lsn, err := r.opts.Sink.Append(limited, chunk)
	if errors.Is(err, buffer.ErrTooLarge) {
		err = fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	return lsn, err
}
