package rowset_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"logstow/columns"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/message"
	"logstow/query/rowset"
)

// page makes a page of random values; with numbers, one entry stands for those.
func page(rnd *rand.Rand, records int, numbers bool) *columns.Page {
	entries := make([]message.Value, 1+rnd.IntN(rnd.IntN(40)+1))
	for i := range entries {
		entries[i] = message.Value{Kind: message.String, Text: fmt.Appendf(nil, "v%d", i)}
	}
	ids := make([]uint8, records)
	for i := range ids {
		ids[i] = uint8(rnd.IntN(len(entries)))
	}
	p := columns.Dictionary(entries, ids)
	if !numbers && rnd.IntN(4) == 0 { // as a page of many values, which need not all occur
		for len(p.Entries) <= columns.MaxEntries {
			p.Entries = append(p.Entries, message.Value{Kind: message.String, Text: fmt.Appendf(nil, "v%d", len(p.Entries))})
		}
		p.Wide, p.IDs = make([]uint16, records), nil
		for i := range p.Wide {
			p.Wide[i] = uint16(rnd.IntN(len(p.Entries)))
		}
	}
	if numbers {
		p.Plane = rnd.IntN(len(entries))
		p.Numbers = columns.Numbers{Kind: message.Number, Scale: rnd.IntN(2), Values: make([]int64, records)}
		for i := range p.Numbers.Values {
			if p.ID(i) == p.Plane {
				p.Numbers.Values[i] = rnd.Int64N(21) - 10
			}
		}
	}
	return p
}

// block is a random set, its operands, and what tells its records apart: equal texts are one combination.
type block struct {
	set      *rowset.Set
	operands []rowset.Operand
	key      func(record int) string
}

func newBlock(rnd *rand.Rand) *block {
	records := 1 + rnd.IntN(300)
	b := &block{set: &rowset.Set{Records: records, Base: 1_000}}
	if rnd.IntN(3) > 0 {
		b.set.Selected.Records = make([]bool, records)
		for i := range records {
			b.set.Selected.Records[i] = rnd.IntN(4) > 0
		}
	}
	var keys []func(record int) string
	for range rnd.IntN(4) {
		p := page(rnd, records, rnd.IntN(3) == 0)
		o := rowset.Operand{Page: p}
		if p.Plane < 0 || rnd.IntN(4) == 0 {
			keys = append(keys, func(record int) string {
				v, _ := p.Value(record, nil)
				return string(v.Text)
			})
		} else {
			o.Alike = true
			constants := make([]int64, rnd.IntN(4))
			for i := range constants {
				constants[i] = rnd.Int64N(31) - 15
				o.Divide(func(v int64) int { return cmp.Compare(v, constants[i]) })
			}
			keys = append(keys, func(record int) string {
				if p.ID(record) != p.Plane {
					return fmt.Sprint("entry ", p.ID(record))
				}
				key := "number"
				for _, c := range constants {
					key += fmt.Sprint(" ", cmp.Compare(p.Numbers.Values[record], c))
				}
				return key
			})
		}
		b.set.Pages, b.operands = append(b.set.Pages, p), append(b.operands, o)
	}
	b.key = func(record int) string {
		text := ""
		for _, key := range keys {
			text += key(record) + "|"
		}
		return text
	}
	for end := 0; end < records; {
		run := columns.Run{Tick: uint32(len(b.set.Runs) * (1 + rnd.IntN(3)))}
		if n := len(b.set.Runs); n > 0 {
			run.Tick = b.set.Runs[n-1].Tick + 1 + uint32(rnd.IntN(3))
		}
		end = min(records, end+1+rnd.IntN(60))
		run.End = end
		b.set.Runs = append(b.set.Runs, run)
	}
	return b
}

// Filters, groups and counts by combination are those of each record by itself. A record of its own differs from all others: its
// combination has no equal in that mode.
func TestAgreesWithEachRecord(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	var c rowset.Combiner
	separate := 0
	for range (effort.Cases{Test: 2000, Full: 20_000}).N() {
		b := newBlock(rnd)
		together := c.Combine(b.operands, 1+rnd.IntN(rowset.MaxCombinations))
		if !together {
			separate++
		}
		checkFilter(t, rnd, &c, b, together)
		checkExamples(t, &c, b, together)
		checkSpans(t, rnd, &c, b, together)
		checkOccurrences(t, rnd, b)
		if t.Failed() {
			return
		}
	}
	if separate == 0 {
		t.Error("no block had too many combinations")
	}
}

func checkFilter(t *testing.T, rnd *rand.Rand, c *rowset.Combiner, b *block, together bool) {
	t.Helper()
	wanted := map[string]bool{}
	for i := range b.set.Records {
		if _, known := wanted[b.key(i)]; !known {
			wanted[b.key(i)] = rnd.IntN(3) > 0
		}
	}
	records, want, kept := make([]bool, b.set.Records), make([]bool, b.set.Records), 0
	for i := range records {
		records[i] = b.set.Has(i)
		if want[i] = records[i] && wanted[b.key(i)]; want[i] {
			kept++
		}
	}
	asked := map[string]bool{}
	got := c.Filter(records, func(record int) bool {
		if !b.set.Has(record) || together && asked[b.key(record)] {
			t.Errorf("asked for record %d, of %q", record, b.key(record))
		}
		asked[b.key(record)] = true
		return wanted[b.key(record)]
	})
	if got != kept || !slices.Equal(records, want) {
		t.Errorf("%d records are kept, want %d", got, kept)
	}
}

func checkExamples(t *testing.T, c *rowset.Combiner, b *block, together bool) {
	t.Helper()
	keys := map[string]int{}
	for i := range b.set.Records {
		if b.set.Has(i) {
			keys[b.key(i)]++
		}
	}
	seen := map[int]bool{}
	c.Examples(b.set, func(combination, record int) bool {
		if seen[combination] || combination >= c.Len() || !b.set.Has(record) {
			t.Errorf("combination %d of %d with record %d", combination, c.Len(), record)
		}
		seen[combination] = true
		if keys[b.key(record)]--; together {
			delete(keys, b.key(record))
		}
		return true
	})
	for key, n := range keys {
		if together || n != 0 {
			t.Errorf("%q has no example", key)
		}
	}
}

func checkSpans(t *testing.T, rnd *rand.Rand, c *rowset.Combiner, b *block, together bool) {
	t.Helper()
	width, leftOut := 1+rnd.Int64N(5), rnd.Int64N(9)
	stepOf := func(at int64) (int64, bool) {
		step := at / 1e9 / width
		return step, step%10 != leftOut
	}
	want, got, counted := map[string][]uint32{}, map[string][]uint32{}, map[string]int{}
	from := 0
	for _, run := range b.set.Runs {
		first, last := run.Times(b.set.Base)
		if step, ok := stepOf(first); ok {
			if other, _ := stepOf(last); other != step {
				t.Fatal("a tick has two steps")
			}
			for i := from; i < run.End; i++ {
				if b.set.Has(i) {
					key := fmt.Sprint(step, b.key(i))
					want[key] = append(want[key], uint32(i))
				}
			}
		}
		from = run.End
	}
	for step, span := range b.set.Spans(stepOf) {
		_ = c.Groups(b.set, span, func(combination int, records []uint32) error {
			key := fmt.Sprint(step, b.key(int(records[0])))
			got[key] = append(got[key], records...)
			counted[fmt.Sprint(step, " ", combination)] += len(records)
			return nil
		})
		if !together {
			continue
		}
		_ = c.Counts(b.set, span, func(combination, n int) error {
			counted[fmt.Sprint(step, " ", combination)] -= n
			return nil
		})
	}
	for key, records := range got {
		slices.Sort(records)
		if !slices.Equal(records, want[key]) {
			t.Errorf("%q has records %v, want %v", key, records, want[key])
		}
	}
	if len(got) != len(want) {
		t.Errorf("groups of %v, want %v", slices.Collect(maps.Keys(got)), slices.Collect(maps.Keys(want)))
	}
	for key, n := range counted {
		if together && n != 0 {
			t.Errorf("combination %s differs by %d records", key, n)
		}
	}
}

func checkOccurrences(t *testing.T, rnd *rand.Rand, b *block) {
	t.Helper()
	var o rowset.Occurrences
	for _, p := range b.set.Pages {
		var records, numbers []uint32
		counts := make([]uint32, len(p.Entries))
		for i := range b.set.Records {
			if rnd.IntN(8) == 0 {
				continue
			}
			records = append(records, uint32(i))
			if counts[p.ID(i)]++; p.ID(i) == p.Plane {
				numbers = append(numbers, uint32(i))
			}
		}
		if o.Count(p, records); !slices.Equal(o.Counts, counts) || !slices.Equal(o.Numbers, numbers) {
			t.Errorf("%v and numbers %v, want %v and %v", o.Counts, o.Numbers, counts, numbers)
		}
	}
}
