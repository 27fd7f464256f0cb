package loki

import (
	"context"
	"sync"
	"time"

	"logstow/logql/engine"
	"logstow/logql/syntax"
)

const (
	// recentResult is how long a result of recent records is kept, pastResult how long a result of the past.
	recentResult = 5 * time.Second
	pastResult   = 2 * time.Minute
	// pastAge is the age of the end of a query's range from which on the result is one of the past.
	pastAge = time.Hour
	// maxResults and maxResult are the maximum sizes of all results and of one, in bytes.
	maxResults = 16 << 20
	maxResult  = 1 << 20
)

// results keeps the results of metric queries for a short time, so that panels that several people look at are computed once. It is
// safe for concurrent use.
type results struct {
	mu   sync.Mutex
	all  map[resultKey]*result
	size int64
}

// resultKey identifies a result: the query, its range, and what the caller may read.
type resultKey struct {
	scope, query string
	params       engine.MetricParams
}

// result is a result that is kept. Its value must not be changed.
type result struct {
	value *engine.Value
	size  int64
	until time.Time
}

// find returns the result of a key, or nil if none is kept.
func (r *results) find(key *resultKey, now time.Time) *engine.Value {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.all[*key]; found != nil && now.Before(found.until) {
		return found.value
	}
	return nil
}

// keep keeps the result of a query until its lifetime after began, when the query began.
func (r *results) keep(key *resultKey, value *engine.Value, began time.Time, lifetime time.Duration) {
	one := &result{value: value, size: resultSize(key, value), until: began.Add(lifetime)}
	if one.size > maxResult {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(*key)
	for other, kept := range r.all {
		if !began.Before(kept.until) {
			r.remove(other)
		}
	}
	for other := range r.all {
		if r.size+one.size <= maxResults {
			break
		}
		r.remove(other)
	}
	r.all[*key] = one
	r.size += one.size
}

func (r *results) remove(key resultKey) {
	if kept := r.all[key]; kept != nil {
		delete(r.all, key)
		r.size -= kept.size
	}
}

// lifetimeOf returns how long the result of a query is kept. An offset in the query shifts the range that it reads.
func lifetimeOf(expr syntax.SampleExpr, params engine.MetricParams, now time.Time) time.Duration {
	for _, read := range engine.Selections(expr, params.Start, params.End) {
		if now.Sub(time.Unix(0, read.To)) <= pastAge {
			return recentResult
		}
	}
	return pastResult
}

// resultSize estimates the memory of a result, in bytes.
func resultSize(key *resultKey, value *engine.Value) int64 {
	size := 500 + len(key.scope) + len(key.query)
	for _, text := range value.Warnings {
		size += 16 + len(text)
	}
	for i := range value.Series {
		s := &value.Series[i]
		size += 100 + 16*len(s.Points)
		for _, l := range s.Labels {
			size += 32 + len(l.Name) + len(l.Value)
		}
	}
	return int64(size)
}

// metric returns the result of a metric query: the one that is kept, or a new one.
func (q *request) metric(ctx context.Context, expr syntax.SampleExpr, params engine.MetricParams) (*engine.Value, error) {
	if q.api.opts.Scope == nil {
		return q.engine().Metric(ctx, expr, params)
	}
	key := &resultKey{scope: q.api.opts.Scope(ctx), query: q.get("query"), params: params}
	if value := q.api.results.find(key, q.now); value != nil {
		return value, nil
	}
	value, err := q.engine().Metric(ctx, expr, params)
	if err == nil {
		q.api.results.keep(key, value, q.now, lifetimeOf(expr, params, q.now))
	}
	return value, err
}
