package merge

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"logstow/query/fetch"
	"logstow/query/source"

	"logstow/blobnaming"
	"logstow/record"
	"logstow/spill"
)

// Thousands of overlapping segments go through the temporary file within the
// bound, in order.
func TestMergeOverlapping(t *testing.T) {
	t.Parallel()
	const segments, records, budget = 3000, 40, 64 << 10
	var all []*source.Segment
	for i := range segments {
		all = append(all, &source.Segment{Name: blobnaming.Name{Service: "a", Number: uint64(i + 1)}, Meta: blobnaming.Metadata{Instance: fmt.Sprint(i)}})
	}
	for _, newest := range []bool{false, true} {
		order := Order{Newest: newest}
		var last key
		n := 0
		m := newMerger(order, budget, t.TempDir(), func(m Match) error {
			k := key{time: m.Time, origin: m.Segment}
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
			*fetch.Matches
			start key
		}
		var founds []found
		for i := range segments {
			f := found{Matches: &fetch.Matches{Segment: all[i]}}
			at := rnd.Int64N(1000)
			for range records {
				at += rnd.Int64N(1000)
				message := strings.Repeat("x", rnd.IntN(100))
				r := record.Record{Time: at, Level: record.Level(rnd.IntN(record.Levels)), Source: fmt.Sprint(rnd.IntN(1000)), Message: []byte(message)}
				start := len(f.Text)
				f.Text = record.AppendText(f.Text, r)
				end := len(f.Text) - 1
				f.Spans = append(f.Spans, fetch.Span{Time: at, Start: uint32(start), End: uint32(end), Message: uint32(end - start - len(message)), Level: r.Level})
			}
			f.start = key{time: f.Spans[0].Time, origin: all[i]}
			if newest {
				f.start = key{time: f.Spans[records-1].Time, origin: all[i]}
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
			if err := m.add(f.Matches, f.start); err != nil {
				t.Fatal(err)
			}
			if m.open.Size() > budget || m.open.Runs() > spill.MaxRuns {
				t.Fatalf("%d bytes, %d runs", m.open.Size(), m.open.Runs())
			}
		}
		if err := m.finish(); err != nil {
			t.Fatal(err)
		}
		if n != segments*records || m.open.Written() == 0 || m.open.Size() != 0 || m.open.Runs() != 0 {
			t.Errorf("%d records, %d bytes spilled, %d left, %d runs", n, m.open.Written(), m.open.Size(), m.open.Runs())
		}
		if err := m.open.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Keys are decoded as they were encoded; other bytes are no key.
func TestKeys(t *testing.T) {
	t.Parallel()
	k := &keys{}
	all := []*source.Segment{{Store: "a"}, {Store: "b"}}
	for _, at := range []key{{time: 7, origin: all[1], block: 3}, {time: -1, origin: all[0]}, {time: 1 << 60, origin: all[1], block: 1 << 30}} {
		encoded := k.Encode(nil, at)
		if got, ok := k.Decode(encoded); !ok || got != at {
			t.Errorf("%+v is decoded as %+v, %v", at, got, ok)
		}
		if _, ok := k.Decode(encoded[1:]); ok {
			t.Error("a part of a key is decoded")
		}
	}
	if _, ok := (&keys{}).Decode(k.Encode(nil, key{origin: all[0]})); ok {
		t.Error("a segment that is none is decoded")
	}
}
