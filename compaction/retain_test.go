package compaction_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"logstow/audit"
	"logstow/compaction"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/query"
	"logstow/retention"
	"logstow/store"
)

// keptFrom is the number of the first line that is of a class that is kept.
const keptFrom = 1_000_000

// Retention deletes a class of an hour, beside compactions, shippers of late and repeated segments
// and queries: none of these misses a record of another class, or has one of any class twice. In the
// end the class is gone, and the index has the other.
func TestLongRetainBeside(t *testing.T) {
	t.Parallel()
	rounds := effort.Cases{Test: 2, Full: 15, Long: 400}.N()
	rnd := testrand.New(t)
	s := openStore(t)
	past := time.Now().UTC().Add(-50 * time.Hour).Truncate(time.Hour)
	expired, kept := newFleet(t, s, rnd, "web"), newFleet(t, s, rnd, "web")
	kept.class, kept.number, kept.lines = "audit", 500_000, keptFrom
	expired.fill(past, 4, 30)
	kept.fill(past, 4, 30)
	var stored atomic.Int64 // kept lines below are there
	stored.Store(int64(kept.lines))

	stop := make(chan struct{})
	var all sync.WaitGroup
	var outputs, deleted, queries atomic.Int64
	until := func(f func() error) {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := f(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 2 {
		o := options(t)
		o.Limits.Inputs = 7 + 6*i
		until(func() error {
			report, err := compaction.Run(t.Context(), s, o)
			outputs.Add(report.Outputs)
			if err = errors.Join(err, report.Err()); err != nil && overtaken(err) {
				return nil
			}
			return err
		})
	}
	policy := retention.Policy{Keep: map[string]time.Duration{"": 24 * time.Hour}}
	until(func() error {
		report, err := retention.Run(t.Context(), s, policy, retention.Options{})
		deleted.Add(report.Blobs)
		return errors.Join(err, report.Err())
	})
	answered := make(chan struct{})
	for _, plan := range []string{query.PlanList, query.PlanIndex} {
		until(func() error {
			before := stored.Load()
			lines, err := linesOf(t, s, past, query.Options{Plan: plan, TempDir: t.TempDir()})
			if err != nil {
				return err
			}
			for line := int64(keptFrom); line < before; line++ {
				if lines[line] == 0 {
					return fmt.Errorf("%s: line %d of %d is missing", plan, line, before)
				}
			}
			for line, n := range lines {
				if n > 1 {
					return fmt.Errorf("%s: line %d is there %d times", plan, line, n)
				}
			}
			queries.Add(1)
			select {
			case answered <- struct{}{}:
			case <-stop:
			}
			return nil
		})
	}
	old := make(map[*fleet][]plain)
	begun := time.Now()
	happened := func() bool { return outputs.Load() > 0 && deleted.Load() > 0 }
	// Queries may be much faster than what waits for the disk.
	for round := 0; round < rounds || !happened() && time.Since(begun) < 2*time.Minute; round++ {
		for _, f := range []*fleet{expired, kept} {
			p := f.segment(fmt.Sprintf("pod-%d", rnd.IntN(4)), past, time.Hour, 1+rnd.IntN(40))
			f.store(p)
			old[f] = append(old[f], p)
			again := old[f][rnd.IntN(len(old[f]))]
			f.number++
			again.name.Number = f.number
			f.store(again)
		}
		stored.Store(int64(kept.lines))
		if t.Failed() {
			break
		}
		select {
		case <-answered:
		case <-time.After(2 * time.Minute):
			t.Error("no answer")
		}
	}
	close(stop)
	all.Wait()
	t.Logf("%d outputs, %d blobs deleted, %d queries", outputs.Load(), deleted.Load(), queries.Load())
	if !happened() {
		t.Error("nothing happened")
	}
	for range 2 { // the second deletes what waited for others
		if report, err := retention.Run(t.Context(), s, policy, retention.Options{}); err != nil || report.Err() != nil {
			t.Fatal(err, report.Err())
		}
	}
	lines, err := linesOf(t, s, past, query.Options{TempDir: t.TempDir()})
	if want := kept.lines - keptFrom; err != nil || len(lines) != want {
		t.Errorf("%d lines remain of %d: %v", len(lines), want, err)
	}
	segments, _ := list(t, s)
	for _, left := range segments {
		if left.Meta.Class == "" {
			t.Errorf("%s remains", left.Name)
		}
	}
	report, err := audit.Verify(t.Context(), s, audit.Options{Settle: time.Millisecond, OnDifference: func(d audit.Difference) {
		if d.Kind != audit.StrayEntity { // written after its segment, which was removed without grace, was gone
			t.Error(d)
		}
	}})
	if err != nil || report.Err() != nil {
		t.Error(err, report.Err())
	}
}

// linesOf is how often each line is in the answer of a query for an hour.
func linesOf(t *testing.T, s store.Store, hour time.Time, o query.Options) (map[int64]int, error) {
	lines := make(map[int64]int)
	q, err := query.New([]query.Store{query.ReadOnly(s)}, query.Selection{From: hour, To: hour.Add(time.Hour)}, o)
	if err != nil {
		return nil, err
	}
	p, err := q.Plan(t.Context())
	if err != nil {
		return nil, err
	}
	return lines, q.Run(t.Context(), p, func(m query.Match) error {
		var number int64
		_, after, _ := strings.Cut(string(m.Message()), " line ")
		_, err := fmt.Sscan(after, &number)
		lines[number]++
		return err
	})
}
