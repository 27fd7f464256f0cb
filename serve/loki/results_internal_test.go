package loki

import (
	"strconv"
	"testing"
	"time"

	"logstow/logql/engine"
)

// The memory of results is bounded, whatever is asked for.
func TestResultsBounded(t *testing.T) {
	t.Parallel()
	r := results{all: map[resultKey]*result{}}
	at := time.Unix(1e9, 0)
	value := func(points int) *engine.Value {
		return &engine.Value{Series: []engine.Series{{Points: make([]engine.Point, points)}}}
	}
	key := func(i int) *resultKey {
		return &resultKey{query: strconv.Itoa(i), params: engine.MetricParams{End: at.UnixNano()}}
	}
	check := func() {
		t.Helper()
		sum := int64(0)
		for _, one := range r.all {
			sum += one.size
		}
		if r.size != sum || sum > maxResults {
			t.Fatalf("%d bytes counted, %d are kept", r.size, sum)
		}
	}
	for i := range 1000 {
		r.keep(key(i), value(10_000), at, recentResult)
		check()
	}
	if len(r.all) < 50 || r.find(key(999), at) == nil {
		t.Errorf("%d results are kept", len(r.all))
	}
	r.keep(key(999), value(10), at, recentResult) // the same again
	check()
	r.keep(key(-1), value(maxResult), at, recentResult)
	if check(); r.find(key(-1), at) != nil {
		t.Error("a large result is kept")
	}
	r.keep(key(-2), value(1), at.Add(recentResult), recentResult)
	if check(); len(r.all) != 1 {
		t.Errorf("%d results are kept past their time", len(r.all)-1)
	}
}
