package plan

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"logstow/internal/units"
	"logstow/query/explain"
	"logstow/query/source"

	"logstow/catalog"
	"logstow/store"
	"logstow/tableindex"
)

// ErrForeign is the cause of a problem with a blob that a version of Logstow wrote and this one cannot read.
var ErrForeign = errors.New("not a segment that this program reads; its records are missing here")

// A listing is the search for one service in one store.
type listing struct {
	planner *Planner
	store   *source.Store
	catalog *catalog.Catalog
	found   *segments
	service string

	mu             sync.Mutex
	segments       []*source.Segment
	latest         time.Time
	listed, pruned int64
	findings       explain.Listed
	problems       []*source.Problem
	otherBlobs     int    // number of blobs that are not segments
	otherBlob      string // the name of the first one
}

// walk adds the segments of both containers.
func (l *listing) walk(ctx context.Context) error {
	from, to := l.planner.listingRange(l.store)
	l.planner.Recorder.Prefixes.Add(1)
	return l.finish(ctx, l.catalog.Walk(ctx, l.service, from, to, l.keep, func(d *catalog.Day) error {
		l.addDay(d)
		return nil
	}))
}

// raw adds the segments of the raw container.
func (l *listing) raw(ctx context.Context) error {
	from, to := l.planner.listingRange(l.store)
	l.planner.Recorder.Prefixes.Add(1)
	for page, err := range l.catalog.Raw(ctx, l.service, from, to) {
		if err != nil {
			return l.finish(ctx, err)
		}
		for i := range page {
			if e := &page[i]; l.keep(e) {
				l.add(e)
			}
		}
	}
	return l.finish(ctx, nil)
}

// index adds the segments that are in the index.
func (l *listing) index(ctx context.Context) error {
	l.planner.Recorder.Prefixes.Add(1)
	sel := l.planner.Matcher.Selection
	err := source.Retry(ctx, func() error {
		*l = listing{planner: l.planner, store: l.store, catalog: l.catalog, found: l.found, service: l.service}
		for rows, err := range tableindex.Range(ctx, l.store.Tables, l.store.Container, l.service, sel.From, sel.To) {
			var malformed *tableindex.EntityError
			switch {
			case errors.As(err, &malformed):
				l.problems = append(l.problems, &source.Problem{Store: l.store.Name, Object: l.store.Name + ": " + l.service, Err: err})
			case err != nil:
				return err
			}
			for i := range rows {
				l.listed++
				s := catalog.Segment{Name: rows[i].Name, Meta: rows[i].Meta, Size: rows[i].Size, ETag: rows[i].ETag}
				if e := (catalog.Entry{Kind: catalog.KindPlain, Segment: s}); l.mayMatch(&e) {
					l.add(&e)
				}
			}
		}
		return nil
	})
	return l.finish(ctx, err)
}

// addDay adds what was kept of a day.
func (l *listing) addDay(d *catalog.Day) {
	for i := range d.Raw {
		l.add(&d.Raw[i])
	}
	rejected := d.Rejected()
	for i := range d.Compacted {
		if e := &d.Compacted[i]; e.Kind == catalog.KindOutput && !rejected[e.Name] {
			l.add(e)
		}
	}
}

// keep counts a listed blob, and reports whether it may contain matches, or is a rejection.
func (l *listing) keep(e *catalog.Entry) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listed++
	p := l.planner
	if e.Kind == catalog.KindOther && parseAnalytics(e) {
		e.Kind = catalog.KindForeign
		if !e.Name.Overlaps(p.listingRange(l.store)) {
			l.pruned++
			return false
		}
	}
	switch e.Kind {
	case catalog.KindRejection:
		return true
	case catalog.KindOther, catalog.KindMisplaced:
		if l.otherBlobs++; l.otherBlobs == 1 {
			l.otherBlob = e.Blob.Name
		}
		return false
	}
	if e.Kind != catalog.KindOutput {
		l.latest = latest(l.latest, e.Created)
	}
	if p.Since != nil && e.Created.Before(*p.Since) {
		return false
	}
	switch e.Kind {
	case catalog.KindForeign:
		return l.foreign(e)
	case catalog.KindUnreadable:
		l.problems = append(l.problems, &source.Problem{
			Store:  l.store.Name,
			Object: e.Blob.Name,
			Err:    fmt.Errorf("%w: %w", ErrForeign, e.Err),
		})
		return false
	}
	return l.mayMatch(e)
}

// mayMatch reports whether a segment may contain matches by its metadata.
func (l *listing) mayMatch(e *catalog.Entry) bool {
	m, meta := l.planner.Matcher, &e.Meta
	if !e.Name.Contains(meta.Start, meta.End) {
		l.problems = append(l.problems, &source.Problem{
			Store:  l.store.Name,
			Object: e.Name.String(),
			Err:    fmt.Errorf("%w: the times in its metadata are not in the period of its name; was it renamed?", ErrForeign),
		})
		return false
	}
	if m.InRange(meta.Start, meta.End) {
		l.findings.Segments++
		l.findings.Outputs = l.findings.Outputs || meta.IsOutput()
		l.findings.Levels.Add(meta.Levels)
		if !meta.Mixed() {
			l.findings.AddOrigin(l.service, meta.Instance)
		}
	}
	if !m.MayMatch(meta.Start, meta.End, meta.Levels) || !meta.Mixed() && !m.MayMatchOrigin(l.service, meta.Instance) {
		l.pruned++
		return false
	}
	return true
}

// add adds a blob that was kept.
func (l *listing) add(e *catalog.Entry) {
	blobs := l.catalog.Blobs
	if e.Meta.IsOutput() {
		blobs = l.catalog.Compacted
	}
	l.segments = append(l.segments, &source.Segment{
		Store: l.store.Name, Name: e.Name, Meta: e.Meta, Size: e.Size, ETag: e.ETag, Tier: e.Tier, Created: e.Created,
		Foreign: e.Kind == catalog.KindForeign, Blobs: source.InTier(blobs, e.Tier), Catalog: l.catalog, Cache: l.store.Cache,
	})
}

// foreign sets the metadata of a blob that another program wrote, and reports whether it may have records of the range.
func (l *listing) foreign(e *catalog.Entry) bool {
	e.Meta = foreignMetadata(l.store, e.Name, e.Blob)
	if !l.planner.Matcher.InRange(e.Meta.Start, e.Meta.End) || e.Size == 0 {
		l.pruned++
		return false
	}
	l.findings.Foreign++
	return true
}

// finish adds the result of a listing that ended with err, which may be nil. A failure is a problem in the report; an error is returned
// only if ctx has ended.
func (l *listing) finish(ctx context.Context, err error) error {
	p := l.planner
	p.Recorder.SegmentsListed.Add(l.listed)
	p.Recorder.SegmentsPruned.Add(l.pruned)
	l.findings.Some = l.listed > 0
	p.Findings.AddListed(l.service, &l.findings)
	for _, problem := range l.problems {
		p.Recorder.Problem(problem)
	}
	if l.otherBlobs > 0 {
		p.Recorder.Note("%s/: not segments and not read: %s, for example %q", l.service, units.Count(l.otherBlobs, "blob"), l.otherBlob)
	}
	l.found.mu.Lock()
	l.found.all = append(l.found.all, l.segments...)
	l.found.latest = latest(l.found.latest, l.latest)
	l.found.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil, store.Retryable(err) && !l.found.setDown(l.store):
		return nil
	}
	p.Recorder.Problem(&source.Problem{Store: l.store.Name, Object: l.store.Name + ": " + l.service, Err: err})
	return nil
}
