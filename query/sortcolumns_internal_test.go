package query

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"logstow/internal/test/querytest"

	"logstow/columns"
	"logstow/record"
	"logstow/segment"
)

// sortWorld is a store of two segments of some 50 blocks each with columns. Of its 4000 records, one a quarter of a
// second, n is a permutation, up ascends, m is n % 200, same is one value, and tenth is in one record of ten.
func sortWorld(t *testing.T) (*world, []*built) {
	t.Helper()
	w := newWorld(t, rand.New(rand.NewPCG(17, 3)), false)
	w.share = 10
	var all []*built
	order := w.rnd.Perm(4000)
	for from := 0; from < len(order); from += 2000 {
		records := make([]record.Record, 2000)
		for i := range records {
			n := from + i
			tenth := ""
			if n%10 == 3 {
				tenth = fmt.Sprintf(`,"tenth":%d.5`, order[n]%100)
			}
			records[i] = record.Record{
				Time: origin().Add(time.Duration(n) * time.Second / 4).UnixNano(), Level: record.Level(1 + n%3), Source: "a",
				Message: fmt.Appendf(nil, `{"n":%d,"up":%d,"m":%d,"same":"x"%s,"id":"%x"}`, order[n], n, order[n]%200, tenth, w.rnd.Uint64()),
			}
		}
		all = append(all, w.add("svc", "pod", 4000, w.salt(), records))
	}
	return w, all
}

// Of blocks with columns, only those are read that have one of the first records.
func TestSortSkipsBlocks(t *testing.T) {
	t.Parallel()
	w, all := sortWorld(t)
	sel := querytest.Everything()
	sel.To = sel.To.AddDate(100, 0, 0)
	for _, c := range []struct {
		items  []string
		where  string
		levels record.LevelSet
		needed int64 // blocks
	}{
		{items: []string{"n desc"}, needed: 5},
		{items: []string{"n"}, needed: 5},
		{items: []string{"up desc"}, needed: 1},
		{items: []string{"same"}, needed: 1},
		{items: []string{"same desc", "level", "up desc"}, needed: 1},
		{items: []string{"tenth desc"}, needed: 5},
		{items: []string{"m", "n"}, needed: 5},
		{items: []string{"level desc"}, needed: 1},
		{items: []string{"level desc", "n"}, needed: 5},
		{items: []string{"time desc"}, needed: 1},
		{items: []string{"service", "source", "instance", "n"}, needed: 200},
		{items: []string{"n"}, where: "up > 3900", needed: 4},
		{items: []string{"n desc"}, levels: 1 << 2, needed: 5},
		{items: []string{"message"}, needed: 200},
		{items: []string{"id"}, needed: 5},
	} {
		sel := sel
		sel.Limit, sel.Levels = 5, c.levels
		if c.where != "" {
			sel.Where = []string{c.where}
		}
		q, p := w.planned(sel, Options{NoColumns: true})
		want := sorted(t, q, p, c.items...)
		q, p = w.planned(sel, Options{})
		if got := sorted(t, q, p, c.items...); !slices.Equal(got, want) || len(got) != 5 {
			t.Errorf("%+v\ngot  %q\nwant %q", c, got, want)
		}
		r := q.Report()
		if r.BlocksTotal < 98 || r.BlocksRead+r.BlocksExcluded != r.BlocksTotal || r.BlocksColumns != 0 {
			t.Errorf("%+v: of %d blocks %d read, %d excluded, %d from columns", c, r.BlocksTotal, r.BlocksRead, r.BlocksExcluded, r.BlocksColumns)
		}
		if r.BlocksRead > 2*c.needed+2 { // others are being read when enough is known
			t.Errorf("%+v: %d blocks are read", c, r.BlocksRead)
		}
		if progress := q.Progress(); progress.Bytes != int64(len(all[0].bodies[0])+len(all[1].bodies[0])) {
			t.Errorf("%+v: progress of %d bytes", c, progress.Bytes)
		}
	}

	// All are read if all are wanted.
	q, p := w.planned(sel, Options{})
	if got := sorted(t, q, p, "n"); len(got) != 4000 || q.Report().BlocksRead != q.Report().BlocksTotal {
		t.Errorf("%d records, %+v", len(got), q.Report())
	}
}

// The different values are those of columns where blocks have them, and of the text where they are damaged.
func TestDistinctReadsColumns(t *testing.T) {
	t.Parallel()
	w, all := sortWorld(t)
	sel := querytest.Everything()
	sel.To = sel.To.AddDate(100, 0, 0)
	for _, name := range []string{"tenth", "same", "n", "level", "source", "service"} {
		sel.Where = []string{"up > 1000"}
		q, p := w.planned(sel, Options{NoColumns: true})
		want, sum := distinctValues(t, q, p, name)
		q, p = w.planned(sel, Options{})
		got, gotSum := distinctValues(t, q, p, name)
		if !slices.Equal(got, want) || gotSum != sum || len(got) == 0 {
			t.Errorf("%s: %q, %+v, want %q, %+v", name, got, gotSum, want, sum)
		}
		if r := q.Report(); r.BlocksRead != 1 || r.BlocksColumns+r.BlocksExcluded != r.BlocksTotal-1 { // one is read for the sample
			t.Errorf("%s: of %d blocks %d read, %d excluded, %d from columns", name, r.BlocksTotal, r.BlocksRead, r.BlocksExcluded, r.BlocksColumns)
		}
	}
	w.damage(all[0], columns.Name{Field: "tenth"}, 7)
	sel.Where = nil
	q, p := w.planned(sel, Options{})
	values, _ := distinctValues(t, q, p, "tenth")
	if r := q.Report(); len(values) == 0 || r.BlocksRead != 1 || r.BlocksColumns != r.BlocksTotal-1 || len(r.Notes) != 1 {
		t.Errorf("%q, %+v", values, r)
	}
}

// A block with a damaged page is read, whatever its other pages have.
func TestSortOfDamagedColumns(t *testing.T) {
	t.Parallel()
	w, all := sortWorld(t)
	sel := querytest.Everything()
	sel.To, sel.Limit = sel.To.AddDate(100, 0, 0), 5
	items := []string{"up desc"} // the first are in the last block
	q, p := w.planned(sel, Options{})
	want := sorted(t, q, p, items...)
	before := q.Report()
	if len(before.Notes) > 0 {
		t.Fatal(before.Notes)
	}
	last := before.BlocksTotal
	w.damage(all[0], columns.Name{Field: "up"}, 0)
	w.damage(all[1], columns.Name{Field: "up"}, -1)
	q, p = w.planned(sel, Options{})
	got := sorted(t, q, p, items...)
	r := q.Report()
	if !slices.Equal(got, want) || len(r.Notes) != 2 || r.BlocksRead < 2 || r.BlocksRead+r.BlocksExcluded != last || r.BlocksExcluded == 0 {
		t.Errorf("got  %q\nwant %q, %+v", got, want, r)
	}
}

// Damaged text of a block whose columns have the first records is a problem; the others are those that come first.
func TestSortOfDamagedText(t *testing.T) {
	t.Parallel()
	w, all := sortWorld(t)
	sel := querytest.Everything()
	sel.To, sel.Limit = sel.To.AddDate(100, 0, 0), 5
	f := w.footer(all[1])
	name := all[1].name.String()
	body := bytes.Clone(w.memory.bodies[name])
	b := f.Blocks[len(f.Blocks)-1]
	body[b.Offset+b.Stored/2] ^= 1
	w.memory.bodies[name] = body
	q, p := w.planned(sel, Options{NoColumns: true})
	want := sorted(t, q, p, "up desc")
	q, p = w.planned(sel, Options{})
	if got := sorted(t, q, p, "up desc"); !slices.Equal(got, want) || len(got) != 5 || len(q.Report().Problems) != 1 {
		t.Errorf("got  %q\nwant %q, %v", got, want, q.Report().Problems)
	}
}

// footer is that of a segment.
func (w *world) footer(b *built) *segment.Footer {
	w.t.Helper()
	body := b.bodies[0]
	f, err := segment.ReadFooter(w.t.Context(), func(_ context.Context, off, n int64) ([]byte, error) { return body[off : off+n], nil }, int64(len(body)), b.meta.Footer)
	if err != nil {
		w.t.Fatal(err)
	}
	return f
}

// damage damages the page of a block of a segment's column; block -1 is the last.
func (w *world) damage(b *built, name columns.Name, block int) {
	w.t.Helper()
	f := w.footer(b)
	body := bytes.Clone(w.memory.bodies[b.name.String()])
	c, err := f.ParseColumns(body[f.Columns:][:f.ColumnsLength])
	if err != nil || c.Find(name) == nil {
		w.t.Fatal(name, err)
	}
	if block < 0 {
		block += len(f.Blocks)
	}
	body[c.Find(name).Pages[block].Offset] ^= 1
	w.memory.bodies[b.name.String()] = body
}
