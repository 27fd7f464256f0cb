package main

import (
	"bytes"
	"context"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/record"
	"logstow/store"
	"logstow/tableindex"
)

// The lines of the tables of docs/scaling.md are some of what this program prints.
func TestDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/scaling.md")
	if err != nil {
		t.Fatal(err)
	}
	table := func(flush time.Duration) string {
		var b bytes.Buffer
		if err := printTable(&b, fleet{flush: flush, rate: 2000, keep: 30 * 24 * time.Hour}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	printed, documented := table(time.Minute), 0
	for line := range strings.Lines(string(page)) {
		if row, ok := strings.CutPrefix(line, "    "); ok && !strings.Contains(row, "store:") {
			documented++
			if !strings.Contains(printed, row) {
				t.Errorf("docs/scaling.md has %s", line)
			}
		}
	}
	if documented < 10 {
		t.Errorf("docs/scaling.md has %d lines of the tables", documented)
	}
	if longer := table(10 * time.Minute); !strings.Contains(longer, "ends at 4000000 shippers") || !strings.Contains(string(page), "4,000,000 shippers") {
		t.Errorf("docs/scaling.md does not have where one account ends with ten minutes:\n%s", longer)
	}
}

// More shippers are never less of anything, and instances spread over partitions.
func TestLoad(t *testing.T) {
	t.Parallel()
	f := fleet{flush: time.Minute, rate: 2000, keep: 30 * 24 * time.Hour}
	var last load
	for _, n := range []int{1, 10, 1000, 100_000} {
		f.shippers = n
		l := f.load()
		if l.creates <= last.creates || l.requests <= last.requests || l.share <= last.share || l.pages < last.pages || l.retain <= last.retain ||
			l.writeCost <= last.writeCost || l.keepCost <= last.keepCost || l.accounts < 1 {
			t.Errorf("%d shippers: %+v after %+v", n, l, last)
		}
		last = l
	}
	if last.hot > 0.08 {
		t.Errorf("the busiest of 16 partitions has %.0f%%", 100*last.hot)
	}
}

// Two rows by hand.
func TestByHand(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		f                                                     fleet
		creates, requests, ingress, share, write, index, keep float64
		segments, pages                                       int64
		retain                                                time.Duration
		accounts                                              int
		retainCost                                            float64
		limit                                                 string
	}{
		// 1,000 shippers, one segment of 24 kB a minute each. A month has 43,200 minutes.
		{
			f:       fleet{shippers: 1000, flush: time.Minute, rate: 2000, keep: 30 * 24 * time.Hour},
			creates: 1000. / 60, requests: 50, ingress: 400_000, share: 50. / 20_000,
			write: 4_320 * 0.055, index: 4_320*0.00036 + 43.2*0.045, keep: 0.4e6 * 2_592_000 / 1e9 * 0.0208,
			segments: 6000, pages: 2, retain: 1440 * time.Second, accounts: 1,
			// 50 services and 1,440,000/5,000 = 288 pages, twice; 1,440,000/256 = 5,625 batches; 1 table, each day.
			retainCost: 30 * (676*0.055 + 5_625*0.0044 + 0.00036) / 10_000, limit: "20000 requests a second",
		},
		// 1,000,000 shippers, every ten minutes.
		{
			f:       fleet{shippers: 1_000_000, flush: 10 * time.Minute, rate: 2000, keep: 30 * 24 * time.Hour},
			creates: 1e5 / 60, requests: 5000, ingress: 4e8, share: 0.25,
			write: 432_000 * 0.055, index: 432_000*0.00036 + 4_320*0.045, keep: 4e8 * 2_592_000 / 1e9 * 0.0208,
			segments: 600_000, pages: 120, retain: 40 * time.Hour, accounts: 1,
			// 50,000 services and 28,800 pages, twice; 562,500 batches; 1 table, each day.
			retainCost: 30 * (157_600*0.055 + 562_500*0.0044 + 0.00036) / 10_000, limit: "20000 requests a second",
		},
	} {
		l := tt.f.load()
		for what, v := range map[string][2]float64{
			"creates": {l.creates, tt.creates}, "requests": {l.requests, tt.requests}, "ingress": {l.ingress, tt.ingress}, "share": {l.share, tt.share},
			"write": {l.writeCost, tt.write}, "index": {l.indexCost, tt.index}, "keep": {l.keepCost, tt.keep}, "retain": {l.retainCost, tt.retainCost},
		} {
			if math.Abs(v[0]-v[1]) > 1e-6*v[1] {
				t.Errorf("%d shippers: %s: %v, want %v", tt.f.shippers, what, v[0], v[1])
			}
		}
		if l.segments != tt.segments || l.pages != tt.pages || l.retain.Round(time.Second) != tt.retain || l.accounts != tt.accounts || l.limit != tt.limit {
			t.Errorf("%d shippers: %+v", tt.f.shippers, l)
		}
	}
}

// One row of the table of compaction by hand: 1,000 shippers of 50 services, each service 20 of them but
// one of 100, at one segment a minute.
func TestCompactionByHand(t *testing.T) {
	t.Parallel()
	m := fleet{shippers: 1000, flush: time.Minute, rate: 2000, keep: 30 * 24 * time.Hour}.compacted()
	if m.segments != 144_000 || m.outputs != 24*3 { // 100 x 400 B/s x 3,600 s = 144 MB an hour
		t.Errorf("%+v", m)
	}
	const outputs = 24*50 + 514 // 400,000 B/s x 86,400 s / 64 MiB
	day := (2*24*50+2*288)*0.055 + (1_440_000+outputs+5_625)*0.0044 + outputs*0.055 + (outputs+14_400)*0.00036
	write := 144. * (0.055 + 0.00036)
	if cost := 30 * day / 10_000; math.Abs(m.cost-cost) > 0.01 || math.Abs(m.share-cost/(30*write)) > 0.0001 {
		t.Errorf("costs %v, a share of %v; want %v", m.cost, m.share, cost)
	}
	before := search{requests: 24*2 + 144_000, seconds: 0.025 * (2 + 2250), dollars: (48*0.055 + 144_000*0.0044) / 10_000}
	after := search{requests: 24 + 4*72, seconds: 0.025 * (1 + 5), dollars: (24*0.055 + 288*0.0044) / 10_000}
	for got, want := range map[search]search{m.before: before, m.after: after} {
		if got.requests != want.requests || math.Abs(got.seconds-want.seconds) > 1e-9 || math.Abs(got.dollars-want.dollars) > 1e-9 {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// Where an account ends depends on what is tightest.
func TestEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rate     float64
		shippers int
		limit    string
	}{
		{2000, 400_000, "20000 requests a second"},
		{50_000, 312_500, "3125000000 stored bytes a second"},
	} {
		f := fleet{flush: time.Minute, rate: tt.rate, keep: 30 * 24 * time.Hour}
		if shippers, limit := f.accountLimit(); shippers != tt.shippers || limit != tt.limit {
			t.Errorf("%v bytes a second: %d shippers by %s, want %d by %s", tt.rate, shippers, limit, tt.shippers, tt.limit)
		}
		f.shippers = tt.shippers
		if l := f.load(); l.accounts != 1 {
			t.Errorf("%d accounts at the end of one", l.accounts)
		}
		if f.shippers += f.shippers / 100; f.load().accounts != 2 {
			t.Error("one account past its end")
		}
	}
}

// sink is an index that keeps nothing but the size of what was put.
type sink struct {
	tables
	size int
}

type tables = store.Tables

func (s *sink) Upsert(_ context.Context, _ string, entities []store.Entity) error {
	for _, e := range entities {
		s.size += e.Size()
	}
	return nil
}

// The assumed size of an entity is that of real ones.
func TestEntitySize(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 15, 4, 0, 0, time.UTC)
	row := tableindex.Entity{
		Name: blobnaming.Name{Service: "checkout-api", Bucket: start.Truncate(time.Hour), Number: 123_456},
		Meta: blobnaming.Metadata{
			Start: start.UnixNano(), End: start.Add(time.Minute - 1).UnixNano(), Records: 800, RawBytes: 120_000,
			Levels: record.Counts{record.Info: 790, record.Error: 10}, Batch: blobnaming.Batch{1}, Instance: "checkout-api-7d4b9c6f5-x2x4q",
			Seq: start.UnixNano(), Footer: 20_000, Filter: blobnaming.Filter{Offset: 18_000, Partitions: 1, SliceLength: 2_000},
		},
		ETag: "0x8DC0FFEE0123456", Size: 24_000,
	}
	s := &sink{}
	if err := tableindex.Put(t.Context(), s, "logs", []tableindex.Entity{row}); err != nil {
		t.Fatal(err)
	}
	if off := math.Abs(float64(s.size)/entityBytes - 1); off > 0.1 {
		t.Errorf("%d bytes, not about %d", s.size, entityBytes)
	}
}
