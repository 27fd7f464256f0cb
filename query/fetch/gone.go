package fetch

import (
	"context"
	"errors"
	"iter"
	"strings"

	"logstow/query/source"

	"logstow/blobnaming"
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
	parts := strings.SplitN(s.String(), "/", 5) // service, year, month, day, the rest
	prefix := strings.Join(parts[:4], "/") + "/"
	key := s.Store + " " + s.Meta.Class + " " + prefix
	if gone, known := f.expired.days.Load(key); known {
		return gone.(bool) //nolint:forcetypeassert // nothing else is stored
	}
	left, err := source.Collect(ctx, func() iter.Seq2[[]store.Blob, error] { return s.Blobs.List(ctx, prefix) })
	if err != nil {
		return false
	}
	gone := true
	for _, b := range left {
		meta, err := blobnaming.ParseMetadata(b.Metadata)
		gone = gone && err == nil && meta.Class != s.Meta.Class
	}
	if _, known := f.expired.days.LoadOrStore(key, gone); gone && !known {
		f.Recorder.Note("%s: retention deleted the segments of the day while they were read; what they held is missing", prefix)
	}
	return gone
}

// isStale reports whether a segment from the index is gone, or another segment has its name, according to a listing.
func (f *Fetcher) isStale(ctx context.Context, s *source.Segment) bool {
	blobs, err := source.Collect(ctx, func() iter.Seq2[[]store.Blob, error] { return s.Blobs.List(ctx, s.String()) })
	if err != nil {
		return false
	}
	for _, b := range blobs {
		if meta, err := blobnaming.ParseMetadata(b.Metadata); b.Name == s.String() && (err != nil || meta.Batch == s.Meta.Batch) {
			return false
		}
	}
	return true
}
