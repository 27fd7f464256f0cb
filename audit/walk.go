package audit

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"logstow/blobnaming"
	"logstow/internal/retry"
	"logstow/store"
	"logstow/tableindex"
)

// walk lists a service's blobs and starts the comparison of its days, including days that are only in the
// index. It ends early if a comparison fails.
func (a *auditor) walk(ctx context.Context, service string, tables []tableindex.Table) error {
	var failed atomic.Bool
	ofDay, left := make(map[time.Time][]tableindex.Table), make(map[time.Time]bool)
	for _, t := range tables {
		ofDay[t.Day] = append(ofDay[t.Day], t)
		left[t.Day] = true
	}
	compareHours := func(d time.Time, first, last int, blobs []listedBlob) {
		delete(left, d)
		p := part{service: service, day: d, first: first, last: last, tables: ofDay[d]}
		a.comparisons.Go(func() error { // waits while others are compared
			if err := a.comparePart(ctx, p, blobs); err != nil {
				failed.Store(true)
				a.problem(ctx, fmt.Errorf("service %s, %s: %w", service, d.Format(time.DateOnly), err))
			}
			return nil
		})
	}
	var blobs []listedBlob
	var current time.Time // the hour of the last of these blobs
	first := 0            // the first hour of the day that is not compared yet
	for _, prefix := range a.prefixes(service) {
		for page, err := range retry.List(ctx, a.blobs, prefix) {
			if err != nil {
				return err
			}
			if failed.Load() {
				return nil
			}
			for _, b := range page {
				hour, ok := a.hourOf(b.Name)
				if !ok {
					noteRejection(blobs, b.Name)
					continue
				}
				switch d := current.Truncate(day); {
				case len(blobs) == 0:
				case !d.Equal(hour.Truncate(day)):
					compareHours(d, first, hours, blobs)
					first, blobs = 0, nil
				case !hour.Equal(current) && len(blobs) >= a.o.partBlobs:
					compareHours(d, first, hourOf(hour), blobs)
					first, blobs = hourOf(hour), nil
				}
				current = hour
				blobs = append(blobs, newListedBlob(b, hour))
			}
		}
	}
	if len(blobs) > 0 {
		compareHours(current.Truncate(day), first, hours, blobs)
	}
	for d := range left {
		compareHours(d, 0, hours, nil)
	}
	return nil
}

// prefixes returns prefixes that cover a service's blobs of the range, or all of its blobs if the range is
// unlimited.
func (a *auditor) prefixes(service string) []string {
	if a.o.From.IsZero() || a.o.To.Year() == 10000 {
		return []string{service + "/"}
	}
	return blobnaming.Prefixes(service, a.o.From, a.o.To)
}

// hourOf returns the hour of a segment's name; false if the name is not that of a segment, or out of range. It
// counts the blob.
func (a *auditor) hourOf(name string) (time.Time, bool) {
	n, err := blobnaming.Parse(name)
	if err != nil {
		if _, err := blobnaming.ParseRejection(name); err != nil {
			a.foreign.Add(1)
		}
		return time.Time{}, false
	}
	if n.Bucket.Before(a.o.From) || !n.Bucket.Before(a.o.To) {
		return time.Time{}, false
	}
	a.o.Progress.Blobs.Add(1)
	return n.Bucket.Truncate(time.Hour), true
}

// list lists a part's blobs again.
func (a *auditor) list(ctx context.Context, p part) (blobs []listedBlob, err error) {
	for _, prefix := range p.prefixes() {
		for page, err := range retry.List(ctx, a.blobs, prefix) {
			if err != nil {
				return nil, err
			}
			for _, b := range page {
				if n, err := blobnaming.Parse(b.Name); err == nil {
					blobs = append(blobs, newListedBlob(b, n.Bucket.Truncate(time.Hour)))
				} else {
					noteRejection(blobs, b.Name)
				}
			}
		}
	}
	return blobs, nil
}

func newListedBlob(b store.Blob, hour time.Time) listedBlob {
	entity, err := tableindex.NewEntity(b)
	var e *store.Error
	if errors.As(err, &e) {
		err = e.Err // the difference has the blob's name
	}
	return listedBlob{name: b.Name, hour: hour, created: b.Created, entity: entity, bad: err}
}

// read reads the index entities of a part, and marks the blobs that match. The error is errTooMany
// if more than partEntities of more than an hour differ.
func (a *auditor) read(ctx context.Context, p part, blobs []listedBlob) (index indexPart, err error) {
	byName := make(map[string]*listedBlob, len(blobs))
	for i := range blobs {
		byName[blobs[i].name] = &blobs[i]
	}
	err = retry.Do(ctx, func() error {
		index = indexPart{entities: make(map[entityKey]tableindex.Entity), malformed: make(map[entityKey]*tableindex.EntityError)}
		for i := range blobs {
			blobs[i].agrees = false
		}
		for _, t := range p.tables {
			for page, err := range tableindex.Hours(ctx, a.tables, a.container, t, p.service, p.first, p.last) {
				var malformed *tableindex.EntityError
				switch {
				case errors.As(err, &malformed):
					at := entityKey{t.Name, malformed.Key}
					if a.orphans[at] {
						continue // reported as an entity of no service
					}
					index.malformed[at] = malformed
					index.count++
				case err != nil:
					return err
				}
				for _, entity := range page {
					index.count++
					if e := byName[entity.Name.String()]; e != nil && e.bad == nil && !e.rejected && t.Name == e.entity.Table(a.container) && entity.Key() == e.entity.Key() && differ(e.entity, entity) == "" {
						e.agrees, e.minutes = true, minutesHash(entity.Minutes)
						continue
					}
					entity.Minutes = nil // there are many, and the minutes are not needed
					index.entities[entityKey{t.Name, entity.Key()}] = entity
				}
				if len(index.entities)+len(index.malformed) > a.o.partEntities && p.last-p.first > 1 {
					return errTooMany
				}
			}
		}
		return nil
	})
	return index, err
}

// errTooMany reports that a part must be split.
var errTooMany = errors.New("too many entities at once")
