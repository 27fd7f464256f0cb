package tableindex

import (
	"context"
	"iter"
	"time"

	"golang.org/x/sync/errgroup"

	"logstow/blobnaming"
	"logstow/store"
)

// concurrentPartitions is how many partitions are read concurrently: those of one table.
const concurrentPartitions = shards

// Range yields the entities of a service, of all classes, whose segments end at from or later and start
// before to, in no particular order. It lists the container's tables and reads the service's 16 partitions
// in each table of the range, several concurrently; then it lists and reads the tables of compaction's
// outputs. So if compaction removes the entity of a segment meanwhile, the output that contains the segment
// is yielded, also if it is the first one of its day.
//
// An undecodable entity yields an [*EntityError], and the others are still yielded. Any other error
// is yielded last. A table that is deleted meanwhile has expired and is not an error. If the loop ends
// early, Range cancels its requests and waits for them.
func Range(ctx context.Context, t store.TableReader, container, service string, from, to time.Time) iter.Seq2[[]Entity, error] {
	return func(yield func([]Entity, error) bool) {
		r := reader{tables: t, container: container, service: service, from: from, to: to, pages: make(chan segmentPage)}
		if !from.Before(to) {
			return
		}
		reading, cancel := context.WithCancel(ctx)
		defer func() {
			cancel()
			for range r.pages { // until the reader has ended
			}
		}()
		go r.run(reading)
		for p := range r.pages {
			if len(p.entities) > 0 && !yield(p.entities, nil) {
				return
			}
			for _, err := range p.malformed {
				if !yield(nil, err) {
					return
				}
			}
			if p.err != nil {
				yield(nil, p.err)
				return
			}
		}
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
		}
	}
}

// segmentPage is the result of one request.
type segmentPage struct {
	entities  []Entity
	malformed []error
	err       error
}

// reader reads the entities of one range.
type reader struct {
	tables             store.TableReader
	container, service string
	from, to           time.Time
	pages              chan segmentPage
}

// query returns the query of every partition, without the partition, for segments of a period. ok is false if nothing can match.
func (r *reader) query(period time.Duration) (q store.Query, ok bool) {
	q = store.Query{Where: []store.Condition{{Column: propType, Op: "eq", Value: typeSegment}}, Columns: columns()}
	q.RowFrom, q.RowTo, ok = rowRange(r.from, r.to, period)
	if !r.to.After(maxTime()) {
		before := blobnaming.FormatTime(r.to.UnixNano())
		q.Where = append(q.Where, store.Condition{Column: propStart, Op: "lt", Value: before})
	}
	return q, ok
}

// run reads all partitions of all tables of the range, then those of outputs, and closes pages.
func (r *reader) run(ctx context.Context) {
	defer close(r.pages)
	for _, outputs := range []bool{false, true} {
		tables, err := tablesOf(ctx, r.tables, r.container, outputs)
		if err != nil {
			r.send(ctx, segmentPage{err: err})
			return
		}
		period, partitions := time.Hour, shards
		if outputs {
			period, partitions = day, 1
		}
		q, ok := r.query(period)
		if !ok {
			continue
		}
		var group errgroup.Group
		group.SetLimit(concurrentPartitions)
		for _, t := range tables {
			if !t.Day.Before(r.to) || !t.Day.Add(day).After(r.from) {
				continue
			}
			for shard := range partitions {
				group.Go(func() error {
					r.read(ctx, t.Name, q, shard)
					return nil
				})
			}
		}
		_ = group.Wait() // failures are sent as a page
	}
}

// read reads one partition.
func (r *reader) read(ctx context.Context, table string, q store.Query, shard int) {
	q.Partition = partition(r.service, shard)
	for p := range queryPages(ctx, r.tables, table, q) {
		if p.err != nil {
			if !isMissing(p.err) {
				r.send(ctx, segmentPage{err: p.err})
			}
			return
		}
		decoded, malformed := decodeAll(r.container, table, p.entities)
		if !r.send(ctx, segmentPage{entities: decoded, malformed: append(p.malformed, malformed...)}) {
			return
		}
	}
}

// decodeAll decodes the entities of a page.
func decodeAll(container, table string, entities []store.Entity) (decoded []Entity, malformed []error) {
	for _, e := range entities {
		entity, err := decode(container, table, e)
		if err != nil {
			malformed = append(malformed, err)
			continue
		}
		decoded = append(decoded, entity)
	}
	return decoded, malformed
}

// send sends a page, unless ctx ends first.
func (r *reader) send(ctx context.Context, p segmentPage) bool {
	select {
	case r.pages <- p:
		return true
	case <-ctx.Done():
		return false
	}
}
