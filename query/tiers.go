package query

import (
	"context"
	"iter"
	"time"

	"golang.org/x/sync/errgroup"

	"logstow/store"
)

// hotFor is how long blobs stay in the tier that they were written to: retention moves
// whole days that are past.
const hotFor = 24 * time.Hour

// findTiers asks in which tier segments from the index are. Blobs move by whole days, so
// one of each day and store speaks for all. Where there is no answer they are taken for hot:
// it is about costs only.
func findTiers(ctx context.Context, segments []*Segment) {
	type storeDay struct {
		store string
		day   time.Time
	}
	days := make(map[storeDay][]*Segment)
	for _, s := range segments {
		day := s.Name.Bucket.Truncate(hotFor)
		metered, ok := s.blobs.(meteredBlobs)
		if ok && !metered.free && s.Tier == "" && time.Since(day.Add(hotFor)) > 0 {
			days[storeDay{s.Store, day}] = append(days[storeDay{s.Store, day}], s)
		}
	}
	var group errgroup.Group
	group.SetLimit(parallel)
	for _, all := range days {
		group.Go(func() error {
			tier := tierOf(ctx, all[0])
			for _, s := range all {
				s.Tier, s.blobs = tier, inTier(s.blobs, tier)
			}
			return nil
		})
	}
	_ = group.Wait() // what is not known is taken for hot
}

// tierOf is the tier of a segment's blob, "" where it is not known.
func tierOf(ctx context.Context, s *Segment) store.Tier {
	blobs, err := collect(ctx, func() iter.Seq2[[]store.Blob, error] { return s.blobs.List(ctx, s.String()) })
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
