package loki

import (
	"logstow/logql/engine"
)

// estimate is /logstow/api/v1/estimate: the maximum that a query would read, and its cost. Loki's index/stats contains no cost and
// does not accept metric queries.
func (q *request) estimate() error {
	q.bounds(querySince)
	expr := q.expr()
	if q.bad != nil {
		return q.bad
	}
	e, err := q.view().Estimate(q.ctx, engine.Selections(expr, q.from, q.to))
	if err != nil {
		return err
	}
	return q.json(struct {
		Segments int     `json:"segments"`
		Records  uint64  `json:"records"`
		Bytes    int64   `json:"bytes"`
		CostUSD  float64 `json:"cost_usd"`
		Free     bool    `json:"free"`
	}{e.Segments, e.Records, e.Bytes, e.CostUSD, e.Free})
}
