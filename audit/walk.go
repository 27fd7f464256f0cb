package audit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"sync/atomic"
	"time"

	"logstow/blobnaming"
	"logstow/catalog"
	"logstow/internal/problems"
	"logstow/internal/retry"
	"logstow/store"
	"logstow/tableindex"
)

// walk lists a service's blobs and starts the comparison of its days, including days that are only in the
// index. It ends early if a comparison fails.
func (a *auditor) walk(ctx context.Context, service string, tables []tableindex.Table) error {
	w := walk{a: a, service: service, left: make(map[tableDay][]tableindex.Table), batches: make(map[blobnaming.Batch]batch)}
	for _, t := range tables {
		at := tableDay{t.Day, t.Outputs}
		w.left[at] = append(w.left[at], t)
	}
	w.tables = maps.Clone(w.left)
	for _, outputs := range []bool{false, true} {
		if err := w.list(ctx, outputs); err != nil || w.failed.Load() {
			return err
		}
	}
	for at := range w.left {
		w.compare(ctx, part{service: service, day: at.day, outputs: at.outputs, last: hours}, nil)
	}
	return nil
}

// walk is the state of the walk of a service.
type walk struct {
	a       *auditor
	service string
	tables  map[tableDay][]tableindex.Table
	// left are the tables of days that have not been listed.
	left   map[tableDay][]tableindex.Table
	failed atomic.Bool
	// batches has the segments of the day that is being listed.
	batches map[blobnaming.Batch]batch
}

// tableDay is a day of the tables of segments or of those of outputs.
type tableDay struct {
	day     time.Time
	outputs bool
}

// list lists the blobs of a container and compares them, some hours of a day or the outputs of a day at a time.
func (w *walk) list(ctx context.Context, outputs bool) error {
	a := w.a
	var blobs []listedBlob
	first := 0 // the first hour of the day that is not compared yet
	p := func(day time.Time, last int) part {
		return part{service: w.service, day: day, outputs: outputs, first: first, last: last}
	}
	from, to := a.bounds()
	for page, err := range a.entries(ctx, outputs, w.service, from, to) {
		if err != nil {
			return err
		}
		if w.failed.Load() {
			return nil
		}
		for i := range page {
			e := &page[i]
			if !a.isListed(e) {
				noteRejection(blobs, e)
				continue
			}
			hour := e.Name.Bucket.Truncate(time.Hour)
			if n := len(blobs); n > 0 {
				switch current := blobs[n-1].hour; {
				case !current.Truncate(day).Equal(hour.Truncate(day)):
					clear(w.batches)
					w.compare(ctx, p(current.Truncate(day), hours), blobs)
					first, blobs = 0, nil
				case !hour.Equal(current) && n >= a.o.partBlobs:
					w.compare(ctx, p(current.Truncate(day), hourOf(hour)), blobs)
					first, blobs = hourOf(hour), nil
				}
			}
			if !outputs {
				w.noteBatch(e)
			}
			blobs = append(blobs, newListedBlob(e))
		}
	}
	if n := len(blobs); n > 0 {
		w.compare(ctx, p(blobs[n-1].hour.Truncate(day), hours), blobs)
	}
	return nil
}

// compare starts the comparison of a part, after waiting while others are compared.
func (w *walk) compare(ctx context.Context, p part, blobs []listedBlob) {
	at := tableDay{p.day, p.outputs}
	delete(w.left, at)
	p.tables = w.tables[at]
	w.a.comparisons.Go(func() error {
		if err := w.a.comparePart(ctx, p, blobs); err != nil {
			w.failed.Store(true)
			w.a.problem(ctx, fmt.Errorf("service %s, %s: %w", p.service, p.day.Format(time.DateOnly), err))
		}
		return nil
	})
}

// bounds returns the range of the run, zero if it is unlimited.
func (a *auditor) bounds() (from, to time.Time) {
	if a.o.From.IsZero() && a.o.To.Year() == 10000 {
		return from, to
	}
	return a.o.From, a.o.To
}

// entries lists the blobs of a service in one of the containers.
func (a *auditor) entries(ctx context.Context, outputs bool, service string, from, to time.Time) iter.Seq2[[]catalog.Entry, error] {
	if outputs {
		return a.catalog.Outputs(ctx, service, from, to)
	}
	return a.catalog.Raw(ctx, service, from, to)
}

// isListed counts a blob, and reports whether it has the name of a segment or output.
func (a *auditor) isListed(e *catalog.Entry) bool {
	switch e.Kind {
	case catalog.KindRejection:
		return false
	case catalog.KindMisplaced:
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.report.Misplaced++; len(a.report.MisplacedNames) < problems.Max {
			a.report.MisplacedNames = append(a.report.MisplacedNames, e.Blob.Name)
		}
		return false
	case catalog.KindOther:
		a.foreign.Add(1)
		return false
	}
	a.o.Progress.Blobs.Add(1)
	return true
}

// list lists a part's blobs again.
func (a *auditor) list(ctx context.Context, p part) (blobs []listedBlob, err error) {
	from, to := p.period()
	for page, err := range a.entries(ctx, p.outputs, p.service, from, to) {
		if err != nil {
			return nil, err
		}
		for i := range page {
			switch e := &page[i]; e.Kind {
			case catalog.KindMisplaced, catalog.KindOther:
			case catalog.KindRejection:
				noteRejection(blobs, e)
			default:
				blobs = append(blobs, newListedBlob(e))
			}
		}
	}
	return blobs, nil
}

// noteRejection marks the output that a marker rejects. The output is listed just before the marker.
func noteRejection(blobs []listedBlob, e *catalog.Entry) {
	if n := len(blobs); e.Kind == catalog.KindRejection && n > 0 && blobs[n-1].name == e.Name.String() {
		blobs[n-1].rejected = true
	}
}

func newListedBlob(e *catalog.Entry) listedBlob {
	b := listedBlob{name: e.Blob.Name, hour: e.Name.Bucket.Truncate(time.Hour), created: e.Created, outputs: e.Name.Output() > 0}
	if b.bad = e.Err; b.bad == nil {
		b.entity, b.bad = tableindex.NewEntity(*e.Blob)
	}
	var invalid *store.Error
	if errors.As(b.bad, &invalid) {
		b.bad = invalid.Err // the difference has the blob's name
	}
	return b
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
					if e := byName[entity.Name.String()]; e != nil && e.bad == nil && !e.rejected &&
						t.Name == e.entity.Table(a.container) && entity.Key() == e.entity.Key() && differ(e.entity, entity) == "" {
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
