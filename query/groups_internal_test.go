package query

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/aggregatetest"
	"logstow/internal/test/querytest"
	"logstow/query/stats"

	"logstow/record"
)

// However little memory there is, the counts are right.
func TestStatsOfAnyMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.New(rand.NewPCG(4, 4)), false)
	want := map[string]uint64{}
	n := 0
	for range 20 {
		var records []record.Record
		for range 500 {
			user := fmt.Sprint("user-", n*n%1777)
			want[user]++
			records = append(records, record.Record{Time: origin().UnixNano() + int64(n), Message: []byte(`{"user":"` + user + `"}`)})
			n++
		}
		w.add("svc", "pod", 2000, w.salt(), records)
	}
	sel := querytest.Everything()
	sel.To = sel.To.AddDate(100, 0, 0)
	for memory := int64(1); memory < 4<<20; memory *= 16 {
		q := w.query(sel, Options{GroupMemory: memory, TempDir: t.TempDir()})
		p, err := q.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		counts := countBy(t, q, p, []string{"user"}, nil)
		if counts.Total != uint64(n) || len(counts.Rows) != len(want) {
			t.Fatalf("memory %d: %d groups of %d", memory, len(counts.Rows), len(want))
		}
		for _, row := range counts.Rows {
			if want[row.Key[0]] != row.Count {
				t.Errorf("memory %d: %s: %d, want %d", memory, row.Key[0], row.Count, want[row.Key[0]])
			}
		}
	}
}

// countBy counts the records of a plan by keys.
func countBy(t testing.TB, q *Query, p *Plan, by []string, zone *time.Location) *aggregatetest.Counts {
	t.Helper()
	c, err := stats.Compile(aggregatetest.Count(t, by, zone), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	table, err := q.Stats(t.Context(), p, c)
	if err != nil {
		t.Fatal(err)
	}
	counts := aggregatetest.Read(t, table.Result, zone)
	if err := table.Close(); err != nil {
		t.Error(err)
	}
	return counts
}

// Long values that differ only at their end are groups of their own.
func TestStatsOfLongValues(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.New(rand.NewPCG(4, 4)), false)
	long := strings.Repeat("x", 5000)
	var records []record.Record
	for i, end := range []string{"a", "b", "b"} {
		records = append(records, record.Record{Time: origin().UnixNano() + int64(i), Message: []byte(`{"k":"` + long + end + `"}`)})
	}
	w.add("svc", "pod", 2000, w.salt(), records)
	stats := statsOf(t, w, "k")
	if len(stats.Rows) != 2 || stats.Rows[0].Count != 2 || stats.Rows[0].Key[0] != long+"b" {
		t.Errorf("%d groups", len(stats.Rows))
	}
}

func statsOf(t *testing.T, w *world, by ...string) *aggregatetest.Counts {
	t.Helper()
	sel := querytest.Everything()
	sel.To = sel.To.AddDate(100, 0, 0)
	q := w.query(sel, Options{})
	p, err := q.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return countBy(t, q, p, by, time.FixedZone("x", 3600))
}

// Times come first in the order of rows, wherever they stand; then counts, then keys.
func TestStatsOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.New(rand.NewPCG(4, 4)), false)
	w.plain = true // the order of values of equal text depends on their kinds
	w.fill(40)
	names, steps := []string{"level", "service", "ab"}, []string{"minute", "hour", "day", "7m"}
	for range 60 {
		by := []string{steps[w.rnd.IntN(len(steps))]}
		w.rnd.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		by = append(by, names[:w.rnd.IntN(3)]...)
		w.rnd.Shuffle(len(by), func(i, j int) { by[i], by[j] = by[j], by[i] })
		rows := statsOf(t, w, by...).Rows
		less := func(a, b aggregatetest.Row) int {
			for i, name := range by {
				if !slices.Contains(steps, name) {
					continue
				}
				x, errX := time.Parse(time.RFC3339, a.Key[i])
				y, errY := time.Parse(time.RFC3339, b.Key[i])
				if errX != nil || errY != nil {
					t.Fatal(errX, errY)
				}
				if c := x.Compare(y); c != 0 {
					return c
				}
			}
			if a.Count != b.Count {
				return int(int64(b.Count) - int64(a.Count))
			}
			return slices.Compare(a.Key, b.Key)
		}
		if len(rows) < 2 || !slices.IsSortedFunc(rows, less) {
			t.Errorf("by %v: %v", by, rows)
		}
	}
}
