package buffer

import (
	"context"
)

// memory counts bytes against Options.Memory.
type memory struct {
	limit int64
	// used is the total of open batches, sealed batches and chunks being appended;
	// pending is the part of it that is being sealed or delivered, and becomes free without
	// sealing anything else.
	used, pending int64
}

// reserveMemory waits until n more bytes fit and reserves them; it returns how many it
// reserved. If at most half of the memory is pending, it seals an open batch.
func (b *Buffer) reserveMemory(ctx context.Context, n int64) (int64, error) {
	// A chunk larger than the limit could never fit; it may exceed the limit.
	n = min(n, b.opts.Memory/4)
	for {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		var victim *openBatch
		b.mu.Lock()
		if b.failed != nil {
			b.mu.Unlock()
			return 0, b.failed
		}
		if b.draining {
			b.mu.Unlock()
			return 0, ErrClosed
		}
		if b.memory.used+n <= b.memory.limit || b.memory.used == 0 {
			b.memory.used += n
			b.mu.Unlock()
			return n, nil
		}
		if b.memory.pending <= b.memory.limit/2 {
			victim = b.victim()
		}
		space := b.space.wait()
		b.mu.Unlock()

		if victim != nil {
			b.seal(ctx, victim)
			continue
		}
		select {
		case <-ctx.Done():
		case <-space:
		}
	}
}

func (b *Buffer) releaseMemory(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.memory.used -= n
	b.space.notify()
}

// victim returns the open batch to seal for its memory: that with the largest product of
// size and time since its last use. Among many services it is a large one; while an old
// file is read in order it is a complete one. b.mu is held.
func (b *Buffer) victim() *openBatch {
	var victim *openBatch
	var most float64
	for o := range b.open {
		if score := float64(o.charged) * float64(b.tick-o.used+1); score > most {
			victim, most = o, score
		}
	}
	return victim
}

// charge updates the memory that a batch is charged for, and its last use.
func (b *Buffer) charge(o *openBatch) {
	cost := o.cost()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.memory.used += cost - o.charged
	o.charged = cost
	b.tick++
	o.used = b.tick
}

// releaseBatch reduces what a sealed batch is charged for to n bytes. b.mu is held.
func (b *Buffer) releaseBatch(batch *Batch, n int64) {
	b.memory.used -= batch.charged - n
	b.memory.pending -= batch.charged - n
	batch.charged = n
	b.space.notify()
}

// broadcast wakes all waiting goroutines. The Buffer's lock guards it.
type broadcast struct {
	ch chan struct{}
}

// wait returns a channel that the next notify closes.
func (w *broadcast) wait() <-chan struct{} {
	if w.ch == nil {
		w.ch = make(chan struct{})
	}
	return w.ch
}

func (w *broadcast) notify() {
	if w.ch != nil {
		close(w.ch)
		w.ch = nil
	}
}
