package tableindex

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
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
	// Outputs is set if the table has the entities of outputs of compaction, which are in no other.
	Outputs bool
}

// Tables returns a container's tables, in order of name, and then those of its outputs. It skips other tables of the account.
func Tables(ctx context.Context, t store.TableReader, container string) ([]Table, error) {
	raw, err := tablesOf(ctx, t, container, false)
	if err != nil {
		return nil, err
	}
	outputs, err := tablesOf(ctx, t, container, true)
	return append(raw, outputs...), err
}

// tablesOf returns a container's tables, or those of its outputs.
func tablesOf(ctx context.Context, t store.TableReader, container string, outputs bool) (all []Table, err error) {
	if outputs {
		container = store.CompactedContainer(container)
	}
	prefix := tablePrefix(container)
	for names, err := range t.Tables(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if table, ok := parseTable(prefix, name); ok {
				table.Outputs = outputs
				all = append(all, table)
			}
		}
	}
	return all, nil
}

// parseTable parses the name of a container's table, which starts with prefix. It returns false for other
// tables.
func parseTable(prefix, name string) (Table, bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok || len(rest) < len(dayLayout) {
		return Table{}, false
	}
	class, date := rest[:len(rest)-len(dayLayout)], rest[len(rest)-len(dayLayout):]
	start, err := time.Parse(dayLayout, date)
	return Table{Name: name, Class: class, Day: start}, err == nil && blobnaming.ValidClass(class)
}

// NewEntity returns the entity that the index must have for a listed segment, without Minutes, which are
// only in the segment's footer. The error reports a blob that is not a segment or cannot have an entity.
func NewEntity(b store.Blob) (Entity, error) {
	name, err := parseName(b.Name)
	if err != nil {
		return Entity{}, err
	}
	r := Entity{Name: name, ETag: b.ETag, Size: b.Size}
	if r.Meta, err = blobnaming.ParseMetadata(b.Metadata); err == nil {
		err = r.check()
	}
	if err != nil {
		return Entity{}, &store.Error{Op: "index", Object: b.Name, Class: store.ErrInvalid, Err: err}
	}
	return r, nil
}

// Key is the entity's key in its table.
func (r Entity) Key() store.Key { return keyOf(r) }

// Table is the name of the entity's table in a container's index.
func (r Entity) Table(container string) string { return tableOf(container, r) }

// Entities yields the entities of one table, grouped by service, for one service or, if service is
// "", for all. Errors are as with [Range]; a missing table has no entities.
func Entities(ctx context.Context, t store.TableReader, container, table, service string) iter.Seq2[[]Entity, error] {
	return func(yield func([]Entity, error) bool) {
		q := scan(service)
		q.Columns = columns()
		yieldEntities(ctx, t, container, table, q, yield)
	}
}

// Hours is Entities for the segments of one service and the hours from first (included) to last (excluded)
// of the table's day. For the whole day, 0 to 24, it includes entities with invalid row keys. Otherwise it
// reads each of the service's 16 partitions separately.
func Hours(ctx context.Context, t store.TableReader, container string, table Table, service string, first, last int) iter.Seq2[[]Entity, error] {
	if first <= 0 && last >= hoursInDay {
		return Entities(ctx, t, container, table.Name, service)
	}
	return func(yield func([]Entity, error) bool) {
		from, to := table.Day.Add(time.Duration(first)*time.Hour), table.Day.Add(time.Duration(last)*time.Hour)
		rowFrom, rowTo, ok := rowRange(from, to, time.Hour)
		if !ok {
			return
		}
		if first <= 0 {
			rowTo = "" // keys begin with an inverted time
		}
		if last >= hoursInDay {
			rowFrom = ""
		}
		for shard := range shards {
			q := scan("")
			q.Partition, q.PartitionTo, q.RowFrom, q.RowTo, q.Columns = partition(service, shard), "", rowFrom, rowTo, columns()
			if !yieldEntities(ctx, t, container, table.Name, q, yield) {
				return
			}
		}
	}
}

// yieldEntities yields the results of a query. It returns false if the caller must stop.
func yieldEntities(ctx context.Context, t store.TableReader, container, table string, q store.Query, yield func([]Entity, error) bool) bool {
	for p := range queryPages(ctx, t, table, q) {
		if p.err != nil {
			if !isMissing(p.err) {
				yield(nil, p.err)
			}
			return false
		}
		decoded, malformed := decodeAll(container, table, p.entities)
		if len(decoded) > 0 && !yield(decoded, nil) {
			return false
		}
		for _, err := range append(p.malformed, malformed...) {
			if !yield(nil, err) {
				return false
			}
		}
	}
	return true
}

// Services returns the services that have entities in a table, in order. It skips entities in partitions of
// no service. A missing table has no services.
func Services(ctx context.Context, t store.TableReader, table string) ([]string, error) {
	services, _, err := Survey(ctx, t, table)
	return services, err
}

// Survey is Services, and returns also the keys of entities in partitions of no service. It reads all keys.
func Survey(ctx context.Context, t store.TableReader, table string) (services []string, orphans []store.Key, err error) {
	for entities, err := range t.Query(ctx, table, scan("")) {
		switch {
		case isMissing(err):
			return nil, nil, nil
		case err != nil:
			return nil, nil, err
		}
		for _, e := range entities {
			service, ok := serviceOf(e.Partition)
			switch {
			case !ok:
				orphans = append(orphans, e.Key)
			case len(services) == 0 || services[len(services)-1] != service:
				services = append(services, service)
			}
		}
	}
	slices.Sort(services) // partitions "a-b|00" come before "a|00"
	return slices.Compact(services), orphans, nil
}

// serviceOf returns the service of a partition.
func serviceOf(name string) (service string, ok bool) {
	service, shard, _ := strings.Cut(name, separator)
	n, err := strconv.ParseUint(shard, 16, 8)
	return service, err == nil && n < shards && name == partition(service, int(n)) && blobnaming.ValidService(service)
}

// Remove removes entities from a table by their keys, in transactions of at most
// [store.MaxTransaction]. Missing entities and a missing table count as removed.
func Remove(ctx context.Context, t store.Tables, table string, keys []store.Key) error {
	sorted := slices.Clone(keys)
	slices.SortFunc(sorted, orderKeys)
	sorted = slices.Compact(sorted)
	for len(sorted) > 0 {
		n := 1
		for n < min(len(sorted), store.MaxTransaction) && sorted[n].Partition == sorted[0].Partition {
			n++
		}
		if err := t.Remove(ctx, table, sorted[:n]); err != nil && !isMissing(err) {
			return err
		}
		sorted = sorted[n:]
	}
	return nil
}

// scan selects the entities of a service, or of all.
func scan(service string) store.Query {
	q := store.Query{PartitionTo: "~", Where: []store.Condition{{Column: propType, Op: "eq", Value: typeSegment}}}
	if service != "" {
		q.Partition, q.PartitionTo = service+separator, service+afterSeparator
	}
	return q
}

// isMissing reports whether a table does not exist.
func isMissing(err error) bool {
	return errors.Is(err, store.ErrNoTable) || errors.Is(err, store.ErrTableBusy)
}
