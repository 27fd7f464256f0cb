package fetch

import (
	"context"
	"errors"
	"time"

	"logstow/query/source"

	"logstow/blobnaming"
	"logstow/catalog"
	"logstow/store"
)

// readFailed records a failure to read a segment, or a part of it, as a problem, unless its records have moved, or retention
// has deleted it since it was listed.
func (f *Fetcher) readFailed(ctx context.Context, s *source.Segment, err error) {
	if f.moved(ctx, s, err) || ctx.Err() != nil {
		return
	}
	if errors.Is(err, store.ErrNotFound) && f.isExpired(ctx, s) {
		return
	}
	f.Recorder.SegmentProblem(s, err)
}

// isExpired reports whether all segments of a segment's service, class and day are gone, which means that retention deleted
// them: it deletes whole days. Each day is noted once.
func (f *Fetcher) isExpired(ctx context.Context, s *source.Segment) bool {
	scope := s.Entry().Scope()
	key := s.Store + " " + scope.String()
	if gone, known := f.expired.days.Load(key); known {
		return gone.(bool) //nolint:forcetypeassert // nothing else is stored
	}
	gone := true
	err := s.Catalog.Walk(ctx, scope.Service, scope.Day, scope.Day.Add(24*time.Hour), func(e *catalog.Entry) bool {
		segment := e.Kind == catalog.KindPlain || e.Kind == catalog.KindOutput
		return e.Kind == catalog.KindUnreadable || segment && e.Meta.Class == scope.Class
	}, func(*catalog.Day) error {
		gone = false
		return nil
	})
	if err != nil {
		return false
	}
	if _, known := f.expired.days.LoadOrStore(key, gone); gone && !known {
		f.Recorder.Note("%s: retention deleted the segments of the day while they were read; what they held is missing", scope)
	}
	return gone
}

// isStale reports whether a segment from the index is gone, or another segment has its name, according to a listing.
func (f *Fetcher) isStale(ctx context.Context, s *source.Segment) bool {
	b, found, err := s.Listed(ctx)
	if err != nil || !found {
		return err == nil
	}
	meta, err := blobnaming.ParseMetadata(b.Metadata)
	return err == nil && meta.Batch != s.Meta.Batch
}
