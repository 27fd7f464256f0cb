package query

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"logstow/blobnaming"
	"logstow/record"
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
		spill.segments = append(spill.segments, &Segment{rank: i, Name: blobnaming.Name{Service: "a", Number: uint64(i + 1)}, Meta: blobnaming.Metadata{Instance: fmt.Sprint(i)}})
	}
	for _, newest := range []bool{false, true} {
		order := order{newest: newest}
		var last key
		n := 0
		m := newMerger(order, budget, spill, func(m Match) error {
			k := key{m.Time, m.Segment.rank, 0}
			if n > 0 && order.before(k, last) {
				return fmt.Errorf("%v comes after %v", k, last)
			}
			want, ok := record.Split(m.Line)
			if !ok || m.Level() != want.Level || !bytes.Equal(m.Source(), want.Source) || !bytes.Equal(m.Message(), want.Raw) || m.Instance != m.Segment.Meta.Instance {
				return fmt.Errorf("%q: %s, %q, %q of %q", m.Line, m.Level(), m.Source(), m.Message(), m.Instance)
			}
			last = k
			n++
			return nil
		})
		rnd := rand.New(rand.NewPCG(1, 2))
		type found struct {
			*blockMatches
			start key
		}
		var founds []found
		for i := range segments {
			f := found{blockMatches: &blockMatches{segment: spill.segments[i]}}
			at := rnd.Int64N(1000)
			for range records {
				at += rnd.Int64N(1000)
				message := strings.Repeat("x", rnd.IntN(100))
				r := record.Record{Time: at, Level: record.Level(rnd.IntN(record.Levels)), Source: fmt.Sprint(rnd.IntN(1000)), Message: []byte(message)}
				start := len(f.text)
				f.text = record.AppendText(f.text, r)
				end := len(f.text) - 1
				f.records = append(f.records, matchSpan{at, uint32(start), uint32(end), uint32(end - start - len(message)), r.Level})
			}
			f.start = key{f.records[0].time, i, 0}
			if newest {
				f.start = key{f.records[records-1].time, i, 0}
			}
			founds = append(founds, f)
		}
		slices.SortFunc(founds, func(a, b found) int {
			if order.before(a.start, b.start) {
				return -1
			}
			return 1
		})
		for _, f := range founds {
			if err := m.add(f.blockMatches, f.start); err != nil {
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
