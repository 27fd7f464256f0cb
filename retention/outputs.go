package retention

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"logstow/blobnaming"
	"logstow/containment"
	"logstow/internal/retry"
	"logstow/store"
)

// Outputs of compaction are deleted after the segments that they may contain, and in ascending order of
// their generation, because compaction skips an hour in which a generation is missing. The highest one is
// deleted last, when nothing else of the hour is left: until then compaction may make another output, which
// must not get the same name.

// output is an expired output of compaction.
type output struct {
	entry
	scope containment.Scope
}

// outputOf returns a listed blob as an output; false if it is not one.
func outputOf(b store.Blob) (output, bool) {
	s, err := containment.NewSegment(b)
	return output{entry{b.Ref(), b.Size}, s.Scope()}, err == nil && s.Meta.IsOutput()
}

// deleteOutputs deletes the expired outputs of all services, after their plain segments.
func (r *run) deleteOutputs(ctx context.Context, outputs []output) error {
	scopes := make(map[containment.Scope][]entry) // in order of generation
	for _, o := range outputs {
		scopes[o.scope] = append(scopes[o.scope], o.entry)
	}
	if r.o.DryRun {
		r.estimated.List += int64(len(daysOf(scopes)))
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

// highest returns the highest outputs of the scopes of which a new listing shows no other blob. The highest
// outputs of the other scopes wait for the next run.
func (r *run) highest(ctx context.Context, scopes map[containment.Scope][]entry) ([]entry, error) {
	left := make(map[containment.Scope][]string)
	var group errgroup.Group
	group.SetLimit(walkers)
	for _, prefix := range daysOf(scopes) {
		group.Go(func() error {
			for page, err := range retry.List(ctx, r.store.Blobs(), prefix) {
				if err != nil {
					return fmt.Errorf("list %s*: %w", prefix, err)
				}
				r.mu.Lock()
				for _, b := range page {
					if s, err := containment.NewSegment(b); err == nil && scopes[s.Scope()] != nil {
						left[s.Scope()] = append(left[s.Scope()], b.Name)
					}
				}
				r.mu.Unlock()
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var highest []entry
	for scope, all := range scopes {
		last := all[len(all)-1]
		if slices.ContainsFunc(left[scope], func(name string) bool { return name != last.Name }) {
			r.waiting[last.BlobRef] = true
			continue
		}
		highest = append(highest, last)
	}
	return highest, nil
}

// daysOf returns the prefixes of the days of scopes.
func daysOf(scopes map[containment.Scope][]entry) (prefixes []string) {
	for scope := range scopes {
		start := scope.Hour.Truncate(day)
		prefixes = append(prefixes, blobnaming.Prefixes(scope.Service, start, start.Add(day))...)
	}
	slices.Sort(prefixes)
	return slices.Compact(prefixes)
}

// deleteInBatches deletes blobs in batches of store.MaxDelete. Its only errors are access denied and the end
// of ctx; other failures are in the report.
func (r *run) deleteInBatches(ctx context.Context, blobs []entry) error {
	var group errgroup.Group
	group.SetLimit(deleters)
	for batch := range slices.Chunk(blobs, store.MaxDelete) {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			if err := r.deleteBatch(ctx, batch); errors.Is(err, store.ErrAccessDenied) {
				return err
			}
			return nil
		})
	}
	return errors.Join(group.Wait(), context.Cause(ctx))
}
