package ship

import (
	"context"
	"errors"
	"fmt"
	"time"

	"logstow/blobnaming"
	"logstow/buffer"
	"logstow/store"
	"logstow/tableindex"
)

// indexer collects stored batches and writes their rows in groups.
type indexer struct {
	s       *Shipper
	pending []*buffer.Batch
	// due is when the pending rows are to be written; while writing fails it is the next try.
	due time.Time
	// began is when writing began to fail, after failures tries.
	began    time.Time
	failures int
	// shed says that unindexed batches were given up since the last success.
	shed bool
}

// writeIndex writes the rows of the batches that workers stored, until they end
// and all is written, or ctx ends, or it gives up (see [Options].RetryFor).
func (s *Shipper) writeIndex(ctx context.Context) error {
	x := &indexer{s: s}
	defer x.giveBack()
	timer := time.NewTimer(0)
	defer timer.Stop()
	incoming := s.index
	for incoming != nil || len(x.pending) > 0 {
		var due <-chan time.Time
		if len(x.pending) > 0 {
			timer.Reset(time.Until(x.due))
			due = timer.C
		}
		select {
		case b, ok := <-incoming:
			if !ok {
				incoming = nil
				x.hurry()
				continue
			}
			if err := x.add(b); err != nil {
				return err
			}
		case <-due:
			if err := x.write(ctx); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// hurry makes the rows due now, unless writing fails.
func (x *indexer) hurry() {
	if x.failures == 0 {
		x.due = time.Now()
	}
}

// add takes a batch in.
func (x *indexer) add(b *buffer.Batch) error {
	if len(x.pending) == 0 && x.failures == 0 {
		x.due = time.Now().Add(x.s.opts.IndexWait)
	}
	x.pending = append(x.pending, b)
	if len(x.pending) >= x.s.opts.IndexGroup {
		x.hurry()
	}
	if len(x.pending) <= x.s.opts.MaxUnindexed {
		return nil
	}
	if !x.shed {
		x.shed = true
		x.s.opts.Log.Error("too many segments wait for the index: the oldest stay without a row; they are stored and found by listing, and shipper reindex adds them",
			"store", x.s.opts.Store.String(), "waiting", x.s.opts.MaxUnindexed)
	}
	oldest := x.pending[0]
	x.pending = x.pending[1:]
	return x.without(oldest)
}

// without acknowledges a batch that is stored but gets no row.
func (x *indexer) without(b *buffer.Batch) error {
	x.s.count(func(st *Stats) { st.Unindexed++ })
	return b.Done()
}

// write tries to write all pending rows. What it returns ends the run.
func (x *indexer) write(ctx context.Context) error {
	err := x.put(ctx, x.pending)
	if err == nil {
		x.s.indexTrouble.over()
		x.failures, x.began, x.shed = 0, time.Time{}, false
		return x.acknowledge()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	// One row may be at fault, or one day's table busy: the others go on.
	if errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrTableBusy) {
		if done, err := x.writeEach(ctx); done || err != nil {
			return err
		}
	}
	now := time.Now()
	x.failures++
	if x.failures == 1 {
		x.began = now
	}
	wait := x.s.opts.Backoff.wait(x.failures, err, x.s.opts.Random)
	if limit := x.s.opts.RetryFor; limit > 0 {
		left := limit - now.Sub(x.began)
		switch {
		case wantsHelp(err):
			return fmt.Errorf("all segments are stored, but not in the index: %w", err)
		case left <= 0:
			return fmt.Errorf("all segments are stored, but not in the index: gave up after %v: %w", limit, err)
		}
		wait = min(wait, left)
	}
	x.s.indexTrouble.met(err, wait)
	x.due = now.Add(wait)
	return nil
}

// writeEach writes row by row. Rows that storage refuses as invalid stay out of
// the index; it reports whether nothing is left to be written.
func (x *indexer) writeEach(ctx context.Context) (done bool, err error) {
	var left []*buffer.Batch
	for _, b := range x.pending {
		err := x.put(ctx, []*buffer.Batch{b})
		switch {
		case errors.Is(err, store.ErrInvalid):
			x.s.opts.Log.Error("the index does not take a segment's row; it is stored and found by listing", "blob", b.Name(), "error", err)
			err = x.without(b)
		case err == nil:
			err = b.Done()
		default:
			left = append(left, b)
			err = nil
		}
		if err != nil {
			return false, err
		}
	}
	x.pending = left
	return len(left) == 0, nil
}

// put writes the rows of batches.
func (x *indexer) put(ctx context.Context, batches []*buffer.Batch) error {
	rows := make([]tableindex.Row, 0, len(batches))
	for _, b := range batches {
		name, err := blobnaming.Parse(b.Name())
		if err != nil {
			return err
		}
		etag, _ := b.Stored()
		rows = append(rows, tableindex.Row{Name: name, Meta: b.Meta, ETag: etag, Size: b.Size, Minutes: b.Minutes})
	}
	return tableindex.Put(ctx, x.s.tables, x.s.opts.Store.Container(), rows)
}

// acknowledge removes all pending batches from the buffer.
func (x *indexer) acknowledge() error {
	for len(x.pending) > 0 {
		b := x.pending[0]
		x.pending = x.pending[1:]
		if err := b.Done(); err != nil {
			return err
		}
	}
	x.pending = nil
	return nil
}

// giveBack returns what is not done to the buffer.
func (x *indexer) giveBack() {
	for _, b := range x.pending {
		b.Return()
	}
	for b := range x.s.index { // workers may have sent some that nobody took
		b.Return()
	}
}
