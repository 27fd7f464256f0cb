package storage

import (
	"context"

	"logstow/logql/engine"
)

// Estimate is an upper bound of the effort of reading selections, if nothing can be skipped and nothing is cached.
type Estimate struct {
	Segments int `json:"segments"`
	// Records is the number of records of the segments, including records outside of the range. Foreign segments count as
	// none.
	Records uint64  `json:"records"`
	Bytes   int64   `json:"bytes"` // stored
	CostUSD float64 `json:"cost_usd"`
	// Free is set if requests to all stores cost nothing.
	Free bool `json:"free"`
}

// Estimate sums up the effort for the selections of a query. It reads no segment.
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
			sum.Records += seg.Meta.Levels.Total()
		}
	}
	return sum, v.complete(nil)
}
