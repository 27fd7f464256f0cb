// Package watch makes logs visible sooner while they are read: a [Watcher] creates watches on services, and shippers
// ([Flusher]) flush the services that are watched early, until the watches expire.
//
// Watches and the shippers that respond to them are entities of a separate table, which docs/format/watches.md describes. The
// age of an entity is measured by storage's clock alone: the time from its last write to the response that contains it. So no
// writer can create a watch that outlives [Lifetime], and clocks need not agree.
package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"logstow/store"
	"logstow/tableindex"
)

const (
	// Lifetime is the age from which a watch has expired, and a shipper counts as gone.
	Lifetime = 45 * time.Second
	// Renewal is the maximum interval at which a watcher renews its watches, and shippers report that they respond.
	Renewal = 15 * time.Second
	// IdleAfter is the time after the last watch on any of its services after which a shipper polls every
	// [Settings.IdleInterval].
	IdleAfter = time.Hour
	// IdleInterval is the IdleInterval of shippers of stores whose requests are billed.
	IdleInterval = time.Minute
	// newFor is the time for which a watch is new: shippers that poll every IdleInterval have read it afterwards.
	newFor = IdleInterval + 5*time.Second
	// MinFlushInterval is the minimum time between two early flushes of a service by a shipper.
	MinFlushInterval = 2 * time.Second
	// flushSpacing is the time between two early flushes of a service by any of its shippers, if there are more than 20.
	flushSpacing = 100 * time.Millisecond
	// garbageAge is the age from which a watcher removes the entity of a shipper.
	garbageAge = 24 * time.Hour
)

// FlushInterval returns the time between two early flushes of a service by one shipper, when n shippers respond to the watch.
func FlushInterval(n int) time.Duration {
	return max(MinFlushInterval, time.Duration(n)*flushSpacing)
}

// Table returns the name of the table that holds a container's watches.
func Table(container string) string { return "watches" + tableindex.ContainerHash(container) }

// The keys and properties of entities.
const (
	// watchPartition has all watches of the table. No service has such a name.
	watchPartition = "watch|"
	shipperPrefix  = "shipper|"
	// after is appended to a key as the exclusive end of a range that includes the key: it sorts before all characters of names.
	after = "!"

	propVersion  = "V"
	propShippers = "Shippers"
	propNew      = "New"
	propFlushed  = "Flushed"
	// version is the value of V; readers ignore entities with another value.
	version = 1
)

// Watch is a watch on a service, as it was read.
type Watch struct {
	Service string `json:"service"`
	// Shippers is the number of shippers that responded when the watch was renewed.
	Shippers int `json:"shippers"`
	// Written is when the watch was renewed, Clock when it was read, both by storage's clock.
	Written time.Time `json:"written"`
	Clock   time.Time `json:"clock"`
	// Read is when it was read, by this process's clock.
	Read time.Time `json:"-"`

	// isNew is set if shippers that poll every IdleInterval may not have read the watch when it was written.
	isNew bool
}

// live reports whether the watch was live when it was read, and how long it remains so.
func (w Watch) live() (left time.Duration, ok bool) {
	left = Lifetime - w.Clock.Sub(w.Written)
	return left, !w.Written.IsZero() && left > 0
}

// idle reports whether shippers may poll every IdleInterval: no one watched the service lately, or only for so short a time
// that shippers may not know.
func (w Watch) idle() bool {
	return w.isNew || w.Written.IsZero() || w.Clock.Sub(w.Written) >= IdleAfter
}

// Shipper is a shipper that responds to watches on a service.
type Shipper struct {
	Service, Instance string
	// Flushed is a time by storage's clock: all records of the service that the shipper had read by then are in storage. It is
	// zero if the shipper has not flushed yet.
	Flushed time.Time
	// age is the age of its last report.
	age time.Duration
}

// live reports whether the shipper has reported lately.
func (s Shipper) live() bool { return s.age < Lifetime }

func watchEntity(service string, shippers int, isNew bool) store.Entity {
	e := store.Entity{Key: store.Key{Partition: watchPartition, Row: service}, Properties: map[string]any{
		propVersion: int64(version), propShippers: int64(shippers), propNew: int64(0),
	}}
	if isNew {
		e.Properties[propNew] = int64(1)
	}
	return e
}

func shipperEntity(s Shipper) store.Entity {
	flushed := int64(0)
	if !s.Flushed.IsZero() {
		flushed = s.Flushed.UnixNano()
	}
	return store.Entity{Key: store.Key{Partition: s.Service, Row: shipperPrefix + s.Instance}, Properties: map[string]any{
		propVersion: int64(version), propFlushed: flushed,
	}}
}

// readWatches reads the watches, live or expired, on the services from first to last in order of name. It needs one request of one
// partition per thousand watches, whatever the number of shippers.
func readWatches(ctx context.Context, t store.TableReader, table, first, last string) (all []Watch, err error) {
	q := store.Query{
		Partition: watchPartition, RowFrom: first, RowTo: last + after, Times: true,
		Columns: []store.Column{{Name: propVersion, Kind: store.Int64}, {Name: propShippers, Kind: store.Int64}, {Name: propNew, Kind: store.Int64}},
	}
	err = query(ctx, t, table, q, func(e store.Entity) {
		shippers, _ := e.Properties[propShippers].(int64)
		all = append(all, Watch{
			Service:  e.Row,
			Shippers: int(max(0, shippers)),
			isNew:    e.Properties[propNew] == int64(1),
			Written:  e.Written,
			Clock:    e.Read,
			Read:     time.Now(),
		})
	})
	return all, err
}

// readShippers reads the shippers that have ever responded to watches on a service.
func readShippers(ctx context.Context, t store.TableReader, table, service string) (all []Shipper, err error) {
	q := store.Query{
		Partition: service, RowFrom: shipperPrefix, RowTo: shipperPrefix + "~", Times: true,
		Columns: []store.Column{{Name: propVersion, Kind: store.Int64}, {Name: propFlushed, Kind: store.Int64}},
	}
	err = query(ctx, t, table, q, func(e store.Entity) {
		s := Shipper{Service: service, Instance: strings.TrimPrefix(e.Row, shipperPrefix), age: garbageAge}
		if !e.Written.IsZero() {
			s.age = e.Read.Sub(e.Written)
		}
		if flushed, _ := e.Properties[propFlushed].(int64); flushed > 0 {
			s.Flushed = time.Unix(0, flushed)
		}
		all = append(all, s)
	})
	return all, err
}

// Denied reports whether err means that the store allows no watches until an operator acts. Other failures are temporary; a
// missing table is created by the next watcher.
func Denied(err error) bool {
	return errors.Is(err, store.ErrAccessDenied) || errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrUnusable)
}

// query calls each with the entities that have the current version. A missing table is the same as an empty one.
func query(ctx context.Context, t store.TableReader, table string, q store.Query, each func(store.Entity)) error {
	for page, err := range t.Query(ctx, table, q) {
		switch {
		case errors.Is(err, store.ErrNoTable):
			return nil
		case err != nil:
			return fmt.Errorf("cannot read watches: %w", err)
		}
		for _, e := range page {
			if e.Properties[propVersion] == int64(version) {
				each(e)
			}
		}
	}
	return nil
}
