package buffer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"logstow/buffer/wal"
)

// Append adds a chunk and copies what it keeps of it. It waits while the buffer is
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
	n, err := c.Check()
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
		reserved, err := b.reserveMemory(ctx, 2*n.Total)
		if err != nil {
			return 0, err
		}
		lsn, err := b.batches.Append(ctx, c, n, reserved)
		switch {
		case err == nil && b.spool == nil:
			return b.commit(c.Positions), nil
		case err == nil && b.opts.Sync == SyncAlways:
			return lsn, b.spool.Sync(lsn)
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
	case <-b.batches.Quitting():
		return ErrClosed
	}
}

// commit commits positions in memory and returns their LSN.
func (b *Buffer) commit(positions []Position) LSN {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.positions.Apply(positions)
	b.lsn++
	return b.lsn
}

// Synced waits until everything up to lsn is as durable as the buffer's mode makes
// it; in memory and with SyncNever it returns at once. It does not wait for the sync
// interval: it syncs after a short delay, in which concurrent calls share one sync.
func (b *Buffer) Synced(ctx context.Context, lsn LSN) error {
	if b.spool == nil || b.opts.Sync == SyncNever {
		return nil
	}
	return b.spool.Synced(ctx, lsn)
}

// PositionsRestored must be called after positions were lost, when all inputs have committed
// new ones.
func (b *Buffer) PositionsRestored(ctx context.Context) error {
	if b.LostPositions() == UndecidedLost {
		return nil
	}
	_, err := b.Append(ctx, Chunk{Positions: []Position{wal.RestoredPosition()}})
	return err
}

// Services are the services that have had records since Open, in order of name.
func (b *Buffer) Services() []string { return b.batches.Services() }

// FlushService seals the records of one service that were appended before the call, and returns the number of batches.
// On a full disk it waits as Flush does.
func (b *Buffer) FlushService(ctx context.Context, service string) (batches int) {
	if b.waitReplayed(ctx) != nil {
		return 0
	}
	return b.batches.SealService(ctx, service)
}

// WaitStored waits until storage has every record of a service that was appended before a time. The index may not have
// them yet. It seals nothing. If ctx ends, the error is its cause.
func (b *Buffer) WaitStored(ctx context.Context, service string, before time.Time) error {
	for {
		changed := b.queue.Stored.Next()
		oldest := b.batches.Oldest(service) // read first: a batch is put into the queue before it counts as sealed
		if oldest.IsZero() || !oldest.Before(before) {
			oldest = b.queue.OldestUnstored(service)
		}
		if oldest.IsZero() || !oldest.Before(before) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Flush seals everything that was appended before the call. On a full disk it
// waits until deliveries free space, or ctx ends.
func (b *Buffer) Flush(ctx context.Context) {
	if b.waitReplayed(ctx) == nil {
		b.batches.SealAll(ctx)
	}
}
