package upload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"logstow/blobnaming"
	"logstow/buffer"
	"logstow/internal/crashpoint"
	"logstow/store"
	"logstow/tableindex"
)

// maxIndexGroup is the maximum number of entities that are written before their batches are acknowledged.
const maxIndexGroup = 10 * store.MaxTransaction

// spacePollInterval is how often the indexer checks whether the buffer waits for space held by
// unindexed batches.
const spacePollInterval = 100 * time.Millisecond

// indexer collects stored batches and writes their entities in groups. It collects while it writes, so
// that a slow index does not delay blobs.
type indexer struct {
	u *Uploader
	d *destination
	// pending are the waiting batches, oldest first; group are those being written, nil if there are none.
	pending, group []*buffer.Batch
	// due is the time of the next write; after a failure, of the next attempt.
	due time.Time
	// began is when writing began to fail, failures the number of failed attempts since.
	began    time.Time
	failures int
	// ending is set when the channel of incoming batches is closed.
	ending bool
	// dropping is set if unindexed batches were dropped since the last success.
	dropping bool
}

// writeIndex writes the entities of incoming batches until the channel is closed and all are
// written, ctx ends, or it gives up (see [Options].RetryFor). It requeues what is not written.
func (r *run) writeIndex(ctx context.Context, d *destination, incoming <-chan *buffer.Batch) error {
	x := &indexer{u: r.u, d: d}
	more := incoming
	written := make(chan outcome, 1)
	defer func() {
		if x.group != nil { // writing ends with ctx
			x.group = (<-written).left
		}
		for _, b := range append(x.group, x.pending...) {
			r.requeue(b)
		}
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for more != nil || len(x.pending)+len(x.group) > 0 {
		var due <-chan time.Time
		if len(x.pending) > 0 && x.group == nil {
			timer.Reset(min(time.Until(x.due), spacePollInterval))
			due = timer.C
		}
		select {
		case b, ok := <-more:
			if !ok {
				more, x.ending = nil, true
				x.flushSoon()
				continue
			}
			if err := x.add(b); err != nil {
				return err
			}
		case <-due:
			if x.pending[0].Urgent() {
				x.flushSoon()
			}
			if time.Until(x.due) > 0 {
				continue
			}
			n := min(len(x.pending), maxIndexGroup)
			x.group, x.pending = x.pending[:n:n], x.pending[n:]
			group := x.group
			go func() { written <- r.u.writeGroup(ctx, d, group) }()
		case o := <-written:
			x.pending, x.group = append(o.left, x.pending...), nil
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := x.schedule(o); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// flushSoon makes the pending batches due now, unless the last attempt failed.
func (x *indexer) flushSoon() {
	if x.failures == 0 {
		x.due = time.Now()
	}
}

// add adds a batch to the pending ones. At MaxUnindexed it acknowledges the oldest one without an entity.
func (x *indexer) add(b *buffer.Batch) error {
	if len(x.pending) == 0 && x.failures == 0 {
		x.due = time.Now().Add(x.u.indexWait())
	}
	x.pending = append(x.pending, b)
	if len(x.pending) >= x.u.opts.IndexGroup {
		x.flushSoon()
	}
	if limit := x.u.opts.MaxUnindexed; limit == 0 || len(x.pending)+len(x.group) <= limit {
		return nil
	}
	if !x.dropping {
		x.dropping = true
		x.u.opts.Log.Error("index backlog is full: the oldest segments stay unindexed; they are found by listing, and shipper reindex adds them",
			"store", x.d.indexOutage.where, "waiting", x.u.opts.MaxUnindexed)
	}
	oldest := x.pending[0]
	x.pending = x.pending[1:]
	return x.u.acknowledgeUnindexed(oldest)
}

// acknowledgeUnindexed acknowledges a batch that is stored but not indexed.
func (u *Uploader) acknowledgeUnindexed(b *buffer.Batch) error {
	u.count(func(st *Stats) { st.Unindexed++ })
	return u.acknowledge(b)
}

// schedule sets the time of the next write. A returned error ends the run.
func (x *indexer) schedule(o outcome) error {
	switch {
	case o.fatal != nil:
		return o.fatal
	case o.err != nil:
		return x.failed(o.err)
	}
	x.d.indexOutage.recovered()
	x.failures, x.began, x.dropping = 0, time.Time{}, false
	x.due = time.Now().Add(x.u.indexWait())
	if x.ending || len(x.pending) >= x.u.opts.IndexGroup {
		x.flushSoon()
	}
	return nil
}

// failed schedules the next attempt, or gives up.
func (x *indexer) failed(err error) error {
	now := time.Now()
	x.failures++
	if x.failures == 1 {
		x.began = now
	}
	wait := x.u.opts.Backoff.wait(x.failures, err, x.u.opts.Random)
	if limit := x.u.opts.RetryFor; limit > 0 {
		left := limit - now.Sub(x.began)
		switch {
		case needsOperator(err):
			return gaveUp{fmt.Errorf("cannot index the stored segments: %w", err)}
		case left <= 0:
			return gaveUp{fmt.Errorf("cannot index the stored segments: gave up after %v: %w", limit, err)}
		}
		wait = min(wait, left)
	}
	x.d.indexOutage.failed(err, wait)
	x.due = now.Add(wait)
	return nil
}

// outcome is the result of writing a group.
type outcome struct {
	// left are the batches that are neither indexed nor acknowledged.
	left []*buffer.Batch
	// err is why the batches left could not be written; fatal is an error that ends the run.
	err, fatal error
}

// writeGroup writes the entities of a group and acknowledges its batches.
func (u *Uploader) writeGroup(ctx context.Context, d *destination, group []*buffer.Batch) outcome {
	err := u.put(ctx, d, group)
	switch {
	case err == nil:
		for i, b := range group {
			if err := u.acknowledge(b); err != nil {
				return outcome{left: group[i+1:], fatal: err}
			}
		}
		return outcome{}
	case errors.Is(err, store.ErrInvalid), errors.Is(err, store.ErrTableBusy):
		// One entity may be invalid, or one day's table busy: try the others.
		return u.writeEach(ctx, d, group)
	}
	return outcome{left: group, err: err}
}

// writeEach writes entity by entity. If storage rejects one as invalid, its batch is acknowledged without
// it, unless storage has never accepted an entity: then the entity may not be the cause.
func (u *Uploader) writeEach(ctx context.Context, d *destination, group []*buffer.Batch) (o outcome) {
	for i, b := range group {
		err := u.put(ctx, d, group[i:i+1])
		switch {
		case errors.Is(err, store.ErrInvalid) && (d.indexed.Load() || errors.Is(err, tableindex.ErrInvalidEntity)):
			u.opts.Log.Error("index entity rejected; the segment is stored and found by listing", "blob", b.Name(), "error", err)
			o.fatal = u.acknowledgeUnindexed(b)
		case err != nil:
			o.left, o.err = append(o.left, b), err
		default:
			o.fatal = u.acknowledge(b)
		}
		if o.fatal != nil {
			o.left = append(o.left, group[i+1:]...)
			return o
		}
	}
	return o
}

// put writes the entities of batches.
func (u *Uploader) put(ctx context.Context, d *destination, batches []*buffer.Batch) error {
	entities := make([]tableindex.Entity, 0, len(batches))
	for _, b := range batches {
		name, err := blobnaming.Parse(b.Name())
		if err != nil {
			return err
		}
		etag, _ := b.Stored()
		entities = append(entities, tableindex.Entity{Name: name, Meta: b.Meta, ETag: etag, Size: b.Size, Minutes: b.Minutes})
	}
	crashpoint.Here("upload.before-index")
	err := tableindex.Put(ctx, d.tables, d.container, entities)
	if err == nil {
		d.indexed.Store(true)
	}
	crashpoint.Here("upload.after-index")
	return err
}

// acknowledge acknowledges a batch: the buffer removes it.
func (u *Uploader) acknowledge(b *buffer.Batch) error {
	crashpoint.Here("upload.before-done")
	err := b.Done()
	crashpoint.Here("upload.after-done")
	return err
}
