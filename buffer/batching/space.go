package batching

import "context"

// Trim removes the part of the log whose records are all in sealed batches. With force set it
// begins a new log file for that.
func (b *Batches) Trim(force bool) {
	if b.opts.Spool == nil {
		return
	}
	needed := b.opts.Spool.Next() // read first: records appended from here on have higher numbers
	b.mu.Lock()
	for o := range b.open {
		needed = min(needed, o.from)
	}
	for o := range b.sealing {
		needed = min(needed, o.from)
	}
	for _, floor := range b.inflightAppends {
		needed = min(needed, floor)
	}
	needed = min(needed, b.replayFloor)
	idle := len(b.open)+len(b.sealing)+len(b.inflightAppends) == 0
	frozen := b.frozen
	b.mu.Unlock()
	if !frozen {
		b.opts.Spool.Trim(needed, force, idle)
	}
}

// SealOldest seals the open batch with the oldest record in the log. It returns false if none is open.
func (b *Batches) SealOldest(ctx context.Context) bool {
	oldest, _ := b.oldest()
	if oldest != nil {
		b.seal(ctx, oldest)
	}
	return oldest != nil
}

// oldest returns the open batch with the oldest record in the log; nil if none is open. frozen
// reports that sealing frees no space in the log.
func (b *Batches) oldest() (oldest *openBatch, frozen bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for o := range b.open {
		if oldest == nil || o.from < oldest.from {
			oldest = o
		}
	}
	return oldest, b.frozen
}

// Compact keeps the log short while much is appended: it seals the open batches whose
// few records keep the oldest log file from being removed.
func (b *Batches) Compact(ctx context.Context) {
	s := b.opts.Spool
	if !s.LogFileFull() {
		return
	}
	b.Trim(false)
	for ctx.Err() == nil {
		oldest, frozen := b.oldest()
		if frozen || oldest == nil || !s.LongLog(oldest.from) {
			return
		}
		b.seal(ctx, oldest)
	}
}

// SealLargest seals the open batch to seal for its memory: that with the largest product of
// size and time since its last use. Among many services it is a large one; while an old
// file is read in order it is a complete one. It returns false if none is open.
func (b *Batches) SealLargest(ctx context.Context) bool {
	b.mu.Lock()
	var victim *openBatch
	var most float64
	for o := range b.open {
		if score := float64(o.charged) * float64(b.tick-o.used+1); score > most {
			victim, most = o, score
		}
	}
	b.mu.Unlock()
	if victim != nil {
		b.seal(ctx, victim)
	}
	return victim != nil
}
