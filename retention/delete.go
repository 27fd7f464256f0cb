package retention

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"logstow/internal/patience"
	"logstow/store"
)

// batches does something to the blobs that come in, in full batches, until no more come.
// Where access is refused it ends everything; what else fails is in the report.
func (r *run) batches(ctx context.Context, stop context.CancelCauseFunc, blobs <-chan store.Version, do func(context.Context, []store.Version) error) {
	var group errgroup.Group
	group.SetLimit(deleters)
	defer func() { _ = group.Wait() }() // what fails is in the report
	submit := func(batch []store.Version) {
		if len(batch) == 0 || ctx.Err() != nil {
			return
		}
		group.Go(func() error {
			if err := do(ctx, batch); errors.Is(err, store.ErrRefused) {
				stop(err)
			}
			return nil
		})
	}
	var batch []store.Version
	for v := range blobs {
		if batch = append(batch, v); len(batch) == store.MaxDelete {
			submit(batch)
			batch = nil
		}
	}
	submit(batch)
}

// deleteBatch deletes the blobs of one request, as they were listed: what took the name of
// one that is gone may be of a class that stays. The listing afterwards says what stays.
func (r *run) deleteBatch(ctx context.Context, batch []store.Version) error {
	if err := r.limit.WaitN(ctx, len(batch)); err != nil {
		return err
	}
	err := patience.Do(ctx, func() error { return r.store.Blobs().Delete(ctx, batch) })
	switch {
	case err == nil:
		r.o.Progress.Deleted.Add(int64(len(batch)))
	case ctx.Err() == nil:
		r.batchFailed(err)
	}
	return err
}

// moveBatch moves the blobs of one request to a tier.
func (r *run) moveBatch(tier store.Tier) func(context.Context, []store.Version) error {
	return func(ctx context.Context, batch []store.Version) error {
		if err := r.limit.WaitN(ctx, len(batch)); err != nil {
			return err
		}
		names := make([]string, len(batch))
		for i, v := range batch {
			names[i] = v.Name
		}
		err := patience.Do(ctx, func() error { return r.store.Blobs().SetTier(ctx, names, tier) })
		if err != nil && ctx.Err() == nil {
			r.batchFailed(err)
		}
		return err
	}
}

// batchFailed notes the first failure of each class.
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

// verify lists again what blobs went from: one listing of all where that is less
// than one a service.
func (r *run) verify(ctx context.Context) error {
	services := r.touched
	if r.flat() {
		services = []string{""}
	}
	r.eachService(ctx, services, func(service string) {
		w := walk{r: r, take: r.stays}
		if service != "" {
			w.stopAt = r.cut.End()
		}
		w.run(ctx, service)
		if w.err != nil {
			r.mu.Lock()
			r.blind = true
			r.mu.Unlock()
		}
	})
	return context.Cause(ctx)
}

// flat reports whether listing everything takes fewer requests than listing each
// service from which blobs went.
func (r *run) flat() bool {
	return r.whole && r.remain/pageSize+1 < int64(len(r.touched))
}

// stays notes a blob that was to go and is there. One that was written since the run
// began is late: it goes with the next run.
func (r *run) stays(b store.Blob) bool {
	key, ok := keyOf(b)
	if !ok {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stay[key]++
	if b.Created.After(r.began) {
		r.report.Late++
		return true
	}
	r.report.Stayed++
	if d := r.days[key]; d != nil {
		d.Stayed++
		d.stayedBytes += b.Size
	}
	if len(r.report.StayedNames) < maxNamed {
		r.report.StayedNames = append(r.report.StayedNames, b.Name)
	}
	return true
}

// stayed is the error for blobs that are still there.
func (r *Report) stayed() error {
	if r.Stayed == 0 {
		return nil
	}
	return fmt.Errorf("%d blobs should be gone and are still there, %s among them; they stay indexed", r.Stayed, r.StayedNames[0])
}
