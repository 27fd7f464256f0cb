// Package buffer holds records between the inputs and storage: it assigns each
// record to the open batch of its service and bucket, seals batches by size,
// age, bucket end and memory, and keeps sealed batches until they are
// acknowledged. One call appends records and commits the positions of the inputs
// that they came from, so that the two always agree.
//
// A record goes to the batch of its service, class and bucket, by its own time.
// At most one batch of each is open at a time. A batch gets its Seq when it
// stops accepting records, so batches of one bucket are ordered by Seq as their
// records were appended.
package buffer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"logstow/buffer/wal"
	"logstow/segment"
)

// ErrClosed is returned by Append after Drain or Close, and by Next after Close.
var ErrClosed = errors.New("buffer is closed")

// Buffer is a buffer in memory or, where Options.Dir is set, on disk. It is safe for concurrent use.
type Buffer struct {
	opts       Options
	compressor *segment.Compressor

	mu         sync.Mutex
	partitions map[string]*partition
	open       map[*openBatch]struct{}
	positions  wal.Positions // in memory mode; on disk the log has them
	memory     memory
	queue      queue
	stats      Stats // the counters only
	lsn        LSN
	seq        int64
	// tick counts uses of open batches; victim compares batches by it.
	tick uint64
	// sealing are the batches that accept no more records and are not queued yet.
	sealing map[*openBatch]struct{}
	// inflightAppends are the partitions that are appending, each with a lower bound of the
	// numbers of the records that it writes to the log.
	inflightAppends map[*partition]uint64
	// failed is the final error: after it nothing is accepted.
	failed error
	// spool is what is on disk; nil in memory mode.
	spool *spool
	// draining: Append fails. drained: all records are also sealed, or left in the log
	// to the next process.
	draining, drained, closed bool
	// quit is closed to end all waiting for space, replayed when the replay of the
	// log has ended, completely or not.
	quit, replayed chan struct{}
	quitOnce       sync.Once
	// wakeAt is when sealLoop runs next; zero is never.
	wakeAt time.Time

	// space is notified when memory or disk space became free, ready when Next may find a batch.
	space, ready broadcast

	wake    chan struct{}
	stop    chan struct{}
	sealers sync.WaitGroup
}

// Open starts a buffer and, where Options.Dir is set, recovers what an earlier process
// left there: sealed batches and all positions are available at once; records of the log
// are replayed into batches in the background, and Append waits for that. ctx ends
// Open, not the buffer. The error is [ErrLocked] if another process has the directory open,
// and [ErrSmallDisk] if its disk is smaller than [MinDisk]. Close ends the buffer.
func Open(ctx context.Context, opts Options) (*Buffer, error) {
	b, err := newBuffer(opts)
	if err != nil {
		return nil, fmt.Errorf("cannot open buffer: %w", err)
	}
	if opts.Dir == "" {
		close(b.replayed)
	} else {
		if err := b.openSpool(ctx); err != nil {
			return nil, fmt.Errorf("cannot open buffer %s: %w", opts.Dir, err)
		}
		b.sealers.Go(b.spool.replay)
		b.sealers.Go(b.spool.syncLoop)
		b.sealers.Go(b.spool.watchLock)
	}
	b.sealers.Go(b.sealLoop)
	return b, nil
}

// newBuffer makes a buffer without starting its goroutines.
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
		positions:       wal.Positions{},
		memory:          memory{limit: opts.Memory},
		queue:           queue{inflight: map[*Batch]struct{}{}},
		wake:            make(chan struct{}, 1),
		stop:            make(chan struct{}),
		quit:            make(chan struct{}),
		replayed:        make(chan struct{}),
	}, nil
}

// Append adds a chunk, copying what it retains. It waits while the buffer is
// full. If the error is nil, the chunk's records will be in batches exactly once,
// in the order appended, and its positions are committed. Append may be called
// concurrently; a caller that needs the order of a source's chunks appends them
// one after the other.
func (b *Buffer) Append(ctx context.Context, c Chunk) (LSN, error) {
	lsn, err := b.append(ctx, c)
	if err != nil {
		return 0, fmt.Errorf("cannot append to buffer: %w", err)
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
		// The last blocks of full batches are compressed without a lock.
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

// waitReplayed waits until the log is replayed, so that new records follow the replayed ones.
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
		if b.spool != nil { // the log has records that are missing in the batches
			err = b.fail(err)
		}
		return 0, full, err
	}
	return b.commit(c, late, reserved, entry), full, nil
}

// commit commits a chunk's positions and returns its LSN.
func (b *Buffer) commit(c *Chunk, late uint64, reserved int64, entry uint64) LSN {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spool == nil {
		b.positions.Apply(c.Positions)
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

// openPartition returns the partition of a service, as long as the buffer accepts records.
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

// partition returns the partition of a service, and makes it if there is none. b.mu is held.
func (b *Buffer) partition(service string) *partition {
	p := b.partitions[service]
	if p == nil {
		p = &partition{buf: b, service: service, open: map[bucket]*openBatch{}}
		b.partitions[service] = p
	}
	return p
}

// groupCommitDelay is how long a call of Synced waits for others to share its sync with.
const groupCommitDelay = 10 * time.Millisecond

// Synced waits until everything up to lsn is as durable as the buffer's mode makes
// it; in memory and with SyncNever it returns at once. It does not wait for the sync
// interval: it syncs after a short delay, in which concurrent calls share one sync.
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

// fail makes a non-nil error final, as memory and disk may differ after it; the next
// process recovers from what is on disk. It returns the error.
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

// Err is the final error, after which Append and Next fail; nil if there is none.
func (b *Buffer) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

// Position returns the last position committed for an input. The bytes must not be changed.
func (b *Buffer) Position(input string) ([]byte, bool) {
	if b.spool != nil {
		return b.spool.log.Position(input)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	v, ok := b.positions[input]
	return v, ok
}

// Positions returns the last committed positions of all inputs whose names start with
// prefix, in order of name. The values must not be changed.
func (b *Buffer) Positions(prefix string) []Position {
	if b.spool != nil {
		return b.spool.log.Positions(prefix)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.positions.WithPrefix(prefix)
}

// Flush seals everything that was appended before the call. On a full disk it
// waits until deliveries free space, or ctx ends.
func (b *Buffer) Flush(ctx context.Context) {
	if b.waitReplayed(ctx) == nil {
		b.detachAll(false, func(o *openBatch) { b.sealDetached(ctx, o) })
	}
}

// Drain seals everything; later calls of Append fail with ErrClosed. On a full disk
// it waits until deliveries free space. When ctx ends, the records of batches that could
// not be sealed stay in the log for the next process; Stats.Unsealed counts those batches.
func (b *Buffer) Drain(ctx context.Context) {
	b.mu.Lock()
	b.draining = true
	b.space.notify()
	b.mu.Unlock()
	stop := context.AfterFunc(ctx, b.stopWaiting)
	defer stop()

	<-b.replayed
	b.detachAll(true, func(o *openBatch) { b.sealDetached(context.WithoutCancel(ctx), o) })

	b.mu.Lock()
	defer b.mu.Unlock()
	b.drained = true
	b.ready.notify()
}

// stopWaiting ends all waiting for space: unsealed records are left in the log for the next process.
func (b *Buffer) stopWaiting() {
	b.quitOnce.Do(func() { close(b.quit) })
}

// detachAll detaches all open batches and calls end with each; with closed set no others are opened.
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

// Close ends the buffer's goroutines and waits for them; waiting calls return
// ErrClosed. In memory mode everything undelivered is lost: to prevent that, call Drain
// and deliver what Next returns. On disk it is recovered by the next Open. A second
// Close does nothing.
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
