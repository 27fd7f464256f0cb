package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"logstow/catalog"
	"logstow/compaction"
)

// fit lists everything and moves the cutoffs until the kept blobs fit into MaxBytes. Segments that outputs
// of compaction contain do not count, because compaction removes them.
func (r *run) fit(ctx context.Context, p Policy, services []string) error {
	all := make(map[classDay]*Usage)
	var failures []error
	r.eachService(ctx, services, func(service string) {
		u := usage{r: r, days: make(map[classDay]*Usage)}
		// Whole years are listed as such.
		err := r.catalog.Walk(ctx, service, time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), r.cut.now.AddDate(1, 0, 0), nil,
			func(d *catalog.Day) error { return u.add(ctx, d) })
		r.mu.Lock()
		defer r.mu.Unlock()
		failures = append(failures, err)
		for key, own := range u.days {
			if sum := all[key]; sum != nil {
				sum.Blobs += own.Blobs
				sum.Bytes += own.Bytes
			} else {
				all[key] = own
			}
		}
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := errors.Join(failures...); err != nil {
		return err // the sizes are not known
	}
	days := make([]Usage, 0, len(all))
	for _, u := range all {
		days = append(days, *u)
	}
	var left int64
	if r.cut, left = r.cut.Fit(days); left > p.MaxBytes {
		r.problem(fmt.Errorf("%d bytes remain, more than the %d allowed: today's and those of classes that are not named stay",
			left, p.MaxBytes))
	}
	r.o.Progress.Listed.Store(0)
	r.o.Progress.Found.Store(0)
	return nil
}

// usage sums the usage of a service.
type usage struct {
	r    *run
	days map[classDay]*Usage
}

// add adds a day, without the segments that outputs contain.
func (u *usage) add(ctx context.Context, d *catalog.Day) error {
	for _, entries := range [][]catalog.Entry{d.Raw, d.Compacted} {
		for i := range entries {
			u.count(d.Day, &entries[i], 1)
		}
	}
	for _, c := range compaction.Chains(d) {
		places, err := u.r.catalog.Places(ctx, c.Plain, c.Outputs)
		if err != nil {
			return err
		}
		for i, place := range places {
			if place.Contained() {
				u.count(d.Day, &catalog.Entry{Kind: catalog.KindPlain, Segment: c.Plain[i]}, -1)
			}
		}
	}
	return nil
}

// count adds or subtracts a listed segment.
func (u *usage) count(at time.Time, e *catalog.Entry, sign int64) {
	class, ok := classOf(e)
	if !ok {
		return
	}
	key := classDay{class, at}
	if u.days[key] == nil {
		u.days[key] = &Usage{Class: key.class, Day: key.day}
	}
	u.days[key].Blobs += sign
	u.days[key].Bytes += sign * e.Size
}
