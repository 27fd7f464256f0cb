package query

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"logstow/internal/test/querytest"
	"logstow/query/fieldstats"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/testrand"
	"logstow/message/parse"
	"logstow/record"
)

// Of whatever is selected, the fields and how many records have them are what all records give.
func TestFieldsAgreeWithReference(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	some := 0
	for range worlds(15) {
		w := newWorld(t, rnd, false)
		w.fill(rnd.IntN(30))
		for range 10 {
			sel := w.selection()
			all := sel
			all.Limit = 0
			want := map[string]uint64{}
			splitter := parse.Auto().Splitter()
			lines := w.want(&all)
			for _, line := range lines {
				_, line, _ := cutService(line)
				f, _ := record.Split([]byte(line))
				splitter.Split(f.Attributes, record.AppendMessage(nil, f.Raw))
				names := map[string]bool{}
				for name := range splitter.All() {
					names[name] = true
				}
				for name := range names {
					want[name]++
				}
			}
			q := w.query(sel, Options{})
			p, err := q.Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, limit := range []uint64{0, 1 << 40, 1} {
				found, err := q.Fields(t.Context(), p, FieldOptions{Records: limit, Top: 3})
				if err != nil {
					t.Fatal(err)
				}
				if limit == 1 { // one block
					if (found.Records == 0) != (len(lines) == 0) || !found.Sampled && found.Records != uint64(len(lines)) {
						t.Fatalf("a sample of %d of %d records", found.Records, len(lines))
					}
					continue
				}
				got := map[string]uint64{}
				for _, f := range found.Fields {
					got[f.Name] = f.Records
				}
				if diff := cmp.Diff(want, got); diff != "" || found.Records != uint64(len(lines)) || found.Sampled {
					t.Fatalf("%+v: %d of %d records\n%s", sel, found.Records, len(lines), diff)
				}
			}
			some += len(want)
		}
	}
	if some < 3*worlds(15) {
		t.Errorf("%d fields", some)
	}
}

func cutService(line string) (service, rest string, ok bool) {
	for i := range line {
		if line[i] == ' ' {
			return line[:i], line[i+1:], true
		}
	}
	return line, "", false
}

// A sample is of blocks all over the range, and reads little; a rare pattern is found outside it, too.
func TestFieldsOfASample(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.New(rand.NewPCG(4, 4)), false)
	const hours, each = 64, 50
	for hour := range hours {
		var records []record.Record
		for i := range each {
			at := origin().Add(time.Duration(hour)*time.Hour + time.Duration(i)*time.Second)
			message := fmt.Sprintf("hour=%d", hour)
			if hour == 37 && i == 7 {
				message += " rare=order-1234567"
			}
			records = append(records, record.Record{Time: at.UnixNano(), Message: []byte(message)})
		}
		w.add("svc", "pod", 2000, w.salt(), records)
	}
	sel := querytest.Everything()
	sel.To = sel.To.AddDate(100, 0, 0)
	fields := func(sel Selection, limit uint64) (*FieldStats, Report) {
		q := w.query(sel, Options{})
		p, err := q.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found, err := q.Fields(t.Context(), p, FieldOptions{Records: limit, Top: 100})
		if err != nil {
			t.Fatal(err)
		}
		return found, q.Report()
	}
	found, report := fields(sel, 8*each)
	quarters := map[int]int{}
	for _, v := range found.Fields[0].Top {
		var hour int
		if _, err := fmt.Sscan(v.Text, &hour); err != nil || v.Type != fieldstats.Number || v.Count != each {
			t.Fatalf("%+v, %v", v, err)
		}
		quarters[hour*4/hours]++
	}
	if !found.Sampled || found.Records != 8*each || found.Blocks > 16 || found.AllBlocks != hours || !maps.Equal(quarters, map[int]int{0: 2, 1: 2, 2: 2, 3: 2}) {
		t.Errorf("%+v, by quarters %v", found, quarters)
	}
	if report.SegmentsRead > 40 {
		t.Errorf("%d segments read", report.SegmentsRead)
	}
	var records []record.Record // a segment of several blocks, of which a sample takes some
	for i := range 3000 {
		at := origin().Add(30*time.Hour + time.Duration(i)*time.Second/2)
		records = append(records, record.Record{Time: at.UnixNano(), Message: fmt.Appendf(nil, "hour=30 pad=%01000d", i)})
	}
	w.add("svc", "pod", 2000, w.salt(), records)
	const total = hours*each + 3000
	if found, _ := fields(sel, total-1); found.Records < total-1 || found.Fields[0].Records != found.Records {
		t.Errorf("%d of %d records", found.Records, total)
	}
	if found, _ := fields(sel, 200); !found.Sampled || found.Records > total/4 {
		t.Errorf("%d of %d records", found.Records, total)
	}
	sel.Patterns = []string{"order-1234567"}
	if found, _ := fields(sel, 8*each); found.Records != 1 || found.Sampled || len(found.Fields) != 2 {
		t.Errorf("%+v", found)
	}
}
