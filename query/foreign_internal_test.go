package query

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/aggregatetest"
	"logstow/internal/test/effort"
	"logstow/internal/test/querytest"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"logstow/blobnaming"
	"logstow/internal/test/testrand"
	"logstow/record"
)

// compressed is text plain, in gzip or in zstd.
func compressed(t testing.TB, rnd *rand.Rand, text []byte) []byte {
	t.Helper()
	switch rnd.IntN(3) {
	case 0:
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	case 1:
		w, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		return w.EncodeAll(text, nil)
	}
	return text
}

// foreigners is the same world with the text of its segments in the place of them.
func (w *world) foreigners() *world {
	other := newWorld(w.t, w.rnd, false)
	for _, s := range w.segments {
		var text []byte
		for r := range s.records(w.t) {
			text = record.AppendText(text, r)
		}
		other.memory.put(s.name.String(), compressed(w.t, w.rnd, text), nil)
	}
	return other
}

// Text that is stored as it is gives what segments of it would.
func TestForeignAgrees(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "many queries")
	rnd := testrand.New(t)
	for range rounds(30) {
		w := newWorld(t, rnd, false)
		for i := range 1 + rnd.IntN(8) {
			hour := origin().Add(time.Duration(rnd.IntN(4)) * time.Hour)
			records := make([]record.Record, 1+rnd.IntN(40))
			for j := range records {
				records[j] = record.Record{
					Time: hour.Add(time.Duration(rnd.IntN(3600)) * time.Second).UnixNano(), Level: record.Level(rnd.IntN(record.Levels)),
					Source: fmt.Sprintf("app/%d.log", rnd.IntN(3)), Message: querytest.RandomText(rnd, 20),
				}
			}
			w.add(fmt.Sprintf("svc-%d", i%2), "-", 500, w.salt(), records)
		}
		other := w.foreigners()
		for range 20 {
			sel := w.selection()
			limit := sel.Limit
			sel.Limit = 0
			want, lines := got(t, w.query(sel, Options{})), got(t, other.query(sel, Options{}))
			times := slices.IsSortedFunc(lines, func(a, b string) int {
				a, b = a[len("svc-0 "):][:record.TimeLen], b[len("svc-0 "):][:record.TimeLen]
				if sel.Newest {
					a, b = b, a
				}
				return strings.Compare(a, b)
			})
			slices.Sort(want)
			slices.Sort(lines)
			if diff := gocmp.Diff(want, lines); diff != "" || !times {
				t.Fatalf("%+v (in order: %v): %s", sel, times, diff)
			}
			for _, by := range [][]string{{"level"}, {"minute", "level"}, {"source"}} {
				if diff := gocmp.Diff(w.stats(sel, by), other.stats(sel, by)); diff != "" {
					t.Fatalf("%v of %+v: %s", by, sel, diff)
				}
			}
			if sel.Limit = limit; limit > 0 {
				if n := len(got(t, other.query(sel, Options{}))); n != min(limit, len(want)) {
					t.Fatalf("%+v: %d of %d", sel, n, len(want))
				}
			}
		}
	}
}

func (w *world) stats(sel Selection, by []string) *aggregatetest.Counts {
	w.t.Helper()
	q := w.query(sel, Options{})
	p, err := q.Plan(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	s := countBy(w.t, q, p, by, nil)
	if passed, bound := q.Progress().Bytes, q.Bound(p).Bytes; passed != bound {
		w.t.Fatalf("%+v: passed %d of %d bytes", sel, passed, bound)
	}
	n, err := q.Count(w.t.Context(), p)
	if err != nil || n != s.Total {
		w.t.Fatalf("%+v: count %d, statistics %d, %v", sel, n, s.Total, err)
	}
	return s
}

// Blobs of Storage Analytics are found by their metadata, an hour wider on both
// sides, and under the names of the hours around.
func TestAnalytics(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("foreign/testdata/analytics.log")
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), false)
	meta := map[string]string{"LogType": "read,write", "StartTime": "2014-07-31T19:00:10Z", "EndTime": "2014-07-31T19:00:11Z", "LogVersion": "1.0"}
	// Written an hour late, under the next hour's name.
	w.memory.put("blob/2014/07/31/1900/000000.log", lines[0], meta)
	w.memory.put("blob/2014/07/31/1800/000000.log", lines[1], meta)
	ask := func(container, from, to string) (int, *Report) {
		sel := Selection{Where: []string{`field("http-status-code") >= 200`}, Services: []string{"blob"}}
		for at, text := range map[*time.Time]string{&sel.From: from, &sel.To: to} {
			var err error
			if *at, err = time.Parse(time.RFC3339, text); err != nil {
				t.Fatal(err)
			}
		}
		q, err := New([]Store{{Name: container, Container: container, Blobs: w.memory}}, sel, Options{})
		if err != nil {
			t.Fatal(err)
		}
		n := len(got(t, q))
		r := q.Report()
		return n, &r
	}
	if n, r := ask("$logs", "2014-07-31T18:09:00Z", "2014-07-31T18:09:13Z"); n != 1 || len(r.Problems) > 0 || len(r.Notes) > 0 {
		t.Errorf("%d, %v %v", n, r.Problems, r.Notes)
	}
	if n, r := ask("$logs", "2014-07-31T18:09:00Z", "2014-07-31T18:59:00Z"); n != 2 || r.SegmentsPruned != 0 {
		t.Errorf("%d, %+v", n, r)
	}
	// Another container's hours are exact, and what is not in them is named.
	if n, r := ask("c", "2014-07-31T18:09:00Z", "2014-07-31T18:59:00Z"); n != 1 || len(r.Problems) > 0 {
		t.Errorf("%d, %v", n, r.Problems)
	}
	w.memory.put("blob/2014/07/31/1900/000003.log", lines[0], nil)
	if n, r := ask("c", "2014-07-31T18:09:00Z", "2014-07-31T19:59:00Z"); n != 2 || len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Error(), "not in the hour of the name") {
		t.Errorf("%d, %v", n, r.Problems)
	}
	q, err := New([]Store{{Name: "c", Blobs: w.memory}}, wholeDay(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if last, service, found, err := q.Newest(t.Context()); err != nil || !found || service != "blob" || last.Format(time.RFC3339) != "2014-07-31T19:59:59Z" {
		t.Error(last, service, found, err)
	}
}

// What cannot be read of a foreign blob is named; the rest is printed. One that
// changes is another.
func TestForeignDamage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), false)
	line := record.AppendText(nil, record.Record{Time: origin().UnixNano(), Source: "-", Message: []byte("hello")})
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for range 1000 {
		if _, err := z.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	name := blobnaming.Name{Service: "a", Bucket: origin(), Number: 1}
	w.memory.put(name.String(), b.Bytes()[:b.Len()-8], nil)
	q := w.query(wholeDay(), Options{})
	if lines := got(t, q); len(lines) != 1000 || len(q.Report().Problems) != 1 {
		t.Errorf("%d lines, %v", len(lines), q.Report().Problems)
	}
	before, err := q.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.memory.put(name.String(), b.Bytes(), nil)
	after, err := q.Plan(t.Context())
	if err != nil || before.Segments[0].Meta.Batch == after.Segments[0].Meta.Batch || !after.Segments[0].Foreign {
		t.Error(err, before.Segments, after.Segments)
	}
}

// The same question again costs the listing alone.
func TestForeignCached(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), false)
	w.keep()
	w.memory.put("a/2025/12/31/2200/000001.log", []byte("one\ntwo\n"), nil)
	sel := wholeDay()
	sel.Patterns = []string{"two"}
	for round, want := range []int64{1, 0} {
		q := w.query(sel, Options{})
		if lines := got(t, q); len(lines) != 1 {
			t.Errorf("%q", lines)
		}
		if gets := q.Report().Requests.Get; gets != want {
			t.Errorf("round %d: %d reads, want %d", round, gets, want)
		}
	}
}
