package plan

import (
	"context"
	"iter"
	"time"

	"logstow/query/source"

	"golang.org/x/sync/errgroup"

	"logstow/store"
)

// hotFor is how long blobs stay in the tier that they were written to: retention moves
// whole days that are past.
const hotFor = 24 * time.Hour

// FindTiers asks in which tier segments from the index are. Blobs move by whole days, so
// one of each day and store speaks for all. Where there is no answer they are taken for hot:
// it is about costs only.
func FindTiers(ctx context.Context, segments []*source.Segment) {
	type storeDay struct {
		store string
		day   time.Time
	}
	days := make(map[storeDay][]*source.Segment)
	for _, s := range segments {
		day := s.Name.Bucket.Truncate(hotFor)
		if source.IsPriced(s.Blobs) && s.Tier == "" && time.Since(day.Add(hotFor)) > 0 {
			days[storeDay{s.Store, day}] = append(days[storeDay{s.Store, day}], s)
		}
	}
	var group errgroup.Group
	group.SetLimit(source.MaxInFlight)
	for _, all := range days {
		group.Go(func() error {
			tier := tierOf(ctx, all[0])
			for _, s := range all {
				s.Tier, s.Blobs = tier, source.InTier(s.Blobs, tier)
			}
			return nil
		})
	}
	_ = group.Wait() // what is not known is taken for hot
}

// tierOf is the tier of a segment's blob, "" where it is not known.
func tierOf(ctx context.Context, s *source.Segment) store.Tier {
	blobs, err := source.Collect(ctx, func() iter.Seq2[[]store.Blob, error] { return s.Blobs.List(ctx, s.String()) })
	if err != nil {
		return ""
	}
	for _, b := range blobs {
		if b.Name == s.String() {
			return b.Tier
		}
	}
	return ""
}
