// Package batching holds the open batches of a buffer: it assigns each record to the batch of its
// service, class and bucket, writes it to the log of the spool first, and seals batches into the
// spool and the queue.
package batching

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"logstow/buffer/internal/wait"
	"logstow/buffer/spool"
	"logstow/buffer/wal"
	"logstow/record"
	"logstow/segment"
)

// Batches are the open batches: they assign each record to the batch of its service, class and
// bucket, and seal batches by size, age, bucket end and on demand. They are safe for concurrent use.
//
// Lock order: a partition's lock or that of the Batches, that of the sealer, that of the openSet, that
// of the Queue or the Memory.
type Batches struct {
	opts       Options
	compressor *segment.Compressor
	open       *openSet
	sealer     *sealer

	mu         sync.Mutex
	partitions map[string]*partition
	// draining is set by EndAppends: Append fails.
	draining bool
	stats    Stats // the counters only, without those of the sealer

	// stop ends sealLoop.
	stop     chan struct{}
	stopOnce sync.Once
	loop     sync.WaitGroup
}

// Stats is a snapshot of Batches.
type Stats struct {
	// Open is the number of open batches, Oldest is when the oldest of their records was appended;
	// zero if there is none.
	Open   int
	Oldest time.Time
	// Records, Late and Replayed count records, Failed and Unsealed batches.
	Records, Late, Replayed, Failed, Unsealed uint64
}

// New returns Batches without an open batch, and starts the goroutine that seals by age. With a
// Spool, Replay must be called once. Stop and then Close end the Batches.
func New(opts Options) *Batches {
	b := &Batches{
		opts:       opts,
		compressor: segment.NewCompressor(),
		open:       newOpenSet(&opts),
		partitions: map[string]*partition{},
		stop:       make(chan struct{}),
	}
	b.sealer = newSealer(&b.opts, b.open)
	b.loop.Go(b.sealLoop)
	return b
}

// Append adds the records of a checked chunk to batches. With a Spool it first writes records and
// positions to the log, as the entry of the returned LSN. size is that of Chunk.Check. reserved is how many
// bytes of Options.Memory the caller reserved for the chunk: Append releases them when the chunk's batches are
// charged. After [wal.ErrFull] nothing was appended.
func (b *Batches) Append(ctx context.Context, c Chunk, size spool.ChunkSize, reserved int64) (lsn wal.LSN, err error) {
	if c.Read == 0 {
		c.Read = b.opts.Now().UnixNano()
	}
	var encoded *encodedChunk // without a lock
	if c.Relayed == nil {
		encoded = encodeChunk(&b.opts, b.compressor, &c, size)
	} else if encoded, err = relay(&b.opts, b.compressor, &c); err != nil {
		b.opts.Memory.Release(reserved, 0)
		return 0, err
	}
	lsn, records, full, err := b.append(&c, encoded)
	b.opts.Memory.Release(reserved, 0)
	if err == nil && b.opts.Observe != nil && len(records) > 0 {
		b.opts.Observe(c.Service, c.Parse, records)
	}
	// The last blocks of full batches are compressed without a lock.
	for _, o := range full {
		b.sealer.sealDetached(ctx, o)
	}
	return lsn, err
}

// append appends a chunk, as blocks if encoded is not nil. records are the chunk's records with resolved times.
func (b *Batches) append(c *Chunk, encoded *encodedChunk) (lsn wal.LSN, records []record.Record, full []*openBatch, err error) {
	p, err := b.openPartition(c.Service)
	if err != nil {
		return 0, nil, nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0, nil, nil, wait.ErrClosed
	}
	var runs []run
	appended, late := len(c.Records), uint64(0)
	if c.Relayed != nil {
		appended = c.Relayed.count()
		runs = []run{{bucket: encoded.bucket, to: appended}}
	} else {
		runs = p.planRuns(c)
		late = p.countLate(c, runs)
		records = resolveTimes(c.Records, runs, c.Read)
		if !encoded.fits(runs) {
			encoded = nil
		}
	}
	first, lsn, err := b.writeLog(c, runs, records, encoded)
	if err != nil {
		return 0, nil, nil, err
	}
	if encoded != nil {
		full, err = p.applyBlocks(encoded, first)
	} else {
		full, err = p.apply(records, runs, first)
	}
	b.open.endAppend(c.Service)
	if err != nil {
		if b.opts.Spool != nil { // the log has records that are missing in the batches
			err = b.opts.Failure.Set(err)
		}
		return 0, nil, full, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stats.Records += uint64(appended)
	b.stats.Late += late
	return lsn, records, full, nil
}

// writeLog writes a chunk to the log, if there is a log: as blocks if encoded is not nil. After success
// openSet.endAppend must be called when the records are in their batches. The partition's lock is held.
func (b *Batches) writeLog(c *Chunk, runs []run, records []record.Record, encoded *encodedChunk) (first uint64, lsn wal.LSN, err error) {
	s := b.opts.Spool
	if s == nil {
		return 0, 0, nil
	}
	b.open.beginAppend(c.Service, s.Next())
	e := wal.Records{Service: c.Service, Class: c.Class, Parse: c.Parse, Runs: make([]wal.Run, 0, len(runs)), Positions: c.Positions}
	for _, r := range runs {
		e.Runs = append(e.Runs, wal.Run{Start: r.bucket.start, Width: r.bucket.width, Count: r.to - r.from})
	}
	if encoded != nil {
		e.Blocks, e.Instance = encoded.stored(), encoded.instance
	} else {
		e.Records = records
	}
	if first, lsn, err = s.Append(e); err != nil {
		b.open.endAppend(c.Service)
	}
	return first, lsn, err
}

// openPartition returns the partition of a service. The error is that of Err if records are not accepted.
func (b *Batches) openPartition(service string) (*partition, error) {
	if err := b.opts.Failure.Err(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.draining {
		return nil, wait.ErrClosed
	}
	return b.partition(service), nil
}

// Err returns nil as long as records are accepted, then the final error, or [wait.ErrClosed] after
// EndAppends or Stop.
func (b *Batches) Err() error {
	if err := b.opts.Failure.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.draining {
		return wait.ErrClosed
	}
	return nil
}

// partition returns the partition of a service, and makes it if there is none. mu is held.
func (b *Batches) partition(service string) *partition {
	p := b.partitions[service]
	if p == nil {
		p = &partition{opts: &b.opts, compressor: b.compressor, set: b.open, service: service, open: map[bucket]*openBatch{}}
		b.partitions[service] = p
	}
	return p
}

// seal detaches and seals a batch, unless another goroutine has detached it. It waits until
// the batch is queued or ctx ends.
func (b *Batches) seal(ctx context.Context, o *openBatch) {
	b.mu.Lock()
	p := b.partitions[o.service]
	b.mu.Unlock()
	if p.detachOne(o) {
		b.sealer.sealDetached(ctx, o)
	}
}

// sealLoop seals open batches by age and bucket end until Stop.
func (b *Batches) sealLoop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-b.stop:
			return
		case <-b.open.wake:
		case <-timer.C:
		}
		for _, o := range b.open.due() {
			b.seal(context.Background(), o) // Stop ends the wait
		}
		at := b.open.nextDue()
		if at.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(at.Sub(b.opts.Now()))
		}
	}
}

// SetFlushIntervals changes Options.FlushInterval and Options.MaxFlushInterval, also of the open batches.
func (b *Batches) SetFlushIntervals(interval, maximum time.Duration) {
	b.open.setFlushIntervals(interval, maximum)
}

// SetFollowed sets whether a service is followed: then MaxFlushInterval does not apply to it.
func (b *Batches) SetFollowed(service string, followed bool) { b.open.setFollowed(service, followed) }

// SealAll seals all records that were appended before the call. On a full disk it waits until
// deliveries free space, or ctx ends.
func (b *Batches) SealAll(ctx context.Context) {
	b.detachAll(false, func(o *openBatch) { b.sealer.sealDetached(ctx, o) })
}

// SealService is SealAll of one service; it returns the number of batches.
func (b *Batches) SealService(ctx context.Context, service string) (batches int) {
	b.mu.Lock()
	p := b.partitions[service]
	b.mu.Unlock()
	if p == nil {
		return 0
	}
	detached := p.detachAll(false)
	for _, o := range detached {
		b.sealer.sealDetached(ctx, o)
	}
	return len(detached)
}

// Services returns the services that have had records, in order of name.
func (b *Batches) Services() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := slices.Sorted(maps.Keys(b.partitions))
	return slices.DeleteFunc(all, func(service string) bool { return service == "" }) // that of positions without records
}

// Oldest returns when the oldest unsealed record of a service was appended; zero if there is none.
func (b *Batches) Oldest(service string) time.Time { return b.open.oldestOf(service) }

// OldestSeq returns a lower bound of the Seqs of batches that are not in the queue yet.
func (b *Batches) OldestSeq() int64 { return b.open.oldestSeq() }

// EndAppends makes later calls of Append fail with [wait.ErrClosed].
func (b *Batches) EndAppends() {
	b.mu.Lock()
	b.draining = true
	b.mu.Unlock()
	b.opts.Memory.Freed.Notify()
}

// Drain seals everything after EndAppends. On a full disk it waits until deliveries free space, or Quit
// is called.
func (b *Batches) Drain(ctx context.Context) {
	b.detachAll(true, func(o *openBatch) { b.sealer.sealDetached(ctx, o) })
}

// Quit ends all waits for space. Records that are not sealed stay in the log for the next process.
func (b *Batches) Quit() { b.sealer.endWaiting() }

// Quitting returns a channel that Quit closes.
func (b *Batches) Quitting() <-chan struct{} { return b.sealer.quit }

// detachAll detaches all open batches and calls end with each. With closePartitions set no other batches are opened.
func (b *Batches) detachAll(closePartitions bool, end func(*openBatch)) {
	b.mu.Lock()
	partitions := slices.Collect(maps.Values(b.partitions))
	b.mu.Unlock()
	for _, p := range partitions {
		for _, o := range p.detachAll(closePartitions) {
			end(o)
		}
	}
}

// Stop ends appends, sealing in the background and all waits for space; Close must follow. A second
// Stop does nothing.
func (b *Batches) Stop() {
	b.EndAppends()
	b.sealer.stop()
	b.stopOnce.Do(func() { close(b.stop) })
}

// Close waits for the goroutines of the Batches after Stop, and drops the open batches. It reports
// whether all records of the log are in sealed batches.
func (b *Batches) Close() (empty bool) {
	b.loop.Wait()
	b.sealer.running.Wait()
	empty = b.open.empty()
	b.detachAll(true, b.sealer.discard)
	return empty
}

// Stats returns a snapshot of the batches.
func (b *Batches) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.stats
	failed, unsealed := b.sealer.counts()
	s.Failed += failed
	s.Unsealed += unsealed
	s.Open, s.Oldest = b.open.count()
	return s
}
