package query

import (
	"context"
	"errors"
	"iter"
	"strings"

	"logstow/blobnaming"
	"logstow/store"
)

// readFailed notes that a segment, or a part of it, can not be read: a problem, unless
// retention deleted it since it was listed.
func (q *Query) readFailed(ctx context.Context, s *Segment, err error) {
	if errors.Is(err, store.ErrNotFound) && q.expired(ctx, s) {
		return
	}
	q.problem(s, err)
}

// expired reports whether a segment is gone together with all others of its
// service, class and day, which is how retention deletes, and notes it once a day.
func (q *Query) expired(ctx context.Context, s *Segment) bool {
	parts := strings.SplitN(s.String(), "/", 5) // service, year, month, day, the rest
	prefix := strings.Join(parts[:4], "/") + "/"
	key := s.Store + " " + s.Meta.Class + " " + prefix
	if gone, known := q.tally.expired.Load(key); known {
		return gone.(bool) //nolint:forcetypeassert // nothing else is stored
	}
	left, err := collect(ctx, func() iter.Seq2[[]store.Blob, error] { return s.blobs.List(ctx, prefix) })
	if err != nil {
		return false
	}
	gone := true
	for _, b := range left {
		meta, err := blobnaming.ParseMetadata(b.Metadata)
		gone = gone && err == nil && meta.Class != s.Meta.Class
	}
	if _, known := q.tally.expired.LoadOrStore(key, gone); gone && !known {
		q.tally.note("%s: retention deleted the segments of the day while they were read; what they held is missing", prefix)
	}
	return gone
}
