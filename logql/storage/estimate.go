package storage

import (
	"context"

	"logstow/logql/engine"
)

// Estimate is what reading selections takes at most, where nothing can be skipped and nothing is in the cache.
type Estimate struct {
	Segments int
	// Records are those of the segments, also those outside of the range; segments of other programs count none.
	Records uint64
	Bytes   int64 // stored
	CostUSD float64
	// Free is set if requests to all stores cost nothing.
	Free bool
}

// Estimate adds up what the selections of a query take. No segment is read.
func (v *View) Estimate(ctx context.Context, selections []engine.Selection) (Estimate, error) {
	sum := Estimate{Free: true}
	for i := range v.storage.stores {
		sum.Free = sum.Free && v.storage.stores[i].Free
	}
	for _, sel := range selections {
		s, err := v.plan(ctx, sel)
		if err != nil {
			return sum, v.complete(err)
		}
		if s == nil {
			continue
		}
		bound := s.Bound(s.Plan)
		sum.Segments += bound.Segments
		sum.Bytes += bound.Bytes
		sum.CostUSD += bound.CostUSD
		for _, seg := range s.Segments {
			for _, n := range seg.Meta.Levels {
				sum.Records += n
			}
		}
	}
	return sum, v.complete(nil)
}
