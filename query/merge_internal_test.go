package query

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"logstow/blobnaming"
)

// Thousands of overlapping segments go through the temporary file within the
// bound, in order.
func TestMergeOverlapping(t *testing.T) {
	t.Parallel()
	const segments, records, budget = 3000, 40, 64 << 10
	spill := &spillFile{dir: t.TempDir()}
	defer func() {
		if err := spill.close(); err != nil {
			t.Error(err)
		}
	}()
	for i := range segments {
		spill.segments = append(spill.segments, &Segment{rank: i, Name: blobnaming.Name{Service: "a", Number: uint64(i + 1)}})
	}
	for _, newest := range []bool{false, true} {
		q := &Query{sel: Selection{Newest: newest}}
		var last key
		n := 0
		m := &merger{before: q.before, newest: newest, budget: budget, spill: spill.write, emit: func(m Match) error {
			k := key{m.Time, m.Segment.rank, 0}
			if n > 0 && q.before(k, last) {
				return fmt.Errorf("%v comes after %v", k, last)
			}
			last = k
			n++
			return nil
		}}
		m.cursors.before = func(a, b cursor) bool { return q.before(a.key(), b.key()) }
		rnd := rand.New(rand.NewPCG(1, 2))
		var founds []*blockMatches
		for i := range segments {
			f := &blockMatches{segment: spill.segments[i]}
			at := rnd.Int64N(1000)
			for range records {
				at += rnd.Int64N(1000)
				f.text = append(f.text, make([]byte, 100)...)
				f.records = append(f.records, matchSpan{at, len(f.text) - 100, len(f.text)})
			}
			f.start = key{f.records[0].time, i, 0}
			if newest {
				f.start = key{f.records[records-1].time, i, 0}
			}
			founds = append(founds, f)
		}
		slices.SortFunc(founds, func(a, b *blockMatches) int {
			if q.before(a.start, b.start) {
				return -1
			}
			return 1
		})
		for _, f := range founds {
			if err := m.add(f); err != nil {
				t.Fatal(err)
			}
			if m.size > budget || m.runs > maxRuns {
				t.Fatalf("%d bytes, %d runs", m.size, m.runs)
			}
		}
		if err := m.finish(); err != nil {
			t.Fatal(err)
		}
		if n != segments*records || spill.size == 0 || m.size != 0 || m.runs != 0 {
			t.Errorf("%d records, %d bytes spilled, %d left, %d runs", n, spill.size, m.size, m.runs)
		}
	}
}
