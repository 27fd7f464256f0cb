package audit

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"logstow/internal/retry"
	"logstow/store"
	"logstow/tableindex"
)

// repairBatch is how many repairs are in memory with their minutes and written together.
const repairBatch = 1000

// repairAll repairs the allowed differences. It returns those that it did not repair.
func (a *auditor) repairAll(ctx context.Context, differences []Difference, allowed func(Difference) bool) (left []Difference, err error) {
	for batch := range slices.Chunk(differences, repairBatch) {
		remaining, err := a.repairBatch(ctx, batch, allowed)
		if err != nil {
			return nil, err
		}
		left = append(left, remaining...)
	}
	return left, nil
}

// repairBatch is repairAll for at most repairBatch differences.
func (a *auditor) repairBatch(ctx context.Context, differences []Difference, allowed func(Difference) bool) (left []Difference, err error) {
	entities := make([]*tableindex.Entity, len(differences))
	damage, unread := make([]*Difference, len(differences)), make([]bool, len(differences))
	var group errgroup.Group
	group.SetLimit(concurrentFooters)
	for i, d := range differences {
		if d.put == nil || !allowed(d) {
			continue
		}
		group.Go(func() error {
			f, broken, err := a.open(ctx, d.put)
			switch {
			case errors.Is(err, errDeleted):
			case err != nil:
				unread[i] = true
				return a.noteUnreadable(ctx, err)
			case broken != nil:
				damage[i] = broken
			default:
				entity := d.put.entity
				entity.Minutes = f.Minutes
				entities[i] = &entity
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var put []tableindex.Entity
	remove := make(map[string][]store.Key)
	for i, d := range differences {
		switch {
		case !allowed(d), unread[i]:
			left = append(left, d)
		case damage[i] != nil && a.o.Depth == Listing:
			left = append(left, *damage[i])
		case damage[i] != nil: // the damage is a difference of its own
			left = append(left, d)
		default:
			if entities[i] != nil {
				put = append(put, *entities[i])
			}
			for _, p := range d.remove {
				remove[p.table] = append(remove[p.table], p.key)
			}
		}
	}
	return left, a.write(ctx, put, remove)
}

// write writes entities, then removes others.
func (a *auditor) write(ctx context.Context, put []tableindex.Entity, remove map[string][]store.Key) error {
	err := retry.Do(ctx, func() error { return tableindex.Put(ctx, a.tables, a.container, put) })
	if err != nil {
		return err
	}
	removed := 0
	for table, keys := range remove {
		if err := retry.Do(ctx, func() error { return tableindex.Remove(ctx, a.tables, table, keys) }); err != nil {
			return err
		}
		removed += len(keys)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.report.Written += int64(len(put))
	a.report.Removed += int64(removed)
	return nil
}
