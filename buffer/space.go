package buffer

import (
	"context"
	"errors"

	"logstow/buffer/spool"
	"logstow/buffer/wal"
)

// waitForSpace waits until a chunk of size n fits on the disk. failed is nil before the first attempt
// to append it, later the error of the last one: the disk was full although it seemed to have space.
func (b *Buffer) waitForSpace(ctx context.Context, n spool.ChunkSize, failed error) error {
	s := b.spool
	if s == nil {
		return nil
	}
	b.batches.Compact(ctx)
	for {
		space := b.memory.Freed.Next()
		if err := b.waitError(ctx); err != nil {
			return err
		}
		full := failed
		if full == nil {
			full = s.HasSpace(n)
		} else {
			s.ForceSpaceCheck()
		}
		if full == nil {
			return nil
		}
		if !errors.Is(full, wal.ErrFull) {
			if errors.Is(full, ErrTooLarge) {
				return full
			}
			return b.failure.Set(full)
		}
		freed, err := b.makeSpace(ctx, failed != nil)
		if err != nil {
			return err
		}
		failed = nil
		if !freed {
			s.WarnFull(full)
			s.Wait(ctx.Done(), b.batches.Quitting(), space)
		}
	}
}

// waitError returns why waiting has to end, nil if it does not.
func (b *Buffer) waitError(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return b.batches.Err()
}

// makeSpace frees space on the disk without waiting for deliveries, and reports whether it freed
// any. With force set it seals a batch even if the log is short.
func (b *Buffer) makeSpace(ctx context.Context, force bool) (bool, error) {
	s := b.spool
	if s.DropRecycled() {
		return true, nil
	}
	queued := b.queue.Stats()
	open, size := b.batches.Stats().Open, s.LogSize()
	// The log is as large as the records; sealed they are a fraction of it.
	if force || size > s.Capacity()/4 || queued.Waiting+queued.Sending+queued.Expected == 0 {
		if b.batches.SealOldest(ctx) {
			b.batches.Trim(true)
			return true, nil
		}
	}
	if b.opts.OnFull == DropOldest && queued.Waiting > 0 {
		return true, b.queue.DropOldest()
	}
	if open == 0 && size > spool.SmallWrites {
		b.batches.Trim(true)
	}
	return s.LogSize() < size, nil
}

// reserveMemory waits until n more bytes fit and reserves them; it returns how many it
// reserved. If at most half of the memory is pending, it seals an open batch.
func (b *Buffer) reserveMemory(ctx context.Context, n int64) (int64, error) {
	// A chunk larger than the limit could never fit; it may exceed the limit.
	n = min(n, b.opts.Memory/4)
	for {
		freed := b.memory.Freed.Next()
		if err := b.waitError(ctx); err != nil {
			return 0, err
		}
		ok, pending := b.memory.TryReserve(n)
		if ok {
			return n, nil
		}
		mustWait := pending || b.opts.Once && b.queue.Waiting() >= b.opts.maxWaiting
		if !mustWait && b.batches.SealLargest(ctx) {
			continue
		}
		select {
		case <-ctx.Done():
		case <-b.failure.Failed():
		case <-freed:
		}
	}
}
