package retention

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"logstow/catalog"
)

// Outputs of compaction are deleted after the segments that they may contain, and in ascending order of
// their generation, because compaction skips a day in which a generation is missing. The highest one is
// deleted last, when nothing else of its day and class is left: until then compaction may make another output, which
// must not get the same name.

// deleteOutputs deletes the expired blobs of the compacted container of all services, after their plain segments.
func (r *run) deleteOutputs(ctx context.Context, outputs []entry) error {
	scopes := make(map[catalog.Scope][]entry) // in order of generation, markers right after their outputs
	for _, o := range outputs {
		scopes[o.scope] = append(scopes[o.scope], o)
	}
	if r.o.DryRun {
		r.estimated.List += 2 * int64(len(scopes))
		return nil
	}
	for generation := 0; ; generation++ {
		var lower []entry
		for _, all := range scopes {
			if generation < len(all)-1 {
				lower = append(lower, all[generation])
			}
		}
		if len(lower) == 0 {
			break
		}
		if err := r.deleteInBatches(ctx, lower); err != nil {
			return err
		}
	}
	highest, err := r.highest(ctx, scopes)
	if err != nil {
		return err
	}
	return r.deleteInBatches(ctx, highest)
}

// highest returns the highest outputs of the scopes of which a new listing, first of the raw and then of the compacted container,
// shows no other blob. The highest outputs of the other scopes wait for the next run.
func (r *run) highest(ctx context.Context, scopes map[catalog.Scope][]entry) ([]entry, error) {
	var highest []entry
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(walkers)
	for scope, all := range scopes {
		last := all[len(all)-1]
		group.Go(func() error {
			alone := true
			err := r.catalog.Walk(ctx, scope.Service, scope.Day, scope.Day.Add(day), func(e *catalog.Entry) bool {
				name := e.Blob.Name
				return e.Kind == catalog.KindPlain && e.Meta.Class == scope.Class ||
					e.Name.HasClass(scope.Class) && e.Kind != catalog.KindMisplaced && e.Kind != catalog.KindRejection && name != last.Name
			}, func(*catalog.Day) error {
				alone = false
				return nil
			})
			if err != nil {
				return fmt.Errorf("list %s again: %w", scope, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if alone {
				highest = append(highest, last)
			} else {
				r.waiting[last.BlobRef] = true
			}
			return nil
		})
	}
	return highest, group.Wait()
}

// deleteInBatches deletes blobs in batches of store.MaxDelete. Its only errors are access denied and the end
// of ctx; other failures are in the report.
func (r *run) deleteInBatches(ctx context.Context, blobs []entry) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r.batches(ctx, stop, slices.Values(blobs), r.deleteBatch)
	return context.Cause(ctx)
}
