package query

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/query/internal/querytest"
	"logstow/query/stats"

	"logstow/record"
)

// However much memory there is, the counts are right or there are none.
func TestStatsAreExactOrNone(t *testing.T) {
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
		w.add("svc", "pod", 2000, w.batch(), records)
	}
	sel := querytest.Everything()
	sel.To = sel.To.AddDate(100, 0, 0)
	var failed, counted int
	for memory := int64(1); memory < 2<<20; memory = 2*memory + 1 {
		q := w.query(sel, Options{GroupMemory: memory})
		p, err := q.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		stats, err := q.Stats(t.Context(), p, querytest.Names(t, "user"), nil)
		if errors.Is(err, ErrMemory) && stats == nil && counted == 0 {
			failed++
			continue
		}
		if err != nil || stats.Total != uint64(n) || len(stats.Rows) != len(want) {
			t.Fatalf("memory %d: %v, %d groups of %d", memory, err, len(stats.Rows), len(want))
		}
		for _, row := range stats.Rows {
			if want[row.Key[0]] != row.Count {
				t.Errorf("memory %d: %s: %d, want %d", memory, row.Key[0], row.Count, want[row.Key[0]])
			}
		}
		counted++
	}
	if failed < 10 || counted < 1 {
		t.Errorf("%d counted, %d not", counted, failed)
	}
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
	w.add("svc", "pod", 2000, w.batch(), records)
	stats := statsOf(t, w, "k")
	if len(stats.Rows) != 2 || stats.Rows[0].Count != 2 || stats.Rows[0].Key[0] != long+"b" {
		t.Errorf("%d groups", len(stats.Rows))
	}
}

func statsOf(t *testing.T, w *world, by ...string) *Stats {
	t.Helper()
	sel := querytest.Everything()
	sel.To = sel.To.AddDate(100, 0, 0)
	q := w.query(sel, Options{})
	p, err := q.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stats, err := q.Stats(t.Context(), p, querytest.Names(t, by...), time.FixedZone("x", 3600))
	if err != nil {
		t.Fatal(err)
	}
	return stats
}

// Times come first in the order of rows, wherever they stand; then counts, then keys.
func TestStatsOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.New(rand.NewPCG(4, 4)), false)
	w.fill(40)
	names := []string{"level", "service", "ab"}
	for range 60 {
		w.rnd.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		by := slices.Clone(names[:w.rnd.IntN(3)])
		by = slices.Insert(by, w.rnd.IntN(len(by)+1), []string{"minute", "hour", "5m", "level-2"}[w.rnd.IntN(4)])
		rows := statsOf(t, w, by...).Rows
		less := func(a, b stats.Row) int {
			for i, name := range by {
				if name != "minute" && name != "hour" && name != "5m" {
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
		if len(rows) < 2 && len(by) > 1 || !slices.IsSortedFunc(rows, less) {
			t.Errorf("by %v: %v", by, rows)
		}
	}
}
