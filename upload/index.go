package upload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"logstow/blobnaming"
	"logstow/buffer/unindexed"
	"logstow/internal/crashpoint"
	"logstow/store"
	"logstow/tableindex"
)

// indexer writes the entities that wait in a buffer for the index of one store. The buffer collects them, so that a slow
// index does not delay blobs.
type indexer struct {
	u        *Uploader
	d        *destination
	entities *unindexed.Entities
	// due is the time of the next write; after a failure, of the next attempt. It is zero while no entity waits.
	due time.Time
	// began is when the first attempt that failed began, failures the number of failed attempts since.
	began    time.Time
	failures int
}

// index starts the goroutine that writes the entities of a store, unless it runs. limit is how long it tries to open the store.
func (r *run) index(ctx context.Context, store string, limit time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.indexed[store] {
		r.indexed[store] = true
		r.group.Go(func() error {
			err := r.writeIndex(ctx, store, limit)
			if r.giveUp(ctx, store, err) {
				return nil
			}
			return err
		})
	}
}

// writeIndex writes the entities of a store as they are added, until all senders have ended and none is left, ctx ends, or
// it gives up (see [Options].RetryFor). What is not written stays in the buffer.
func (r *run) writeIndex(ctx context.Context, name string, limit time.Duration) error {
	opening := r.u.opening(name)
	d, err := r.open(ctx, &opening, name, limit)
	if err != nil {
		return err
	}
	x := &indexer{u: r.u, d: d, entities: r.buffer.Unindexed()}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		changed := x.entities.Changed()
		sending := r.sending
		select {
		case <-sending:
			sending = nil // before Waiting: nothing is added any more
		default:
		}
		waiting := x.entities.Waiting(name)
		if waiting == 0 && sending == nil {
			return nil
		}
		if x.isDue(waiting, sending == nil) {
			if err := x.write(ctx); err != nil {
				return err
			}
			continue
		}
		var due <-chan time.Time
		if waiting > 0 {
			timer.Reset(time.Until(x.due))
			due = timer.C
		}
		select {
		case <-changed:
		case <-sending:
		case <-due:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// isDue reports whether a group is to be written now, and sets due.
func (x *indexer) isDue(waiting int, ending bool) bool {
	now := time.Now()
	switch {
	case waiting == 0:
		x.due = time.Time{}
		return false
	case x.failures == 0 && (ending || waiting >= x.u.opts.IndexGroup):
		return true
	case x.due.IsZero():
		x.due = now.Add(x.u.indexWait())
	}
	return !now.Before(x.due)
}

// write writes the oldest group of entities. A returned error ends the run.
func (x *indexer) write(ctx context.Context) error {
	if x.failures == 0 {
		x.began = time.Now()
	}
	group, entities, err := x.entities.Take(x.d.name)
	if err != nil {
		return x.failed(err)
	}
	if group == nil { // dropped meanwhile
		return nil
	}
	left, err := x.u.writeGroup(ctx, x.d, entities)
	switch {
	case ctx.Err() != nil:
		x.entities.Return(group)
		return context.Cause(ctx)
	case err == nil:
		x.d.indexOutage.recovered()
		x.failures, x.began, x.due = 0, time.Time{}, time.Time{}
		return x.remove(group)
	case len(left) == len(entities) && !errors.Is(err, store.ErrTableBusy):
		x.entities.Return(group)
		return x.failed(err)
	}
	// The others need not wait for those that are left, such as those of a table that is being deleted.
	if err := x.entities.Add(x.d.name, left...); err != nil {
		return err
	}
	if err := x.remove(group); err != nil {
		return err
	}
	return x.failed(err)
}

// remove removes a group from the buffer.
func (x *indexer) remove(group *unindexed.Group) error {
	crashpoint.Here("entity.before-remove")
	err := x.entities.Remove(group)
	crashpoint.Here("entity.after-remove")
	return err
}

// failed schedules the next attempt, or gives up.
func (x *indexer) failed(err error) error {
	x.failures++
	wait, gaveUp := x.u.nextAttempt(err, x.failures, x.began, x.u.opts.RetryFor)
	if gaveUp != nil {
		return fmt.Errorf("cannot index the stored segments: %w", gaveUp)
	}
	x.d.indexOutage.failed(err, wait)
	x.due = time.Now().Add(wait)
	return nil
}

// writeGroup writes entities. left are those that are neither written nor given up; err is why.
func (u *Uploader) writeGroup(ctx context.Context, d *destination, group []unindexed.Entity) (left []unindexed.Entity, err error) {
	err = u.put(ctx, d, group)
	switch {
	case err == nil:
		return nil, nil
	case errors.Is(err, store.ErrInvalid), errors.Is(err, store.ErrTableBusy):
		// One entity may be invalid, or one day's table busy: try the others.
		return u.writeEach(ctx, d, group)
	}
	return group, err
}

// writeEach writes entity by entity. One that storage rejects as invalid is given up, unless storage has never accepted an
// entity: then the entity may not be the cause.
func (u *Uploader) writeEach(ctx context.Context, d *destination, group []unindexed.Entity) (left []unindexed.Entity, last error) {
	for i := range group {
		err := u.put(ctx, d, group[i:i+1])
		switch {
		case errors.Is(err, store.ErrInvalid) && (d.indexed.Load() || errors.Is(err, tableindex.ErrInvalidEntity)):
			u.opts.Log.Error("index entity rejected; the segment is stored and found by listing", "blob", group[i].Name, "error", err)
			u.count(func(st *Stats) { st.Unindexed++ })
		case err != nil:
			left, last = append(left, group[i]), err
		}
	}
	return left, last
}

// put writes entities.
func (u *Uploader) put(ctx context.Context, d *destination, group []unindexed.Entity) error {
	entities := make([]tableindex.Entity, 0, len(group))
	for i := range group {
		e := &group[i]
		name, _ := blobnaming.Parse(e.Name) // Put rejects an entity without a valid name
		entities = append(entities, tableindex.Entity{Name: name, Meta: e.Meta, ETag: e.ETag, Size: e.Size, Minutes: e.Minutes})
	}
	crashpoint.Here("upload.before-index")
	err := tableindex.Put(ctx, d.tables, d.container, entities)
	if err == nil {
		d.indexed.Store(true)
	}
	crashpoint.Here("upload.after-index")
	return err
}
