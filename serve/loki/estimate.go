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
	return q.json(e)
}
