package query

import (
	"logstow/internal/price"
	"logstow/query/source"
	"logstow/segment"
)

// Progress is how far the query has come; it may be called while a step is under way.
func (q *Query) Progress() Progress { return q.recorder.Progress() }

// Report is what the query did so far.
func (q *Query) Report() Report {
	r := q.recorder.Report()
	r.Plan = q.opts.Plan
	r.CostUSD, r.BytesRetrieved = q.meter.Spent()
	return r
}

// Bound is the most that reading a plan can take, about: its segments' number and
// stored size, and the cost.
type Bound struct {
	Segments int     `json:"segments"`
	Bytes    int64   `json:"bytes"`
	CostUSD  float64 `json:"cost_usd"`
}

// Bound is what reading a plan may take where nothing can be skipped and nothing
// is in the cache.
func (q *Query) Bound(p *Plan) Bound {
	free := map[string]bool{}
	for _, s := range q.stores {
		free[s.Name] = s.Free
	}
	b := Bound{Segments: len(p.Segments)}
	var billed price.Usage
	for _, s := range p.Segments {
		b.Bytes += s.Size
		if !free[s.Store] { // a slice of the filter, the footer, every block on its own
			billed = billed.Plus(source.ReadUsage(s.Tier, 3+max(int64(s.Meta.RawBytes), s.Size)/segment.DefaultBlockSize, s.Size))
		}
	}
	b.CostUSD = q.meter.Cost(billed)
	return b
}
