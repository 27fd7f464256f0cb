package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"logstow/internal/retry"
)

// comparePart compares a part for the first time. It repairs a difference if that was requested and is
// safe. Otherwise the part is rechecked later, because shippers and retention may be active.
func (a *auditor) comparePart(ctx context.Context, p part, blobs []listedBlob) error {
	index, err := a.read(ctx, p, blobs)
	if errors.Is(err, errTooMany) {
		return a.compareHalves(ctx, p, blobs)
	}
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.report.Entities += index.count
	if len(blobs) > 0 || index.count > 0 {
		a.found[p.service] = true
	}
	a.mu.Unlock()
	differences, err := a.examine(ctx, p, blobs, index, func(string) bool { return true })
	if err != nil || len(differences) == 0 {
		return err
	}
	p.seen = a.hashNames(differences)
	if a.repair {
		safe := func(d Difference) bool { return d.put != nil && len(d.remove) == 0 }
		if differences, err = a.repairAll(ctx, differences, safe); err != nil || len(differences) == 0 {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.suspects = append(a.suspects, p)
	for _, d := range differences {
		if d.Kind == MissingEntity && d.put.created.After(a.newest) {
			a.newest = d.put.created
		}
	}
	return nil
}

// compareHalves splits a part with too many differences and compares the halves.
func (a *auditor) compareHalves(ctx context.Context, p part, blobs []listedBlob) error {
	parts, of := p.split(blobs)
	for i := range parts {
		if err := a.comparePart(ctx, parts[i], of[i]); err != nil {
			return err
		}
	}
	return nil
}

// recheck compares the parts that differed again, after a delay.
func (a *auditor) recheck(ctx context.Context) error {
	if len(a.suspects) == 0 || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	wait, err := a.wait(ctx)
	if err != nil {
		return err
	}
	if err := retry.Sleep(ctx, wait); err != nil {
		return err
	}
	tables, err := a.listTables(ctx) // some may be new
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(concurrentParts)
	for _, p := range a.suspects {
		if ctx.Err() != nil {
			break
		}
		p.tables = tablesOf(tables, p.day, p.outputs)
		group.Go(func() error {
			if err := a.recheckPart(ctx, p); err != nil {
				a.problem(ctx, fmt.Errorf("service %s, %s: %w", p.service, p.day.Format(time.DateOnly), err))
			}
			return nil
		})
	}
	_ = group.Wait() // failures are in the report
	return context.Cause(ctx)
}

// wait is how long a difference must last to count.
func (a *auditor) wait(ctx context.Context) (time.Duration, error) {
	switch {
	case a.o.Settle != 0:
		return a.o.Settle, nil
	case a.newest.IsZero():
		return defaultSettle, nil
	}
	var now time.Time
	err := retry.Do(ctx, func() (err error) {
		now, err = a.now(ctx)
		return err
	})
	if now.Sub(a.newest) < fresh {
		return freshSettle, err
	}
	return defaultSettle, err
}

// recheckPart compares a part again, and repairs or reports the remaining differences. It ignores objects
// that did not differ at the first comparison: they were written or deleted meanwhile.
func (a *auditor) recheckPart(ctx context.Context, p part) error {
	blobs, err := a.list(ctx, p)
	if err != nil {
		return err
	}
	index, err := a.read(ctx, p, blobs)
	if errors.Is(err, errTooMany) {
		parts, _ := p.split(blobs)
		return errors.Join(a.recheckPart(ctx, parts[0]), a.recheckPart(ctx, parts[1]))
	}
	if err != nil {
		return err
	}
	wanted := func(name string) bool { return a.has(p.seen, name) }
	differences, err := a.examine(ctx, p, blobs, index, wanted)
	if err != nil {
		return err
	}
	differences = slices.DeleteFunc(differences, func(d Difference) bool { return !wanted(d.Object) })
	if a.repair {
		differences, err = a.repairAll(ctx, differences, func(d Difference) bool { return d.put != nil || len(d.remove) > 0 })
	}
	slices.SortFunc(differences, compareDifferences)
	a.reportAll(differences)
	return err
}
