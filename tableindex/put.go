package tableindex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"logstow/internal/units"
	"logstow/store"
)

const (
	// concurrentTables is how many tables one Put writes concurrently, concurrentTransactions how many transactions of one table.
	concurrentTables       = 8
	concurrentTransactions = 16
	// createTries is how often a missing table is created for one transaction: it may be dropped again
	// right after its creation.
	createTries = 2
)

// Put inserts or replaces entities: those of one day, class and partition together, in transactions
// of at most [store.MaxTransaction] entities and [store.MaxTransactionSize]. If several entities have
// the same key, the last one counts. A table is created only when storage reports it missing.
//
// Put is idempotent. It writes as much as it can. The error joins one error for each table that failed,
// with its name, and one for each invalid entity, which is [store.ErrInvalid] and [ErrInvalidEntity] and
// has the blob's name. Entities of a failed table may have been written.
func Put(ctx context.Context, t store.Tables, container string, entities []Entity) error {
	var failed []error
	tables := make(map[string]tableEntities)
	for _, r := range entities {
		e, err := encode(r)
		if err != nil {
			failed = append(failed, &store.Error{
				Op:     "index",
				Object: r.Name.String(),
				Class:  store.ErrInvalid,
				Err:    invalidEntityError{err},
			})
			continue
		}
		name := tableOf(container, r)
		if tables[name] == nil {
			tables[name] = make(tableEntities)
		}
		tables[name][e.Key] = e
	}
	names := slices.Sorted(maps.Keys(tables))
	results := make([]error, len(names))
	var group errgroup.Group
	group.SetLimit(concurrentTables)
	for i, name := range names {
		group.Go(func() error {
			results[i] = putTable(ctx, t, name, tables[name])
			return nil
		})
	}
	_ = group.Wait() // results has the errors
	return errors.Join(append(failed, results...)...)
}

// ErrInvalidEntity reports an entity that Put rejects before it sends anything.
var ErrInvalidEntity = errors.New("not a valid index entity")

type invalidEntityError struct{ err error }

func (e invalidEntityError) Error() string   { return e.err.Error() }
func (e invalidEntityError) Unwrap() []error { return []error{ErrInvalidEntity, e.err} }

// tableEntities are the entities of one table by key.
type tableEntities map[store.Key]store.Entity

// putTable writes entities to a table: one transaction, which may have to create the table, and then the others concurrently.
// After an error it begins no further ones.
func putTable(ctx context.Context, t store.Tables, table string, all tableEntities) error {
	transactions := all.transactions()
	err := upsert(ctx, t, table, transactions[0])
	if err == nil {
		group, running := errgroup.WithContext(ctx)
		group.SetLimit(concurrentTransactions)
		for _, transaction := range transactions[1:] {
			if running.Err() != nil {
				break
			}
			group.Go(func() error { return upsert(ctx, t, table, transaction) })
		}
		err = group.Wait()
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("index %s in table %s: %w", units.Count(len(all), "segment"), table, err)
	}
	return nil
}

// transactions splits entities by partition and by the limits of a transaction.
func (all tableEntities) transactions() [][]store.Entity {
	sorted := slices.SortedFunc(maps.Values(all), compareKeys)
	var transactions [][]store.Entity
	var current []store.Entity
	size := 0
	for _, e := range sorted {
		full := len(current) == store.MaxTransaction || size+e.Size() > store.MaxTransactionSize
		if len(current) > 0 && (full || current[0].Partition != e.Partition) {
			transactions = append(transactions, current)
			current, size = nil, 0
		}
		current = append(current, e)
		size += e.Size()
	}
	if len(current) > 0 {
		transactions = append(transactions, current)
	}
	return transactions
}

// upsert writes one transaction, and creates the table if it is missing.
func upsert(ctx context.Context, t store.Tables, table string, transaction []store.Entity) error {
	err := t.Upsert(ctx, table, transaction)
	for try := 0; try < createTries && errors.Is(err, store.ErrNoTable); try++ {
		if err := t.CreateTable(ctx, table); err != nil {
			return err
		}
		err = t.Upsert(ctx, table, transaction)
	}
	return err
}

func compareKeys(a, b store.Entity) int { return orderKeys(a.Key, b.Key) }

func orderKeys(a, b store.Key) int {
	return cmp.Or(strings.Compare(a.Partition, b.Partition), strings.Compare(a.Row, b.Row))
}
