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
	var all []*source.Segment
	for i := range segments {
		all = append(all, &source.Segment{Name: blobnaming.Name{Service: "a", Number: uint64(i + 1)}, Meta: blobnaming.Metadata{Instance: fmt.Sprint(i)}})
	}
	for _, newest := range []bool{false, true} {
		order := Order{Newest: newest}
		var last key
		n := 0
		m := newMerger(order, budget, spill, func(m Match) error {
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

// Cursors on runs of large records have them in memory one at a time.
func TestRunsKeepNoRecords(t *testing.T) {
	t.Parallel()
	s := &spillFile{dir: t.TempDir()}
	t.Cleanup(func() { _ = s.close() })
	const size = 1 << 20
	text := record.AppendText(nil, record.Record{Time: 7, Source: "-", Message: bytes.Repeat([]byte("x"), size)})
	m := &fetch.Matches{Segment: &source.Segment{}, Text: text, Spans: []fetch.Span{{Time: 7, End: uint32(len(text) - 1)}}}
	var open []cursor
	for range 40 {
		c, err := s.write(func(put func(key, cursor) error) error {
			in := &blockCursor{matches: m}
			return put(in.key(), in)
		})
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	if s.text != nil {
		t.Errorf("%d bytes of a record are in memory", cap(s.text))
	}
	for i, c := range open {
		found, err := c.match()
		if err != nil || c.key().time != 7 || !bytes.Equal(found.Line, text[:len(text)-1]) || cap(s.text) > 2*size {
			t.Fatalf("run %d: %v, time %d, %d bytes, %d in the buffer", i, err, c.key().time, len(found.Line), cap(s.text))
		}
		if more, err := c.next(); more || err != nil {
			t.Fatalf("run %d: %v, %v after its end", i, more, err)
		}
	}
}
