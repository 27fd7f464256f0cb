package tableindex

import (
	"context"
	"errors"
	"iter"

	"logstow/store"
)

// queryPage is a page of entities, the malformed entities of the page, and the error that ends a
// query.
type queryPage struct {
	entities  []store.Entity
	malformed []error
	err       error
}

// queryPages yields the results of a query. An entity with a property of the wrong type makes a page
// undecodable: the page is then read in smaller and smaller parts, which yields the other entities and
// identifies the malformed one.
func queryPages(ctx context.Context, t store.TableReader, table string, q store.Query) iter.Seq[queryPage] {
	return func(yield func(queryPage) bool) {
		var last store.Key
		for entities, err := range t.Query(ctx, table, q) {
			if errors.Is(err, store.ErrInvalid) {
				salvage(ctx, t, table, q, last, yield)
				return
			}
			if !yield(queryPage{entities: entities, err: err}) {
				return
			}
			if len(entities) > 0 {
				last = entities[len(entities)-1].Key
			}
		}
	}
}

// salvage yields the results of a query after the key last, without the malformed entities.
func salvage(ctx context.Context, t store.TableReader, table string, q store.Query, last store.Key, yield func(queryPage) bool) {
	keysOnly := q
	keysOnly.Columns = nil
	for entities, err := range t.Query(ctx, table, keysOnly) {
		if err != nil {
			yield(queryPage{err: err})
			return
		}
		for len(entities) > 0 && orderKeys(entities[0].Key, last) <= 0 {
			entities = entities[1:]
		}
		for len(entities) > 0 {
			n := 1
			for n < len(entities) && entities[n].Partition == entities[0].Partition {
				n++
			}
			if !bisect(ctx, t, table, q, entities[:n], yield) {
				return
			}
			entities = entities[n:]
		}
	}
}

// bisect yields the entities of adjacent keys of a partition. It returns false if the caller must stop.
func bisect(ctx context.Context, t store.TableReader, table string, q store.Query, keys []store.Entity, yield func(queryPage) bool) bool {
	q.Partition, q.PartitionTo = keys[0].Partition, ""
	q.RowFrom, q.RowTo = keys[0].Row, keys[len(keys)-1].Row+" " // no byte allowed in a key sorts before a space
	var all []store.Entity
	var failed error
	for entities, err := range t.Query(ctx, table, q) {
		all, failed = append(all, entities...), err
	}
	switch {
	case !errors.Is(failed, store.ErrInvalid):
		return yield(queryPage{entities: all, err: failed}) // after an error the caller wants no more
	case len(keys) == 1:
		return yield(queryPage{malformed: []error{&EntityError{Table: table, Key: keys[0].Key, Err: failed}}})
	}
	middle := len(keys) / 2
	return bisect(ctx, t, table, q, keys[:middle], yield) && bisect(ctx, t, table, q, keys[middle:], yield)
}
