package retention

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"golang.org/x/sync/errgroup"

	"logstow/catalog"
	"logstow/internal/retry"
	"logstow/internal/units"
	"logstow/store"
)

// entry is a blob of a batch, as listed.
type entry struct {
	store.BlobRef
	size int64
	// compacted is set if it is in the compacted container.
	compacted bool
	created   time.Time
	// scope is that of an output of compaction.
	scope catalog.Scope
}

func newEntry(e *catalog.Entry) entry {
	return entry{
		BlobRef:   e.Blob.Ref(),
		size:      e.Size,
		compacted: e.Kind != catalog.KindMisplaced && e.Name.Output() > 0,
		created:   e.Created,
		scope:     e.Scope(),
	}
}

// container returns the container of the blobs of a batch, which are all in the same.
func (r *run) container(batch []entry) store.Blobs {
	if batch[0].compacted {
		return r.store.Compacted()
	}
	return r.store.Blobs()
}

// totalBytes is the size of a batch in bytes.
func totalBytes(batch []entry) (bytes int64) {
	for _, e := range batch {
		bytes += e.size
	}
	return bytes
}

// batches applies an operation to blobs of one container, in batches of store.MaxDelete. Access denied ends the run; other failures are in
// the report.
func (r *run) batches(ctx context.Context, stop context.CancelCauseFunc, blobs iter.Seq[entry], do func(context.Context, []entry) error) {
	var group errgroup.Group
	group.SetLimit(deleters)
	defer func() { _ = group.Wait() }() // failures are in the report
	submit := func(batch []entry) {
		if len(batch) == 0 || ctx.Err() != nil {
			return
		}
		group.Go(func() error {
			if err := do(ctx, batch); errors.Is(err, store.ErrAccessDenied) {
				stop(err)
			}
			return nil
		})
	}
	var batch []entry
	for e := range blobs {
		if batch = append(batch, e); len(batch) == store.MaxDelete {
			submit(batch)
			batch = nil
		}
	}
	submit(batch)
}

// deleteBatch deletes the blobs of one request. It does not delete a blob that was replaced after it was
// listed, because that may be of a class that is kept. A later listing shows which blobs remain.
func (r *run) deleteBatch(ctx context.Context, batch []entry) error {
	if err := r.limit.WaitN(ctx, len(batch)); err != nil {
		return err
	}
	refs := make([]store.BlobRef, len(batch))
	for i, e := range batch {
		refs[i] = e.BlobRef
	}
	err := retry.Do(ctx, func() error { return r.container(batch).Delete(ctx, refs) })
	switch {
	case err == nil:
		r.o.Progress.Deleted.Add(int64(len(batch)))
		r.mu.Lock()
		defer r.mu.Unlock()
		r.deleted.blobs += int64(len(batch))
		r.deleted.bytes += totalBytes(batch)
	case ctx.Err() == nil:
		r.batchFailed(err)
	}
	return err
}

// moveBatch moves the blobs of one request to a tier.
func (r *run) moveBatch(tier store.Tier) func(context.Context, []entry) error {
	return func(ctx context.Context, batch []entry) error {
		if err := r.limit.WaitN(ctx, len(batch)); err != nil {
			return err
		}
		names := make([]string, len(batch))
		for i, e := range batch {
			names[i] = e.Name
		}
		err := retry.Do(ctx, func() error { return r.container(batch).SetTier(ctx, names, tier) })
		switch {
		case err == nil:
			r.movedTo(tier, int64(len(batch)), totalBytes(batch))
		case ctx.Err() == nil:
			r.batchFailed(err)
		}
		return err
	}
}

// movedTo counts blobs that were moved to a tier, or with DryRun would be moved.
func (r *run) movedTo(tier store.Tier, blobs, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.moved[tier] == nil {
		r.moved[tier] = &Moved{Tier: string(tier)}
	}
	r.moved[tier].Blobs += blobs
	r.moved[tier].Bytes += bytes
}

// batchFailed records the first failure of each class.
func (r *run) batchFailed(err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // errors.Join's own, not one inside
		if _, one := err.(*store.Error); !one { //nolint:errorlint // as above
			for _, e := range joined.Unwrap() {
				r.batchFailed(e)
			}
			return
		}
	}
	class := err
	var e *store.Error
	if errors.As(err, &e) {
		class = e.Class
	}
	r.mu.Lock()
	known := r.failed[class]
	r.failed[class] = true
	r.mu.Unlock()
	if !known {
		r.problem(err)
	}
}

// verify lists the services again from which blobs were deleted; everything at once if that takes fewer
// requests.
func (r *run) verify(ctx context.Context) error {
	services := r.touched
	if r.listAllIsCheaper() {
		services = []string{""}
	}
	r.eachService(ctx, services, func(service string) {
		w := newWalk(r, r.noteRemaining)
		if service != "" {
			w.stopAt = r.cut.End()
		}
		w.run(ctx, service)
		if w.err != nil {
			r.mu.Lock()
			r.incomplete = true
			r.mu.Unlock()
		}
	})
	return context.Cause(ctx)
}

// removeEmptyDirectories removes the directories that deletions left empty, if storage has directories:
// otherwise each would appear in every later listing.
func (r *run) removeEmptyDirectories(ctx context.Context) error {
	r.eachService(ctx, r.touched, func(service string) {
		before := service + "/" + r.cut.End().Format("2006/01/02")
		err := retry.Do(ctx, func() error {
			return errors.Join(r.store.Blobs().RemoveDirectories(ctx, service+"/", before),
				noContainer(r.store.Compacted().RemoveDirectories(ctx, service+"/", before)))
		})
		if err != nil && ctx.Err() == nil {
			r.problem(fmt.Errorf("remove empty directories of %s: %w", service, err))
		}
	})
	return context.Cause(ctx)
}

// listAllIsCheaper reports whether listing everything takes fewer requests than listing each
// service from which blobs were deleted.
func (r *run) listAllIsCheaper() bool {
	return r.totalKnown && r.listAll() < 2*int64(len(r.touched))
}

// listAll returns the number of requests to list both containers.
func (r *run) listAll() int64 { return r.totalRemaining/pageSize + 2 }

// noContainer ignores that the compacted container does not exist.
func noContainer(err error) error {
	if errors.Is(err, store.ErrNoContainer) {
		return nil
	}
	return err
}

// noteRemaining records an expired blob that still exists. If it was written too late to be found, the next
// run deletes it.
func (r *run) noteRemaining(key classDay, b entry) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remaining[tableKey{key, b.compacted}]++
	waits := r.waiting[b.BlobRef]
	if r.isNew(b) && !r.attempted[b.BlobRef] && !waits {
		r.report.Late++
		return true
	}
	if d := r.days[key]; d != nil {
		d.Stayed++
		d.stayedBytes += b.size
	}
	if waits {
		r.report.Late++
		return true
	}
	r.report.Stayed++
	if len(r.report.StayedNames) < maxNamed {
		r.report.StayedNames = append(r.report.StayedNames, b.Name)
	}
	return true
}

// remainingError is the error for blobs that still exist.
func (r *Report) remainingError() error {
	if r.Stayed == 0 {
		return nil
	}
	return fmt.Errorf("cannot delete %s, such as %s; they stay indexed", units.Count(r.Stayed, "blob"), r.StayedNames[0])
}
