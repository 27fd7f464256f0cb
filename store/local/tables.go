package local

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"time"

	"logstow/store"
)

// tables keeps the entities of all tables in one SQLite table, whose primary key begins with the
// number of the table.
type tables struct{ db *database }

// errNoTable is the cause if a table does not exist.
var errNoTable = fmt.Errorf("%w: create it first", store.ErrNoTable)

// CreateTable implements [store.Tables].
func (t tables) CreateTable(ctx context.Context, table string) error {
	const op = "create table"
	if err := contextError(ctx, op, table); err != nil {
		return err
	}
	if err := store.CheckTable(table); err != nil {
		return invalid(op, table, err)
	}
	db, err := t.db.writing(ctx)
	if err != nil {
		return t.db.classify(ctx, op, table, err)
	}
	err = t.db.change(ctx, db, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO tables (name) VALUES (?) ON CONFLICT DO NOTHING", table)
		return err
	})
	return t.db.classify(ctx, op, table, err)
}

// DropTable implements [store.Tables].
func (t tables) DropTable(ctx context.Context, table string) error {
	err := t.change(ctx, "drop table", table, func(tx *sql.Tx, id int64) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM entities WHERE tbl = ?", id); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM tables WHERE id = ?", id)
		return err
	})
	if errors.Is(err, store.ErrNoTable) {
		return nil
	}
	return err
}

// Upsert implements [store.Tables].
func (t tables) Upsert(ctx context.Context, table string, entities []store.Entity) error {
	const op = "upsert into table"
	if err := store.CheckEntities(entities); err != nil {
		return invalid(op, table, err)
	}
	return t.change(ctx, op, table, func(tx *sql.Tx, id int64) error {
		put, err := tx.PrepareContext(ctx, "INSERT OR REPLACE INTO entities (tbl, pk, rk, properties) VALUES (?, ?, ?, ?)")
		if err != nil {
			return err
		}
		defer func() { _ = put.Close() }() // The transaction ends it anyway.
		for _, e := range entities {
			properties, err := encodeProperties(e.Properties, time.Now())
			if err != nil {
				return err
			}
			if _, err := put.ExecContext(ctx, id, e.Partition, e.Row, properties); err != nil {
				return err
			}
		}
		return nil
	})
}

// Remove implements [store.Tables].
func (t tables) Remove(ctx context.Context, table string, keys []store.Key) error {
	const op = "remove from table"
	if err := store.CheckTransaction(keys); err != nil {
		return invalid(op, table, err)
	}
	return t.change(ctx, op, table, func(tx *sql.Tx, id int64) error {
		for _, k := range keys {
			if _, err := tx.ExecContext(ctx, "DELETE FROM entities WHERE tbl = ? AND pk = ? AND rk = ?", id, k.Partition, k.Row); err != nil {
				return err
			}
		}
		return nil
	})
}

// change runs f with the number of an existing table in one transaction.
func (t tables) change(ctx context.Context, op, table string, f func(tx *sql.Tx, id int64) error) error {
	if err := contextError(ctx, op, table); err != nil {
		return err
	}
	if err := store.CheckTable(table); err != nil {
		return invalid(op, table, err)
	}
	db, err := t.db.reading(ctx)
	if err == nil && db == nil {
		err = errNoTable
	}
	if err != nil {
		return t.db.classify(ctx, op, table, err)
	}
	return t.db.classify(ctx, op, table, t.db.change(ctx, db, func(tx *sql.Tx) error {
		id, err := tableID(ctx, tx, table)
		if err != nil {
			return err
		}
		return f(tx, id)
	}))
}

func tableID(ctx context.Context, q querier, table string) (id int64, err error) {
	rows, err := q.QueryContext(ctx, "SELECT id FROM tables WHERE name = ?", table)
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }() // rows.Err has it.
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return 0, err
		}
		return 0, errNoTable
	}
	return id, rows.Scan(&id)
}

// Tables implements [store.TableReader].
func (t tables) Tables(ctx context.Context, prefix string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		const op = "list tables"
		after := ""
		for {
			names, err := t.tablesAfter(ctx, prefix, after)
			if err != nil {
				yield(nil, t.db.classify(ctx, op, prefix, err))
				return
			}
			if !yield(names, nil) || len(names) < queryPage {
				return
			}
			after = names[len(names)-1]
		}
	}
}

func (t tables) tablesAfter(ctx context.Context, prefix, after string) (names []string, err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	db, err := t.db.reading(ctx)
	if db == nil || err != nil {
		return nil, err
	}
	// Without case, as names are compared; table names have no byte above 'z'.
	rows, err := db.QueryContext(ctx,
		"SELECT name FROM tables WHERE name > ? AND name >= ? AND name < ? ORDER BY name LIMIT ?",
		after, prefix, prefix+"~", queryPage)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err has it.
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("%w: %w", errDamaged, err)
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// Query implements [store.TableReader].
func (t tables) Query(ctx context.Context, table string, q store.Query) iter.Seq2[[]store.Entity, error] {
	return func(yield func([]store.Entity, error) bool) {
		const op = "query table"
		err := store.CheckTable(table)
		if err == nil {
			err = store.CheckQuery(q)
		}
		if err != nil {
			yield(nil, invalid(op, table, err))
			return
		}
		var after *store.Key
		for {
			page, last, err := t.queryPage(ctx, table, q, after)
			if err != nil {
				yield(nil, t.db.classify(ctx, op, table, err))
				return
			}
			if !yield(page, nil) || last == nil {
				return
			}
			after = last
		}
	}
}

// queryPage is the number of rows read for one page.
const queryPage = 1000

// queryPage reads the rows after a key, or from the first if it is nil. last is the key to continue
// after, nil at the end.
func (t tables) queryPage(ctx context.Context, table string, q store.Query, after *store.Key) (page []store.Entity, last *store.Key, err error) {
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	db, err := t.db.reading(ctx)
	if err != nil {
		return nil, nil, err
	}
	if db == nil {
		return nil, nil, errNoTable
	}
	id, err := tableID(ctx, db, table)
	if err != nil {
		return nil, nil, err
	}
	where, args := conditions(q, after)
	rows, err := db.QueryContext(ctx, "SELECT pk, rk, properties FROM entities WHERE tbl = ?"+where+" ORDER BY pk, rk LIMIT ?",
		append(append([]any{id}, args...), queryPage)...)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err has it.
	var read time.Time
	if q.Times {
		read = time.Now().UTC()
	}
	n := 0
	var e store.Entity
	for ; rows.Next(); n++ {
		var stored sql.RawBytes
		if err := rows.Scan(&e.Partition, &e.Row, &stored); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", errDamaged, err)
		}
		properties, written, ok, err := selectProperties(stored, q)
		if err != nil {
			return nil, nil, classError{store.ErrInvalid, fmt.Errorf("entity %q: %w", e.Row, err)}
		}
		if ok {
			page = append(page, store.Entity{Key: e.Key, Properties: properties, Written: written, Read: read})
		}
	}
	if n == queryPage {
		last = &e.Key
	}
	return page, last, rows.Err()
}

// conditions returns the SQL conditions on the keys of a query; if after is not nil, only for keys after it.
// There is one lower bound, so that each page begins with a lookup in the primary key.
func conditions(q store.Query, after *store.Key) (where string, args []any) {
	switch {
	case q.PartitionTo == "" && after != nil:
		where, args = " AND pk = ? AND rk > ?", []any{q.Partition, after.Row}
	case q.PartitionTo == "":
		where, args = " AND pk = ? AND rk >= ?", []any{q.Partition, q.RowFrom}
	case after != nil:
		where, args = " AND (pk, rk) > (?, ?) AND pk < ? AND rk >= ?", []any{after.Partition, after.Row, q.PartitionTo, q.RowFrom}
	default:
		where, args = " AND pk >= ? AND pk < ? AND rk >= ?", []any{q.Partition, q.PartitionTo, q.RowFrom}
	}
	if q.RowTo != "" {
		where += " AND rk < ?"
		args = append(args, q.RowTo)
	}
	return where, args
}
