package plan

import (
	"context"
	"time"

	"logstow/query/source"

	"golang.org/x/sync/errgroup"

	"logstow/store"
)

// hotFor is the minimum time that blobs stay in the hot tier: retention moves whole days of the past.
const hotFor = 24 * time.Hour

// FindTiers looks up the tiers of segments that the index returned. Because retention moves whole days, it looks up one blob of each
// day and store. If that fails, it assumes the hot tier, which affects only the estimated cost.
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
	_ = group.Wait() // unknown tiers are assumed to be hot
}

// tierOf returns the tier of a segment's blob, "" if unknown.
func tierOf(ctx context.Context, s *source.Segment) store.Tier {
	b, _, err := s.Listed(ctx)
	if err != nil {
		return ""
	}
	return b.Tier
}
