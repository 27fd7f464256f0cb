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
//
// The parts are packages that call in one direction: batching (open batches) writes to the spool
// (the directory: log, positions, sealed batches) and puts into the queue (sealed batches for the
// uploader). This package waits for space and memory, and decides what to seal for it. A buffer in
// memory has no spool. What reads or changes the directory of a buffer that no process has open is in
// package spool, which its callers import themselves.
package buffer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"syscall"
	"time"

	"logstow/buffer/batching"
	"logstow/buffer/disk"
	"logstow/buffer/internal/wait"
	"logstow/buffer/queue"
	"logstow/buffer/spool"
	"logstow/buffer/unindexed"
	"logstow/buffer/wal"
	"logstow/internal/fsutil"
	"logstow/internal/hint"
)

// ErrClosed is returned by Append after Drain or Close, and by Next after Close.
var ErrClosed = wait.ErrClosed

// Buffer is a buffer in memory or, where Options.Dir is set, on disk. It is safe for concurrent use.
type Buffer struct {
	opts    Options
	failure *wait.Failure
	memory  *wait.Memory
	// spool is what is on disk; nil in memory mode.
	spool *spool.Spool
	// files is the file system of the spool.
	files   *disk.Patient
	batches *batching.Batches
	queue   *queue.Queue
	// entities are the index entities of stored batches.
	entities *unindexed.Entities
	// quarantined is how many batches Open quarantined.
	quarantined uint64

	// replayed is closed when the replay of the log has ended, with or without an error. Close closes stop.
	replayed, stop chan struct{}
	loops          sync.WaitGroup

	idMu sync.Mutex // held while ID draws one

	mu     sync.Mutex
	closed bool
	// lsn and positions are those of a buffer in memory.
	lsn       LSN
	positions wal.Positions
}

// Open starts a buffer and, where Options.Dir is set, recovers what an earlier process
// left there: sealed batches and all positions are available at once; records of the log
// are replayed into batches in the background, and Append waits for that. ctx ends
// Open, not the buffer. The error is [ErrLocked] if another process has the directory open,
// and [ErrSmallDisk] if its disk is smaller than [MinDisk]. Close ends the buffer.
func Open(ctx context.Context, opts Options) (*Buffer, error) {
	b, err := newBuffer(ctx, opts)
	if err != nil {
		return nil, err
	}
	if b.spool == nil {
		close(b.replayed)
		return b, nil
	}
	b.loops.Go(func() {
		defer close(b.replayed)
		b.batches.Replay()
	})
	b.loops.Go(b.syncLoop)
	b.loops.Go(b.spool.WatchLock)
	return b, nil
}

// newBuffer is Open without replaying and syncing the log.
func newBuffer(ctx context.Context, opts Options) (*Buffer, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("cannot open buffer: %w", err)
	}
	b := &Buffer{
		opts:      opts,
		failure:   wait.NewFailure(),
		memory:    wait.NewMemory(opts.Memory),
		files:     disk.NewPatient(opts.fs, opts.Log),
		positions: wal.Positions{},
		replayed:  make(chan struct{}),
		stop:      make(chan struct{}),
	}
	var found spool.Recovered
	if opts.Dir != "" {
		if b.spool, found, err = spool.Open(ctx, b.spoolOptions()); err != nil {
			err = fmt.Errorf("cannot open buffer %s: %w", opts.Dir, err)
			switch {
			case errors.Is(err, fs.ErrPermission):
				err = hint.Wrap(err, "give this user write access to the directory, or give another one with --buffer-dir")
			case errors.Is(err, syscall.EISDIR), errors.Is(err, fsutil.ErrNotRegular):
				err = hint.Wrap(err, "move it elsewhere: it has the name of a file of the buffer")
			}
			return nil, err
		}
	}
	if b.spool != nil {
		b.entities = b.spool.Entities()
	} else if b.entities, err = unindexed.Open(ctx, unindexed.Options{Limit: opts.MaxUnindexed, Log: opts.Log, Failure: b.failure}); err != nil {
		return nil, err
	}
	b.queue = queue.New(b.memory, b.entities, b.failure, opts.Log)
	b.quarantined = uint64(found.Quarantined)
	for _, s := range found.Batches {
		item := queue.NewItem(s.Key, s.Meta, s.Size, s.First, s, 0)
		item.Recovered = true
		b.queue.Expect()
		b.queue.Put(item)
	}
	b.batches = batching.New(b.batchingOptions(found.Seq))
	b.files.Begin() // before, an error ends Open
	return b, nil
}

// spoolOptions returns the options of the spool.
func (b *Buffer) spoolOptions() spool.Options {
	o := &b.opts
	return spool.Options{
		Dir:             o.Dir,
		Instance:        o.Instance,
		TakenOverBy:     o.TakenOverBy,
		FS:              b.files,
		FlushSize:       o.FlushSize,
		MaxSize:         o.MaxSize,
		RetryInterval:   o.fullRetryInterval,
		OnLostPositions: o.OnLostPositions,
		MaxUnindexed:    o.MaxUnindexed,
		Now:             o.Now,
		Log:             o.Log,
		Failure:         b.failure,
	}
}

// batchingOptions returns the options of the open batches. seq is the highest Seq so far.
func (b *Buffer) batchingOptions(seq int64) batching.Options {
	o := &b.opts
	return batching.Options{
		Instance:         o.Instance,
		Width:            o.Width,
		FlushSize:        o.FlushSize,
		FlushInterval:    o.FlushInterval,
		MaxFlushInterval: o.MaxFlushInterval,
		MaxOpen:          o.MaxOpen,
		MaxLateness:      o.MaxLateness,
		Once:             o.Once,
		NoFilter:         o.NoFilter,
		Columns:          o.columns(),
		Observe:          o.Observe,
		Now:              o.Now,
		Log:              o.Log,
		Spool:            b.spool,
		Queue:            b.queue,
		Memory:           b.memory,
		Failure:          b.failure,
		Seq:              seq,
	}
}

// syncLoop syncs the log at the interval, and retries what failed on a full disk, until the buffer closes.
func (b *Buffer) syncLoop() {
	interval := time.Duration(b.opts.Sync)
	if interval <= 0 {
		interval = time.Second
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-b.stop:
			return
		case <-ticker.C:
		}
		if err := b.spool.Maintain(interval, b.opts.Sync != SyncNever); err != nil {
			return
		}
		b.batches.Trim(false)
		if err := b.spool.RestoreReserve(); err != nil {
			b.opts.Log.Error("cannot reserve space on the buffer's disk", "error", b.failure.Set(err))
			return
		}
	}
}

// Batch is a sealed batch on its way to storage.
type Batch = queue.Batch

// Unindexed returns the index entities of stored batches that wait for the index.
func (b *Buffer) Unindexed() *unindexed.Entities { return b.entities }

// Next waits for a sealed batch and hands it to the caller, which calls Batch.Load first and
// Batch.Done, Batch.Return or Batch.Quarantine last. The oldest comes first; in a backlog
// every fourth is the newest. Next may be called concurrently. After Drain it returns
// io.EOF when no batch waits, even if batches are in flight: a caller that returns one of
// those calls Next again.
func (b *Buffer) Next(ctx context.Context) (*Batch, error) { return b.queue.Next(ctx) }

// SetFlushIntervals changes Options.FlushInterval and Options.MaxFlushInterval, also of the batches that are open.
func (b *Buffer) SetFlushIntervals(interval, maximum time.Duration) {
	b.batches.SetFlushIntervals(interval, maximum)
}

// SetFollowed sets whether a service is followed: then MaxFlushInterval does not apply to it.
func (b *Buffer) SetFollowed(service string, followed bool) { b.batches.SetFollowed(service, followed) }

// Err is the final error, after which Append and Next fail; nil if there is none.
func (b *Buffer) Err() error { return b.failure.Err() }

// Position returns the last position committed for an input. The bytes must not be changed.
func (b *Buffer) Position(input string) ([]byte, bool) {
	if b.spool != nil {
		return b.spool.Position(input)
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
		return b.spool.Positions(prefix)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.positions.WithPrefix(prefix)
}

// LostPositions returns the policy that was applied when positions were lost, until
// [Buffer.PositionsRestored], across restarts; UndecidedLost if no positions are lost.
func (b *Buffer) LostPositions() LostPositions {
	if b.spool == nil {
		return UndecidedLost
	}
	return b.spool.LostPositions()
}

// InQuarantine is the number of files in the quarantine at present; 0 in memory mode.
func (b *Buffer) InQuarantine() int {
	if b.spool == nil {
		return 0
	}
	return b.spool.InQuarantine()
}

// Drain seals everything; later calls of Append fail with ErrClosed. On a full disk
// it waits until deliveries free space. When ctx ends, the records of batches that could
// not be sealed stay in the log for the next process; Stats.Unsealed counts those batches.
func (b *Buffer) Drain(ctx context.Context) {
	b.batches.EndAppends()
	stop := context.AfterFunc(ctx, func() {
		b.batches.Quit()
		b.files.End()
	})
	defer stop()

	<-b.replayed
	b.batches.Drain(context.WithoutCancel(ctx))
	b.queue.End()
}

// Close ends the buffer's goroutines and waits for them; waiting calls return
// ErrClosed. In memory mode everything undelivered is lost: to prevent that, call Drain
// and deliver what Next returns. On disk it is recovered by the next Open. A second
// Close does nothing.
func (b *Buffer) Close() error {
	b.mu.Lock()
	again := b.closed
	b.closed = true
	b.mu.Unlock()
	if !again {
		close(b.stop)
	}
	b.files.End()
	b.batches.Stop()
	b.queue.Close()
	if b.spool != nil {
		b.spool.Stop()
	}
	b.loops.Wait()
	empty := b.batches.Close()
	if b.spool == nil || again {
		return nil
	}
	st := b.queue.Stats()
	return b.spool.Close(empty && st.Waiting+st.Sending == 0)
}
