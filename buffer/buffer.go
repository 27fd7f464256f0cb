// Package buffer holds records between the inputs and storage: it assigns each
// record to the open batch of its service and bucket, seals batches by size,
// age, bucket end and memory, and keeps sealed batches until they are
// acknowledged. Records and the input positions they came from are handed over
// in one call, so that they cannot disagree.
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
	"strings"
	"sync"
	"time"

	"logstow/buffer/wal"
	"logstow/segment"
)

// ErrClosed is what Append returns after Drain or Close, and Next after Close.
var ErrClosed = errors.New("buffer is closed")

// Buffer is safe for concurrent use.
type Buffer struct {
	opts       Options
	compressor *segment.Compressor

	mu         sync.Mutex
	partitions map[string]*partition
	open       map[*openBatch]struct{}
	positions  map[string][]byte
	memory     memory
	queue      queue
	stats      Stats // the counters only
	lsn        LSN
	seq        int64
	// tick counts uses of open batches: what "longest unused" goes by.
	tick uint64
	// ending are the batches that take no more records and are not queued yet.
	sealing map[*openBatch]struct{}
	// inflight are the lanes that are appending, with a number that none of the
	// records which they write to the log is below.
	inflightAppends map[*partition]uint64
	// failed is the error after which nothing is taken any more.
	failed error
	// spool is what is on disk; nil in memory mode.
	spool *spool
	// draining: nothing is appended any more. drained: and all that was is sealed,
	// or is left to the next process.
	draining, drained, closed bool
	// quit is closed when waiting for space has ended, replayed when what the
	// log held at Open is in batches, or never will be here.
	quit, replayed chan struct{}
	quitOnce       sync.Once
	// wakeAt is when the sealing goroutine looks next; zero is never.
	wakeAt time.Time

	// space says that memory became free, ready that Next may find something.
	space, ready broadcast

	wake    chan struct{}
	stop    chan struct{}
	sealers sync.WaitGroup
}

// Open starts a buffer; where Options.Dir is set, with what a process before left
// in it: sealed batches and all positions are there at once, records of the log
// become batches while the buffer is in use, and Append waits for that. ctx ends
// Open, not the buffer. A directory that another process has open is [ErrLocked], one
// on a disk of less than [MinDisk] is [ErrSmallDisk]. Close ends the buffer.
func Open(ctx context.Context, opts Options) (*Buffer, error) {
	b, err := newBuffer(opts)
	if err != nil {
		return nil, fmt.Errorf("open buffer: %w", err)
	}
	if opts.Dir == "" {
		close(b.replayed)
	} else {
		if err := b.openSpool(ctx); err != nil {
			return nil, fmt.Errorf("open buffer %s: %w", opts.Dir, err)
		}
		b.sealers.Go(b.spool.replay)
		b.sealers.Go(b.spool.syncLoop)
		b.sealers.Go(b.spool.watchLock)
	}
	b.sealers.Go(b.sealLoop)
	return b, nil
}

// newBuffer makes a buffer that nothing runs in yet.
func newBuffer(opts Options) (*Buffer, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Buffer{
		opts:            opts,
		compressor:      segment.NewCompressor(),
		partitions:      map[string]*partition{},
		open:            map[*openBatch]struct{}{},
		sealing:         map[*openBatch]struct{}{},
		inflightAppends: map[*partition]uint64{},
		positions:       map[string][]byte{},
		memory:          memory{limit: opts.Memory},
		queue:           queue{inflight: map[*Batch]struct{}{}},
		wake:            make(chan struct{}, 1),
		stop:            make(chan struct{}),
		quit:            make(chan struct{}),
		replayed:        make(chan struct{}),
	}, nil
}

// Append takes a chunk, copying what it keeps. It waits while the buffer is
// full. After nil the chunk's records will be in batches exactly once, in the
// order appended, and its positions are committed. It may be called
// concurrently; chunks of one source must come one after the other to keep
// their order.
func (b *Buffer) Append(ctx context.Context, c Chunk) (LSN, error) {
	lsn, err := b.append(ctx, c)
	if err != nil {
		return 0, fmt.Errorf("append to buffer: %w", err)
	}
	return lsn, nil
}

func (b *Buffer) append(ctx context.Context, c Chunk) (LSN, error) {
	n, err := c.check()
	if err == nil {
		err = b.waitReplayed(ctx)
	}
	if err != nil {
		return 0, err
	}
	var failed error
	for {
		if err := b.waitForSpace(ctx, n, failed); err != nil {
			return 0, err
		}
		reserved, err := b.reserveMemory(ctx, 2*n.total)
		if err != nil {
			return 0, err
		}
		lsn, full, err := b.appendRecords(&c, reserved)
		// Compressing the last blocks of what is full needs no lock.
		for _, o := range full {
			b.sealDetached(ctx, o)
		}
		switch {
		case err == nil && b.spool != nil && b.opts.Sync == SyncAlways:
			return lsn, b.fail(b.spool.log.Sync(uint64(lsn)))
		case !errors.Is(err, wal.ErrFull):
			return lsn, err
		}
		failed = err
	}
}

// waitReplayed waits until all that the log held at Open is in batches: what is
// appended comes after it.
func (b *Buffer) waitReplayed(ctx context.Context) error {
	select {
	case <-b.replayed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-b.quit:
		return ErrClosed
	}
}

func (b *Buffer) appendRecords(c *Chunk, reserved int64) (LSN, []*openBatch, error) {
	if c.Read == 0 {
		c.Read = b.opts.Now().UnixNano()
	}
	p, err := b.openPartition(c.Service)
	if err != nil {
		b.releaseMemory(reserved)
		return 0, nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		b.releaseMemory(reserved)
		return 0, nil, ErrClosed
	}
	runs := p.planRuns(c)
	late := p.countLate(c, runs)
	records := resolveTimes(c.Records, runs, c.Read)
	first, entry, err := b.writeLog(p, c, runs, records)
	if err != nil {
		b.releaseMemory(reserved)
		return 0, nil, err
	}
	full, err := p.apply(records, runs, first)
	b.endInflight(p)
	if err != nil {
		b.releaseMemory(reserved)
		if b.spool != nil { // the log has what the batches have not
			err = b.fail(err)
		}
		return 0, full, err
	}
	return b.commit(c, late, reserved, entry), full, nil
}

// commit makes a chunk's positions the last ones.
func (b *Buffer) commit(c *Chunk, late uint64, reserved int64, entry uint64) LSN {
	b.mu.Lock()
	defer b.mu.Unlock()
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
	b.lsn++
	if b.spool != nil {
		return LSN(entry)
	}
	return b.lsn
}

// lane is a service's lane.
func (b *Buffer) openPartition(service string) (*partition, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed != nil {
		return nil, b.failed
	}
	if b.draining {
		return nil, ErrClosed
	}
	return b.partition(service), nil
}

// anyLane is a service's lane, also when nothing is appended any more. b.mu is held.
func (b *Buffer) partition(service string) *partition {
	p := b.partitions[service]
	if p == nil {
		p = &partition{buf: b, service: service, open: map[bucket]*openBatch{}}
		b.partitions[service] = p
	}
	return p
}

// gather is how long somebody who waits for a sync waits for others to share it with.
const groupCommitDelay = 10 * time.Millisecond

// Synced waits until everything up to m is as durable as the buffer's mode makes
// it: at once in memory and with SyncNever. It does not wait for the interval,
// but syncs soon, together with what others wait for.
func (b *Buffer) Synced(ctx context.Context, lsn LSN) error {
	if b.spool == nil || b.opts.Sync == SyncNever {
		return nil
	}
	for {
		b.mu.Lock()
		_, synced := b.spool.log.Entries()
		durable, failed, closed := b.spool.durable.wait(), b.failed, b.closed
		b.mu.Unlock()
		switch {
		case synced >= uint64(lsn):
			return nil
		case failed != nil:
			return failed
		case closed:
			return ErrClosed
		}
		timer := time.NewTimer(groupCommitDelay)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-durable:
			timer.Stop()
		case <-timer.C:
			if err := b.fail(b.spool.log.Sync(uint64(lsn))); err != nil {
				return err
			}
			b.mu.Lock()
			b.spool.durable.notify()
			b.mu.Unlock()
		}
	}
}

// fail makes an error final, where it is one: what is in memory and what is on
// disk may differ after it, and a new process goes by what is on disk.
func (b *Buffer) fail(err error) error {
	if err == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed == nil {
		b.failed = err
		b.space.notify()
		b.ready.notify()
		if b.spool != nil {
			b.spool.durable.notify()
		}
	}
	return err
}

// Err is the error after which the buffer takes and gives nothing any more, nil
// as long as there is none.
func (b *Buffer) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

// Position returns the last position committed for an input. The bytes must not be changed.
func (b *Buffer) Position(input string) ([]byte, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v, ok := b.positions[input]
	return v, ok
}

// Positions are the last positions of all inputs whose names start with prefix,
// in order of name. The values must not be changed.
func (b *Buffer) Positions(prefix string) []Position {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []Position
	for input, value := range b.positions {
		if strings.HasPrefix(input, prefix) {
			all = append(all, Position{Input: input, Value: value})
		}
	}
	slices.SortFunc(all, func(x, y Position) int { return strings.Compare(x.Input, y.Input) })
	return all
}

// Flush seals everything that was appended before the call. On a full disk it
// waits for delivery, until ctx ends.
func (b *Buffer) Flush(ctx context.Context) {
	if b.waitReplayed(ctx) == nil {
		b.detachAll(false, func(o *openBatch) { b.sealDetached(ctx, o) })
	}
}

// Drain seals everything; later calls of Append fail with ErrClosed. On a full disk
// it waits for delivery. When ctx ends, what could not be sealed by then stays in
// the log for the next process, or for none if it is done by the time Drain
// returns: Stats.Unsealed says how much.
func (b *Buffer) Drain(ctx context.Context) {
	stop := context.AfterFunc(ctx, b.stopWaiting)
	defer stop()
	b.mu.Lock()
	b.draining = true
	b.space.notify()
	b.mu.Unlock()

	<-b.replayed
	b.detachAll(true, func(o *openBatch) { b.sealDetached(context.WithoutCancel(ctx), o) })

	b.mu.Lock()
	defer b.mu.Unlock()
	b.drained = true
	b.ready.notify()
}

// giveUp ends all waiting for space: what is not sealed is left to the next process.
func (b *Buffer) stopWaiting() {
	b.quitOnce.Do(func() { close(b.quit) })
}

// endAll detaches all open batches and ends each; with closed set no others are opened.
func (b *Buffer) detachAll(closed bool, end func(*openBatch)) {
	b.mu.Lock()
	partitions := slices.Collect(maps.Values(b.partitions))
	b.mu.Unlock()
	for _, p := range partitions {
		for _, o := range p.detachAll(closed) {
			end(o)
		}
	}
}

// Close ends the buffer's goroutines and waits for them; calls that wait return
// ErrClosed. In memory mode what was not yet delivered is gone: Drain first, and
// deliver what Next returns. On disk it is there at the next Open. Closing again
// does nothing.
func (b *Buffer) Close() error {
	b.mu.Lock()
	again := b.closed
	if !again {
		b.draining, b.closed = true, true
		close(b.stop)
		b.stopWaiting()
	}
	b.space.notify()
	b.ready.notify()
	if b.spool != nil {
		b.spool.durable.notify()
	}
	b.mu.Unlock()

	b.sealers.Wait()
	b.detachAll(true, b.discard)
	if b.spool != nil && !again {
		return b.spool.close()
	}
	return nil
}
