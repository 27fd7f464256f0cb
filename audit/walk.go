package audit

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"logstow/blobnaming"
	"logstow/internal/patience"
	"logstow/store"
	"logstow/tableindex"
)

// walk compares a service day by day, as its blobs are listed, and then the days of
// which the index alone has something.
func (a *auditor) walk(ctx context.Context, service string, tables []tableindex.Table) error {
	ofDay := make(map[time.Time][]tableindex.Table)
	for _, t := range tables {
		ofDay[t.Day] = append(ofDay[t.Day], t)
	}
	look := func(d time.Time, blobs []entry) error {
		at := serviceDay{service, d, ofDay[d]}
		delete(ofDay, d)
		return a.look(ctx, at, blobs)
	}
	var current time.Time
	var blobs []entry
	for _, prefix := range a.prefixes(service) {
		for page, err := range patience.List(ctx, a.blobs, prefix) {
			if err != nil {
				return err
			}
			for _, b := range page {
				d, ok := a.dayOf(b.Name)
				if !ok {
					continue
				}
				if !d.Equal(current) && len(blobs) > 0 {
					if err := look(current, blobs); err != nil {
						return err
					}
					blobs = nil
				}
				current = d
				blobs = append(blobs, newEntry(b))
			}
		}
	}
	if len(blobs) > 0 {
		if err := look(current, blobs); err != nil {
			return err
		}
	}
	for d := range ofDay {
		if err := look(d, nil); err != nil {
			return err
		}
	}
	return nil
}

// prefixes cover a service's blobs of the range; more where the range has no bound.
func (a *auditor) prefixes(service string) []string {
	if a.o.From.IsZero() || a.o.To.Year() == 10000 {
		return []string{service + "/"}
	}
	return blobnaming.Prefixes(service, a.o.From, a.o.To)
}

// dayOf is the day of a segment's name; false is one that is none, or is out of range.
func (a *auditor) dayOf(name string) (time.Time, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, err := blobnaming.Parse(name)
	if err != nil {
		a.report.Foreign++
		return time.Time{}, false
	}
	d := n.Bucket.Truncate(day)
	if d.Before(a.o.From) || !d.Before(a.o.To) {
		return time.Time{}, false
	}
	a.report.Blobs++
	a.o.Progress.Blobs.Add(1)
	return d, true
}

func newEntry(b store.Blob) entry {
	row, err := tableindex.NewRow(b)
	var e *store.Error
	if errors.As(err, &e) {
		err = e.Err // the blob is named anyway
	}
	return entry{name: b.Name, row: row, bad: err}
}

// look compares a day for the first time. What differs is repaired if that is asked
// for and safe; else the day is looked at again, for shippers and retention may be at work.
func (a *auditor) look(ctx context.Context, at serviceDay, blobs []entry) error {
	index, err := a.read(ctx, at)
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.report.Entities += int64(len(index.rows) + len(index.malformed))
	a.mu.Unlock()
	differences, err := a.examine(ctx, blobs, index)
	if err != nil || len(differences) == 0 {
		return err
	}
	if a.repair {
		safe := func(d Difference) bool { return d.put != nil && len(d.remove) == 0 }
		var left []Difference
		if left, err = a.repairAll(ctx, differences, safe); err != nil || len(left) == 0 {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.doubtful = append(a.doubtful, at)
	return nil
}

// lookAgain compares days that differed, after a while. Entities are read before blobs
// are listed: an entity is written after its blob, so one without is not of a new blob.
func (a *auditor) lookAgain(ctx context.Context) error {
	if len(a.doubtful) == 0 || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(a.o.Settle)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	tables, err := a.listTables(ctx) // some may be new
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(servicesAtOnce)
	for _, at := range a.doubtful {
		at.tables = slices.DeleteFunc(slices.Clone(tables), func(t tableindex.Table) bool { return !t.Day.Equal(at.day) })
		group.Go(func() error {
			if err := a.settle(ctx, at); err != nil {
				a.problem(ctx, err)
			}
			return nil
		})
	}
	_ = group.Wait() // what fails is in the report
	return context.Cause(ctx)
}

// settle compares a day once more and repairs or reports what still differs.
func (a *auditor) settle(ctx context.Context, at serviceDay) error {
	index, err := a.read(ctx, at)
	if err != nil {
		return err
	}
	var blobs []entry
	for page, err := range patience.List(ctx, a.blobs, blobnaming.Prefixes(at.service, at.day, at.day.Add(day))[0]) {
		if err != nil {
			return err
		}
		for _, b := range page {
			if _, err := blobnaming.Parse(b.Name); err == nil {
				blobs = append(blobs, newEntry(b))
			}
		}
	}
	differences, err := a.examine(ctx, blobs, index)
	if err == nil && a.repair {
		differences, err = a.repairAll(ctx, differences, func(d Difference) bool { return d.put != nil || len(d.remove) > 0 })
	}
	slices.SortFunc(differences, compareDifferences)
	a.found(differences)
	return err
}

// read reads what the index says of a service and day.
func (a *auditor) read(ctx context.Context, at serviceDay) (index indexed, err error) {
	err = patience.Do(ctx, func() error {
		index = indexed{make(map[place]tableindex.Row), make(map[place]*tableindex.EntityError)}
		for _, t := range at.tables {
			for rows, err := range tableindex.Rows(ctx, a.tables, a.container, t.Name, at.service) {
				var malformed *tableindex.EntityError
				switch {
				case errors.As(err, &malformed):
					index.malformed[place{t.Name, malformed.Key}] = malformed
				case err != nil:
					return err
				}
				for _, row := range rows {
					index.rows[place{t.Name, row.Key()}] = row
				}
			}
		}
		return nil
	})
	return index, err
}
