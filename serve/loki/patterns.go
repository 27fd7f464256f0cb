package loki

import (
	"time"
)

// patterns is /loki/api/v1/patterns: shapes of messages with the number of their records by step.
func (q *request) patterns() error {
	q.bounds(querySince)
	step, limit, matchers := q.step(), q.number("limit", defaultPatterns), q.matchers()
	if q.bad != nil {
		return q.bad
	}
	found, err := q.view().Patterns(q.ctx, matchers, q.from, q.to, step, limit)
	if err != nil {
		return err
	}
	type pattern struct {
		Pattern string     `json:"pattern"`
		Level   string     `json:"level,omitempty"`
		Samples [][2]int64 `json:"samples"` // seconds, number of records
	}
	all := make([]pattern, 0, len(found))
	for _, f := range found {
		one := pattern{Pattern: f.Pattern, Level: f.Level, Samples: [][2]int64{}}
		for _, p := range f.Counts {
			at, n := p.Time/int64(time.Second), int64(p.Value)
			if last := len(one.Samples) - 1; last >= 0 && one.Samples[last][0] == at { // a step below a second
				one.Samples[last][1] += n
				continue
			}
			one.Samples = append(one.Samples, [2]int64{at, n})
		}
		all = append(all, one)
	}
	return q.success(all)
}
