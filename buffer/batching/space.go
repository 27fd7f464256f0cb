package batching

import "context"

// Trim removes the part of the log whose records are all in sealed batches. With force set it
// begins a new log file for that.
func (b *Batches) Trim(force bool) { b.sealer.trim(force) }

// SealOldest seals the open batch with the oldest record in the log. It returns false if none is open.
func (b *Batches) SealOldest(ctx context.Context) bool {
	oldest, _ := b.open.oldest()
	if oldest != nil {
		b.seal(ctx, oldest)
	}
	return oldest != nil
}

// Compact keeps the log short while much is appended: it seals the open batches whose
// few records keep the oldest log file from being removed.
func (b *Batches) Compact(ctx context.Context) {
	s := b.opts.Spool
	if s.LogFileFull() {
		b.Trim(false)
	}
	for ctx.Err() == nil {
		oldest, frozen := b.open.oldest()
		if frozen || oldest == nil || !s.LongLog(oldest.from) {
			return
		}
		b.seal(ctx, oldest)
	}
}

// SealLargest seals the open batch that frees the most memory. It returns false if none is open.
func (b *Batches) SealLargest(ctx context.Context) bool {
	largest := b.open.largest()
	if largest != nil {
		b.seal(ctx, largest)
	}
	return largest != nil
}
