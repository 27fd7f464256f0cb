package query

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"logstow/internal/test/aggregatetest"
	"logstow/internal/test/effort"
	"logstow/internal/test/querytest"
	"logstow/query/stats"
	"logstow/record"
)

// Once a temporary file cannot be written, the segments that follow are not read: each would be a request.
func TestStatsEndsWithTemporaryFile(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "groups with little memory")
	synctest.Test(t, statsEndWithTemporaryFile) // a read takes time, but waits for all that goes on without one
}

func statsEndWithTemporaryFile(t *testing.T) {
	w := newWorld(t, rand.New(rand.NewPCG(4, 4)), false)
	const segments = 1000
	n := 0
	for range segments {
		var records []record.Record
		for range 200 {
			records = append(records, record.Record{Time: origin().UnixNano() + int64(n), Message: fmt.Appendf(nil, `{"user":"%0200d"}`, n)})
			n++
		}
		w.add("svc", "pod", 1<<20, w.salt(), records)
	}
	var reads atomic.Int64
	w.memory.fail = func(op, _ string) error {
		if op == "read" {
			reads.Add(1)
			time.Sleep(time.Millisecond)
		}
		return nil
	}
	sel := querytest.Everything()
	sel.To = sel.To.AddDate(100, 0, 0)
	q := w.query(sel, Options{GroupMemory: 1, TempDir: filepath.Join(t.TempDir(), "missing")})
	p, err := q.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := stats.Compile(aggregatetest.Count(t, []string{"user"}, nil), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Stats(t.Context(), p, c); err == nil {
		t.Error("no error")
	}
	if got := reads.Load(); got > segments/2 {
		t.Errorf("%d reads of %d segments", got, segments)
	}
}
