package query

import (
	"logstow/internal/price"
	"logstow/query/source"
	"logstow/segment"
)

// Progress returns the progress of the query. It may be called concurrently with the other methods.
func (q *Query) Progress() Progress { return q.recorder.Progress() }

// Report returns the counters and problems of the query so far.
func (q *Query) Report() Report {
	r := q.recorder.Report()
	r.Plan, r.Requests = q.opts.Plan, q.meter.Requests()
	r.CostUSD, r.BytesRetrieved = q.meter.Spent()
	return r
}

// Bound is an approximate upper bound of the effort of reading a plan: the number and stored size of its segments, and the
// cost.
type Bound struct {
	Segments int     `json:"segments"`
	Bytes    int64   `json:"bytes"`
	CostUSD  float64 `json:"cost_usd"`
}

// Bound returns the bound for a plan, assuming that nothing can be skipped and nothing is cached.
func (q *Query) Bound(p *Plan) Bound {
	free := map[string]bool{}
	for _, s := range q.stores {
		free[s.Name] = s.Free
	}
	b := Bound{Segments: len(p.Segments)}
	var billed price.Usage
	for _, s := range p.Segments {
		b.Bytes += s.Size
		if !free[s.Store] { // requests for a slice of the filter, the footer, and each block
			billed = billed.Plus(source.ReadUsage(s.Tier, 3+max(int64(s.Meta.RawBytes), s.Size)/segment.DefaultBlockSize, s.Size))
		}
	}
	b.CostUSD = q.meter.Cost(billed)
	return b
}
