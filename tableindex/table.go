package tableindex

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"logstow/blobnaming"
	"logstow/store"
)

// Table is one table of a container's index: that of a class and a day.
type Table struct {
	Name, Class string
	// Day is the day's start, UTC.
	Day time.Time
}

// Tables are a container's tables, in order of name. Other tables of the account are left out.
func Tables(ctx context.Context, t store.TableReader, container string) ([]Table, error) {
	prefix := tablePrefix(container)
	var all []Table
	for names, err := range t.Tables(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if table, ok := parseTable(prefix, name); ok {
				all = append(all, table)
			}
		}
	}
	return all, nil
}

// parseTable reads the name of a container's table, which prefix starts. It is
// false for a table that is not one of ours.
func parseTable(prefix, name string) (Table, bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok || len(rest) < len(dayLayout) {
		return Table{}, false
	}
	class, date := rest[:len(rest)-len(dayLayout)], rest[len(rest)-len(dayLayout):]
	start, err := time.Parse(dayLayout, date)
	return Table{Name: name, Class: class, Day: start}, err == nil && blobnaming.ValidClass(class)
}

// NewRow is what the index must say of a listed segment, without minutes, which only
// its footer knows. What is not a segment, or can have no row, is an error that names the blob.
func NewRow(b store.Blob) (Row, error) {
	name, err := blobnaming.Parse(b.Name)
	if err != nil {
		return Row{}, err
	}
	r := Row{Name: name, ETag: b.ETag, Size: b.Size}
	if r.Meta, err = blobnaming.ParseMetadata(b.Metadata); err == nil {
		err = r.check()
	}
	if err != nil {
		return Row{}, &store.Error{Op: "index", Object: b.Name, Class: store.ErrInvalid, Err: err}
	}
	return r, nil
}

// Key is the row's place in its table.
func (r Row) Key() store.Key { return keyOf(r) }

// Table is the name of the row's table in a container's index.
func (r Row) Table(container string) string { return tableOf(container, r) }

// Rows yields the rows of one table, a service's together, for one service or, where
// service is "", for all. Errors are as with [Range]; a missing table has no rows.
func Rows(ctx context.Context, t store.TableReader, container, table, service string) iter.Seq2[[]Row, error] {
	return func(yield func([]Row, error) bool) {
		q := scan(service)
		q.Columns = columns()
		for entities, err := range t.Query(ctx, table, q) {
			switch {
			case gone(err):
				return
			case err != nil:
				yield(nil, err)
				return
			}
			rows, malformed := decodeAll(container, table, entities)
			if len(rows) > 0 && !yield(rows, nil) {
				return
			}
			for _, err := range malformed {
				if !yield(nil, err) {
					return
				}
			}
		}
	}
}

// Services are the services that have rows in a table, in order. Entities with
// other keys than a service's are left out; a missing table has none.
func Services(ctx context.Context, t store.TableReader, table string) ([]string, error) {
	var all []string
	for entities, err := range t.Query(ctx, table, scan("")) {
		switch {
		case gone(err):
			return nil, nil
		case err != nil:
			return nil, err
		}
		for _, e := range entities {
			service, _, ok := strings.Cut(e.Partition, separator)
			if ok && blobnaming.ValidService(service) && (len(all) == 0 || all[len(all)-1] != service) {
				all = append(all, service)
			}
		}
	}
	slices.Sort(all) // partitions "a-b|00" come before "a|00"
	return slices.Compact(all), nil
}

// Remove removes rows from a table by their keys, in transactions of at most
// [store.MaxTransaction]. What is missing, the table too, counts as removed.
func Remove(ctx context.Context, t store.Tables, table string, keys []store.Key) error {
	sorted := slices.Clone(keys)
	slices.SortFunc(sorted, orderKeys)
	sorted = slices.Compact(sorted)
	for len(sorted) > 0 {
		n := 1
		for n < min(len(sorted), store.MaxTransaction) && sorted[n].Partition == sorted[0].Partition {
			n++
		}
		if err := t.Remove(ctx, table, sorted[:n]); err != nil && !gone(err) {
			return err
		}
		sorted = sorted[n:]
	}
	return nil
}

// scan selects the rows of a service, or of all.
func scan(service string) store.Query {
	q := store.Query{PartitionTo: "~", Where: []store.Condition{{Column: propType, Op: "eq", Value: typeSegment}}}
	if service != "" {
		q.Partition, q.PartitionTo = service+separator, service+afterSeparator
	}
	return q
}

// gone reports whether a table is not there (any more).
func gone(err error) bool {
	return errors.Is(err, store.ErrNoTable) || errors.Is(err, store.ErrTableBusy)
}
