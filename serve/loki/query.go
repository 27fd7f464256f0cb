package loki

import (
	"errors"
	"time"

	"logstow/logql/engine"
	"logstow/logql/syntax"
)

// queryRange is /loki/api/v1/query_range: a log query or a metric query over a range.
func (q *request) queryRange() error {
	q.bounds(querySince)
	limit, backward, interval := q.number("limit", defaultLimit), q.backward(), q.duration("interval", 0)
	if interval < 0 {
		q.reject(badRequest("interval must be >= 0"))
	}
	expr := q.expr()
	if q.bad != nil {
		return q.bad
	}
	if log, ok := expr.(*syntax.LogExpr); ok {
		return q.logs(log, limit, backward, interval)
	}
	step := q.step()
	if q.bad != nil {
		return q.bad
	}
	value, err := q.metric(q.ctx, expr.(syntax.SampleExpr), engine.Align(q.from, q.to, step))
	if err != nil {
		return err
	}
	return q.respondSeries(kindOf(value, true), value)
}

// query is /loki/api/v1/query: a metric query at one time.
func (q *request) query() error {
	at := q.time("time", q.now.UnixNano())
	q.from, q.to = at, at
	_, _ = q.number("limit", defaultLimit), q.backward() // they must be valid
	expr := q.expr()
	if q.bad != nil {
		return q.bad
	}
	sample, ok := expr.(syntax.SampleExpr)
	if !ok {
		return badRequest("log queries are not supported as an instant query type, please change your query to a range query type")
	}
	value, err := q.metric(q.ctx, sample, engine.MetricParams{Start: at, End: at})
	if err != nil {
		return err
	}
	return q.respondSeries(kindOf(value, false), value)
}

// kindOf returns the type of the result of a metric query, over a range if ranged is set, otherwise at one time.
func kindOf(value *engine.Value, ranged bool) string {
	switch {
	case ranged:
		return typeMatrix
	case value.Scalar && len(value.Series) == 1:
		return typeScalar
	default:
		return typeVector
	}
}

// errDone ends a log query that has found as many records as requested.
var errDone = errors.New("limit reached") //nolint:gochecknoglobals // never changes

// logs responds to a log query. A range that ends at its start is empty: clients that page request such a range last.
func (q *request) logs(log *syntax.LogExpr, limit int, backward bool, interval time.Duration) error {
	if q.checkEntries(limit); q.bad != nil {
		return q.bad
	}
	categorize := q.categorize()
	found := newStreams(categorize, q.api.opts.Limits.Bytes)
	if q.from < q.to {
		p := engine.LogParams{From: q.from, To: q.to, Newest: backward, Limit: limit, Fields: categorize}
		emit := found.add
		if interval > 0 {
			p.Limit, emit = 0, every(interval, limit, found.add)
		}
		if err := q.engine().Logs(q.ctx, log, p, emit); err != nil && !errors.Is(err, errDone) {
			return err
		}
	}
	q.view() // so that an empty range has statistics too
	return found.respond(q)
}

// entries returns the parameter limit of log queries.
func (q *request) entries() int {
	limit := q.number("limit", defaultLimit)
	q.checkEntries(limit)
	return limit
}

// checkEntries checks the parameter limit of log queries.
func (q *request) checkEntries(limit int) {
	if maximum := q.api.opts.Limits.Entries; maximum > 0 && limit > maximum {
		q.reject(badRequest("max entries limit per query exceeded, limit > max_entries_limit_per_query (%d > %d)", limit, maximum))
	}
}

// every returns a function that emits records that are at least an interval apart. It returns [errDone] after limit records.
func every(interval time.Duration, limit int, emit func(*engine.Entry) error) func(*engine.Entry) error {
	var last int64
	passed := 0
	return func(e *engine.Entry) error {
		if passed > 0 && max(e.Time-last, last-e.Time) < int64(interval) {
			return nil
		}
		last = e.Time
		if err := emit(e); err != nil {
			return err
		}
		if passed++; passed == limit {
			return errDone
		}
		return nil
	}
}
