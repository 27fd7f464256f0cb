package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"logstow/internal/retry"
	"logstow/store"
	"logstow/tableindex"
)

// The results for a day's table.
const (
	tableDropped = "dropped"
	tablePruned  = "pruned" // the table is kept, the entities of deleted blobs are removed
	tableKept    = "kept"   // not everything could be listed, or dropping or pruning failed
)

// expireTables processes the tables of expired days.
func (r *run) expireTables(ctx context.Context, tables []tableindex.Table) error {
	var group errgroup.Group
	group.SetLimit(droppers)
	for _, t := range tables {
		if ctx.Err() != nil {
			break
		}
		if !r.cut.Judge(t.Class, t.Day).Deletes() {
			continue
		}
		group.Go(func() error {
			done, err := r.expireTable(ctx, t)
			if err != nil && ctx.Err() == nil {
				r.problem(fmt.Errorf("index table %s: %w", t.Name, err))
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			d := r.dayOf(t)
			d.Table = worse(d.Table, done)
			return nil
		})
	}
	_ = group.Wait() // failures are in the report
	return context.Cause(ctx)
}

// worse returns the result for a day that has two tables, of segments and of outputs.
func worse(a, b string) string {
	for _, result := range []string{tableKept, tablePruned} {
		if a == result || b == result {
			return result
		}
	}
	return b
}

// dayOf returns a table's day in the report, and adds it if it is missing.
func (r *run) dayOf(t tableindex.Table) *Day {
	key := classDay{t.Class, t.Day}
	if r.days[key] == nil {
		r.days[key] = &Day{Class: t.Class, Day: t.Day.Format(time.DateOnly), Why: r.cut.Why(t.Class, t.Day)}
	}
	return r.days[key]
}

// expireTable drops a table, or prunes it if blobs of its day remain.
func (r *run) expireTable(ctx context.Context, t tableindex.Table) (done string, err error) {
	switch {
	case r.incomplete:
		return tableKept, nil
	case r.remaining[tableKey{classDay{t.Class, t.Day}, t.Outputs}] > 0 || r.unknownClassDays[t.Day]:
		if err := r.prune(ctx, t); err != nil {
			return tableKept, err
		}
		return tablePruned, nil
	}
	if r.o.DryRun {
		r.estimateTable(1)
		return tableDropped, nil
	}
	err = retry.Do(ctx, func() error { return r.store.Tables().DropTable(ctx, t.Name) })
	if err != nil {
		return tableKept, err
	}
	return tableDropped, nil
}

// prune removes a table's entities whose blobs are deleted, service by service.
func (r *run) prune(ctx context.Context, t tableindex.Table) error {
	var services []string
	err := retry.Do(ctx, func() (err error) {
		services, err = tableindex.Services(ctx, r.store.Tables(), t.Name)
		return err
	})
	if err != nil {
		return err
	}
	for _, service := range services {
		if err := r.pruneService(ctx, t, service); err != nil {
			return err
		}
	}
	return nil
}

// pruneService is prune for one service. It reads the entities before it lists the blobs: an entity is
// written after its blob, so an entity whose blob is not listed is stale.
func (r *run) pruneService(ctx context.Context, t tableindex.Table, service string) error {
	var entities map[string][]store.Key
	err := retry.Do(ctx, func() error {
		entities = make(map[string][]store.Key)
		for page, err := range tableindex.Entities(ctx, r.store.Tables(), r.store.Container(), t.Name, service) {
			var malformed *tableindex.EntityError
			if err != nil && !errors.As(err, &malformed) { // shipper verify reports malformed entities
				return err
			}
			for _, entity := range page {
				name := entity.Name.String()
				entities[name] = append(entities[name], entity.Key())
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	list := r.catalog.Raw
	if t.Outputs {
		list = r.catalog.Outputs
	}
	for page, err := range list(ctx, service, t.Day, t.Day.Add(day)) {
		if err != nil {
			return err
		}
		for i := range page {
			if class, ok := classOf(&page[i]); r.o.DryRun && ok && class == t.Class {
				continue // it would be deleted
			}
			delete(entities, page[i].Blob.Name)
		}
	}
	var stale []store.Key
	for _, keys := range entities {
		stale = append(stale, keys...)
	}
	if r.o.DryRun {
		r.estimateTable(transactions(stale))
		return nil
	}
	return retry.Do(ctx, func() error { return tableindex.Remove(ctx, r.store.Tables(), t.Name, stale) })
}

// estimate counts the further requests of a run without DryRun, except those for tables.
func (r *run) estimate() {
	r.estimated.Delete = (r.o.Progress.Found.Load() + store.MaxDelete - 1) / store.MaxDelete
	r.estimated.List = 2 * int64(len(r.touched))
	if r.listAllIsCheaper() {
		r.estimated.List = r.listAll()
	}
	for _, m := range r.moved {
		r.estimated.Tier += (m.Blobs + store.MaxDelete - 1) / store.MaxDelete
	}
}

// estimateTable counts requests that change tables.
func (r *run) estimateTable(requests int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.estimated.Table += requests
}

// transactions returns how many requests are needed to remove entities.
func transactions(keys []store.Key) (n int64) {
	partitions := make(map[string]int64)
	for _, k := range keys {
		if partitions[k.Partition]%store.MaxTransaction == 0 {
			n++
		}
		partitions[k.Partition]++
	}
	return n
}
