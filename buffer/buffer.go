// Package buffer holds records between the inputs and storage: it assigns each
// record to the open batch of its service and bucket, seals batches by size,
// age, bucket end and memory, and keeps sealed batches until they are
// acknowledged. Records and the input positions they came from are handed over
// in one call, so that they can not disagree.
//
// A record goes to the batch of (service, class, bucket of its own time). Of
// each there is one open at a time, and a batch gets its Seq when it stops
// taking records, so that what was appended to a bucket one after the other
// stays in that order across segments.
package buffer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"logstow/segment"
)

// ErrClosed is what Append returns after Drain or Close, and Next after Close.
var ErrClosed = errors.New("buffer is closed")

// Buffer is safe for concurrent use.
type Buffer struct {
	opts       Options
	compressor *segment.Compressor

	mu        sync.Mutex
	lanes     map[string]*lane
	open      map[*openBatch]struct{}
	positions map[string][]byte
	memory    memory
	queue     queue
	stats     Stats // the counters only
	mark      Mark
	seq       int64
	// tick counts uses of open batches: what "longest unused" goes by.
	tick uint64
	// sealing is the number of batches that take no more records and are not queued yet.
	sealing int
	// draining: nothing is appended any more. drained: and all that was is sealed.
	draining, drained, closed bool
	// wakeAt is when the sealing goroutine looks next; zero is never.
	wakeAt time.Time

	// space says that memory became free, ready that Next may find something.
	space, ready broadcast

	wake    chan struct{}
	stop    chan struct{}
	sealers sync.WaitGroup
}

// Open starts a buffer. Close ends it.
func Open(opts Options) (*Buffer, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("open buffer: %w", err)
	}
	b := &Buffer{
		opts:       opts,
		compressor: segment.NewCompressor(),
		lanes:      map[string]*lane{},
		open:       map[*openBatch]struct{}{},
		positions:  map[string][]byte{},
		memory:     memory{limit: opts.Memory},
		queue:      queue{out: map[*Batch]struct{}{}},
		wake:       make(chan struct{}, 1),
		stop:       make(chan struct{}),
	}
	b.sealers.Go(b.sealDue)
	return b, nil
}

// Append takes a chunk, copying what it keeps. It waits while the buffer is
// full. After nil the chunk's records will be in batches exactly once, in the
// order appended, and its positions are committed. It may be called
// concurrently; chunks of one source must come one after the other to keep
// their order.
func (b *Buffer) Append(ctx context.Context, c Chunk) (Mark, error) {
	m, err := b.append(ctx, c)
	if err != nil {
		return 0, fmt.Errorf("append to buffer: %w", err)
	}
	return m, nil
}

func (b *Buffer) append(ctx context.Context, c Chunk) (Mark, error) {
	size, err := c.check()
	if err != nil {
		return 0, err
	}
	if len(c.Records) == 0 {
		return b.commit(&c, 0, 0)
	}
	reserved, err := b.reserve(ctx, 2*size)
	if err != nil {
		return 0, err
	}
	m, full, err := b.appendRecords(&c, reserved)
	// Compressing the last blocks of what is full needs no lock.
	for _, o := range full {
		b.finish(o)
	}
	return m, err
}

func (b *Buffer) appendRecords(c *Chunk, reserved int64) (Mark, []*openBatch, error) {
	if c.Read == 0 {
		c.Read = b.opts.Now().UnixNano()
	}
	l, err := b.lane(c.Service)
	if err != nil {
		b.unreserve(reserved)
		return 0, nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		b.unreserve(reserved)
		return 0, nil, ErrClosed
	}
	runs := l.plan(c)
	late := l.late(c, runs)
	full, err := l.apply(c.Records, runs, c.Read)
	if err != nil {
		b.unreserve(reserved)
		return 0, full, err
	}
	m, err := b.commit(c, late, reserved)
	return m, full, err
}

// commit makes a chunk's positions the last ones.
func (b *Buffer) commit(c *Chunk, late uint64, reserved int64) (Mark, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.draining && len(c.Records) == 0 {
		return 0, ErrClosed
	}
	for _, p := range c.Positions {
		if len(p.Value) == 0 {
			delete(b.positions, p.Input)
		} else {
			b.positions[p.Input] = slices.Clone(p.Value)
		}
	}
	b.stats.Records += uint64(len(c.Records))
	b.stats.Late += late
	b.memory.used -= reserved
	b.space.notify()
	b.mark++
	return b.mark, nil
}

// lane is a service's lane.
func (b *Buffer) lane(service string) (*lane, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.draining {
		return nil, ErrClosed
	}
	l := b.lanes[service]
	if l == nil {
		l = &lane{buf: b, service: service, open: map[bucket]*openBatch{}}
		b.lanes[service] = l
	}
	return l, nil
}

// Synced waits until everything up to m is as durable as the buffer's mode makes
// it: at once, for a buffer in memory.
func (b *Buffer) Synced(context.Context, Mark) error { return nil }

// Position returns the last position committed for an input. The bytes must not be changed.
func (b *Buffer) Position(input string) ([]byte, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v, ok := b.positions[input]
	return v, ok
}

// Flush seals everything that was appended before the call.
func (b *Buffer) Flush() { b.endAll(false, b.finish) }

// Drain seals everything; later calls of Append fail with ErrClosed.
func (b *Buffer) Drain() {
	b.mu.Lock()
	b.draining = true
	b.space.notify()
	b.mu.Unlock()

	b.endAll(true, b.finish)

	b.mu.Lock()
	defer b.mu.Unlock()
	b.drained = true
	b.ready.notify()
}

// endAll detaches all open batches and ends each; with closed set no others are opened.
func (b *Buffer) endAll(closed bool, end func(*openBatch)) {
	b.mu.Lock()
	lanes := slices.Collect(maps.Values(b.lanes))
	b.mu.Unlock()
	for _, l := range lanes {
		for _, o := range l.detachAll(closed) {
			end(o)
		}
	}
}

// Close ends the buffer's goroutines and waits for them; calls that wait return
// ErrClosed. In memory mode what was not yet delivered is gone: Drain first, and
// deliver what Next returns. Closing again does nothing.
func (b *Buffer) Close() error {
	b.mu.Lock()
	if !b.closed {
		b.draining, b.closed = true, true
		close(b.stop)
	}
	b.space.notify()
	b.ready.notify()
	b.mu.Unlock()

	b.sealers.Wait()
	b.endAll(true, b.discard)
	return nil
}
