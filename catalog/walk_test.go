package catalog_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"logstow/blobnaming"
	"logstow/catalog"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/record"
	"logstow/store"
)

// container is a container in memory. Each page of a listing continues after the last name of the one before, as storage does.
type container struct {
	store.BlobReader
	page int           // blobs in a full page
	took time.Duration // of a page
	// before is called before each page; an error ends the listing.
	before func(prefix string) error

	mu              sync.Mutex
	blobs           []store.Blob // in order of name
	pages           int
	running, atOnce int
}

func (c *container) find(name string) (int, bool) {
	return slices.BinarySearchFunc(c.blobs, name, func(b store.Blob, name string) int { return strings.Compare(b.Name, name) })
}

func (c *container) put(b store.Blob) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i, found := c.find(b.Name); !found {
		c.blobs = slices.Insert(c.blobs, i, b)
	}
}

func (c *container) remove(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i, found := c.find(name); found {
		c.blobs = slices.Delete(c.blobs, i, i+1)
	}
}

func (c *container) after(prefix, last string) (page []store.Blob, more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := sort.Search(len(c.blobs), func(i int) bool { return c.blobs[i].Name >= prefix && c.blobs[i].Name > last })
	for ; i < len(c.blobs) && strings.HasPrefix(c.blobs[i].Name, prefix); i++ {
		if len(page) == c.page {
			return page, true
		}
		page = append(page, c.blobs[i])
	}
	return page, false
}

func (c *container) List(ctx context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) {
		for last, more := "", true; more; {
			c.count(1)
			time.Sleep(c.took)
			var err error
			if err = context.Cause(ctx); err == nil && c.before != nil {
				err = c.before(prefix)
			}
			c.count(-1)
			if err != nil {
				yield(nil, err)
				return
			}
			var page []store.Blob
			if page, more = c.after(prefix, last); len(page) > 0 {
				last = page[len(page)-1].Name
			}
			if !yield(page, nil) {
				return
			}
		}
	}
}

func (c *container) count(change int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pages += max(0, change)
	c.running += change
	c.atOnce = max(c.atOnce, c.running)
}

func (c *container) ListPrefixes(_ context.Context, prefix string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		if c.before != nil {
			if err := c.before(prefix); err != nil {
				yield(nil, err)
				return
			}
		}
		c.mu.Lock()
		c.pages++
		var found []string
		for _, b := range c.blobs {
			if rest, under := strings.CutPrefix(b.Name, prefix); under {
				if dir, _, deeper := strings.Cut(rest, "/"); deeper {
					found = append(found, prefix+dir+"/")
				}
			}
		}
		c.mu.Unlock()
		yield(slices.Compact(found), nil)
	}
}

// plainBlob is a segment of one record at the start of its bucket.
func plainBlob(service string, bucket time.Time, number uint64) store.Blob {
	meta := blobnaming.Metadata{
		Start: bucket.UnixNano(), End: bucket.UnixNano(), Records: 1, RawBytes: 40, Levels: record.Counts{record.Info: 1},
		Batch: blobnaming.Batch{byte(number), byte(number >> 8), byte(number >> 16), byte(bucket.Unix() >> 6), byte(bucket.Unix() >> 14)}, Instance: "i", Footer: 10,
	}
	return store.Blob{Name: blobnaming.Name{Service: service, Bucket: bucket, Number: number}.String(), Size: 100, Metadata: meta.Encode()}
}

// outputBlob is an output of a day.
func outputBlob(service string, at time.Time, class string, generation int) store.Blob {
	name := blobnaming.OutputName(service, at, class, generation)
	meta := blobnaming.Metadata{
		Start: name.Bucket.UnixNano(), End: name.Bucket.UnixNano(), Records: 1, RawBytes: 40, Levels: record.Counts{record.Info: 1},
		Batch: blobnaming.Batch{byte(generation), 1}, Instance: blobnaming.OutputInstance, Class: class, Origins: 5, Footer: 10,
	}
	return store.Blob{Name: name.String(), Size: 100, Metadata: meta.Encode()}
}

// A period of few pages is listed at once; of more, its days, hours, tens of minutes, buckets and first digits in parallel.
func TestListings(t *testing.T) {
	t.Parallel()
	november := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	day := november.AddDate(0, 0, 19)
	for _, c := range []struct {
		what       string
		from, to   time.Time
		perHour    int
		sequential bool
		pages      int // of both containers
		took       int // seconds at most
	}{
		{"a quiet day", day, day.AddDate(0, 0, 1), 1, false, 1 + 1, 2},
		{"a day of one page", day, day.AddDate(0, 0, 1), 20, false, 1 + 1, 2}, // 480
		{"a day of five pages", day, day.AddDate(0, 0, 1), 100, false, 5 + 1, 6},
		{"a day of seven pages", day, day.AddDate(0, 0, 1), 130, false, 1 + 21 + 1, 4}, // 16 at a time
		{"hours of two pages", day, day.AddDate(0, 0, 1), 600, false, 1 + 2*24 + 1, 6},
		{"an hour of five pages", day, day.Add(time.Hour), 2400, false, 5 + 1, 6},
		{"an hour of twelve pages", day, day.Add(time.Hour), 6000, false, 1 + 6 + 10 + 20 + 1, 6},
		{"the same of a directory", day, day.Add(time.Hour), 6000, true, 12 + 1, 13},
		{"a part of a day", day.Add(10 * time.Hour), day.Add(20 * time.Hour), 1, false, 1 + 1, 2},
		{"a quiet month", november, november.AddDate(0, 1, 0), 0, false, 1 + 1, 2},
		{"ten days", day, day.AddDate(0, 0, 10), 2, false, 1 + 1, 2},
		{"30 days of two months", day.AddDate(0, 0, -29), day.AddDate(0, 0, 1), 0, false, 2 + 2, 2},
		{"a month of days", november, november.AddDate(0, 1, 0), 6, false, 1 + 30 + 30, 7},
		{"the same of a directory", november, november.AddDate(0, 1, 0), 6, true, 1 + 30 + 30, 61},
		{"a year", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), 0, false, 1 + 1, 2},
		{"all time", time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), 1, false, 2 + 1 + 1, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			raw, compacted := &container{page: 500, took: time.Second}, &container{page: 500, took: time.Second}
			from, to := c.from, c.to
			if from.Year() == 1 {
				from, to = day, day.AddDate(0, 0, 1)
			}
			for hour := from; hour.Before(to); hour = hour.Add(time.Hour) {
				for i := range c.perHour {
					raw.blobs = append(raw.blobs, plainBlob("web", hour, 1+uint64(i)*999_999/uint64(c.perHour)))
				}
			}
			slices.SortFunc(raw.blobs, func(a, b store.Blob) int { return strings.Compare(a.Name, b.Name) })
			cat := catalog.Catalog{Blobs: raw, Compacted: compacted, Sequential: c.sequential}.WithPage(500)
			began := time.Now()
			names := make(map[string]bool)
			if err := cat.Walk(t.Context(), "web", c.from, c.to, nil, func(d *catalog.Day) error {
				for _, e := range d.Raw {
					names[e.Name.String()] = true
				}
				return nil
			}); err != nil || len(names) != len(raw.blobs) {
				t.Errorf("%s: %v, %d names of %d", c.what, err, len(names), len(raw.blobs))
			}
			pages, atOnce := raw.pages+compacted.pages, raw.atOnce
			if took := time.Since(began); took > time.Duration(c.took)*time.Second || pages != c.pages || atOnce > 16 {
				t.Errorf("%s: %v and %d pages, %d at once, want %d s and %d", c.what, took, pages, atOnce, c.took, c.pages)
			}
		})
	}
}

// world is two random containers of a few services.
type world struct {
	rnd            *rand.Rand
	raw, compacted *container
	// moved are the segments by the output that contains them, in both containers' order of events.
	moved map[string]string
	mu    sync.Mutex
	next  map[string]int // generations by chain
}

func newWorld(rnd *rand.Rand, page int) *world {
	w := &world{rnd: rnd, raw: &container{page: page}, compacted: &container{page: page}, moved: map[string]string{}, next: map[string]int{}}
	base := time.Date(2026, []time.Month{1, 2, 11, 12}[rnd.IntN(4)], 1+rnd.IntN(28), rnd.IntN(24), 0, 0, 0, time.UTC)
	spread := []time.Duration{time.Hour, 24 * time.Hour, 40 * 24 * time.Hour, 800 * 24 * time.Hour}[rnd.IntN(4)]
	width := []time.Duration{time.Minute, 10 * time.Minute, time.Hour}[rnd.IntN(3)]
	for range rnd.IntN(400) {
		at := base.Add(time.Duration(rnd.Int64N(int64(spread)))).Truncate(width)
		number := uint64(1 + rnd.IntN([]int{20, 999_999, 9_999_999}[rnd.IntN(3)]))
		w.raw.put(plainBlob([]string{"web", "web", "web", "we", "web-1", "x"}[rnd.IntN(6)], at, number))
	}
	for range rnd.IntN(4) { // blobs of others, and forged ones
		at := base.Add(time.Duration(rnd.Int64N(int64(spread))))
		for _, b := range []store.Blob{
			{Name: "web/" + at.Format("2006/01/02/15") + "00/notes.txt"},
			{Name: blobnaming.Name{Service: "web", Bucket: at.Truncate(time.Hour), Number: 9}.String()},
			outputBlob("web", at, "", 1),
			{Name: "web/README"},
			{Name: "other"},
		} {
			w.raw.put(b)
		}
		w.compacted.put(plainBlob("web", at.Truncate(time.Hour), 3))
	}
	for range rnd.IntN(30) {
		w.compact()
	}
	return w
}

// compact moves a random segment into a new output: first the output is there, then the segment is removed.
func (w *world) compact() {
	w.mu.Lock()
	defer w.mu.Unlock()
	page, _ := w.raw.after("web/", "")
	w.raw.mu.Lock()
	all := slices.Clone(w.raw.blobs)
	w.raw.mu.Unlock()
	if len(all) == 0 || len(page) == 0 {
		return
	}
	name, err := blobnaming.Parse(all[w.rnd.IntN(len(all))].Name)
	if err != nil {
		return
	}
	chain := blobnaming.OutputName(name.Service, name.Bucket, "", 1).String()
	w.next[chain]++
	output := outputBlob(name.Service, name.Bucket, "", w.next[chain])
	w.compacted.put(output)
	w.moved[name.String()] = output.Name
	w.raw.remove(name.String())
}

// randomRange is a range about the blobs of a world.
func (w *world) randomRange() (from, to time.Time) {
	var times []time.Time
	for _, b := range w.raw.blobs {
		if name, err := blobnaming.Parse(b.Name); err == nil {
			times = append(times, name.Bucket)
		}
	}
	at := func() time.Time {
		if len(times) == 0 || w.rnd.IntN(20) == 0 {
			return time.Date(1+w.rnd.IntN(9999), 1, 1, 0, 0, 0, 0, time.UTC)
		}
		return times[w.rnd.IntN(len(times))].Add(time.Duration(w.rnd.IntN(5)-2) * time.Duration(w.rnd.Int64N(int64(25*time.Hour))))
	}
	from, to = at(), at()
	if to.Before(from) {
		return to, from
	}
	return from, to
}

// Walk yields what a slow reference finds: each entry once, in order, of the range. Segments that compaction moves between any two
// pages are found in one of the containers.
func TestWalkIsComplete(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	for round := range (effort.Cases{Short: 100, Test: 400, Full: 5000}).N() {
		w := newWorld(rand.New(rand.NewPCG(rnd.Uint64(), 1)), 1+rnd.IntN(20))
		from, to := w.randomRange()
		torn := round%2 == 0
		start := slices.Clone(w.raw.blobs)
		var moves sync.Mutex
		if torn {
			moving := func(string) error {
				moves.Lock()
				defer moves.Unlock()
				for range w.rnd.IntN(4) {
					w.compact()
				}
				return nil
			}
			w.raw.before, w.compacted.before = moving, moving
		}
		cat := catalog.Catalog{Blobs: w.raw, Compacted: w.compacted, Sequential: rnd.IntN(2) == 0}.WithPage(w.raw.page)
		kept, seen := make(map[string]int), make(map[string]bool)
		var keeping sync.Mutex
		last := time.Time{}
		err := cat.Walk(t.Context(), "web", from, to, func(e *catalog.Entry) bool {
			keeping.Lock()
			defer keeping.Unlock()
			kept[fmt.Sprint(e.Kind, " ", e.Blob.Name)]++
			return e.Kind != catalog.KindOther && e.Kind != catalog.KindForeign
		}, func(d *catalog.Day) error {
			if cat.Sequential && !d.Day.After(last) {
				t.Errorf("%v is visited after %v", d.Day, last)
			}
			last = d.Day
			for i, entries := range [][]catalog.Entry{d.Raw, d.Compacted} {
				if !slices.IsSortedFunc(entries, func(a, b catalog.Entry) int { return catalog.CompareNames(a.Segment, b.Segment) }) {
					t.Errorf("entries of %v are not in order", d.Day)
				}
				for _, e := range entries {
					if d.Service != "web" || e.Name.Service != "web" || !e.Name.Bucket.Truncate(24*time.Hour).Equal(d.Day) || e.Kind == catalog.KindPlain && i == 1 || e.Kind == catalog.KindOutput && i == 0 {
						t.Errorf("%v has %v %v", d.Day, e.Kind, e.Name)
					}
					if e.Kind == catalog.KindPlain || e.Kind == catalog.KindOutput {
						seen[e.Name.String()] = true
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for name, n := range kept {
			if n != 1 {
				t.Errorf("keep is called %d times for %s", n, name)
			}
		}
		for name := range seen {
			n, err := blobnaming.Parse(name)
			if err != nil {
				n, err = blobnaming.ParseOutput(name)
			}
			if err != nil || n.Service != "web" || n.Chain == "" && !n.Overlaps(from, to) {
				t.Errorf("%s is not of %v to %v", name, from, to)
			}
		}
		want := 0
		for _, b := range start {
			name, err := blobnaming.Parse(b.Name)
			if err != nil || name.Service != "web" || len(b.Metadata) == 0 || !name.Overlaps(from, to) {
				continue
			}
			if want++; !seen[b.Name] && !seen[w.moved[b.Name]] {
				t.Errorf("round %d: %s, now in %q, is missing from %v to %v", round, b.Name, w.moved[b.Name], from, to)
			}
		}
		if !torn {
			for _, b := range w.compacted.blobs {
				if name, err := blobnaming.ParseOutput(b.Name); err == nil && name.HasClass("") && name.Service == "web" && from.Before(to) && name.Overlaps(from.Truncate(24*time.Hour), to) && !seen[b.Name] {
					t.Errorf("round %d: output %s is missing from %v to %v", round, b.Name, from, to)
				}
			}
		}
		if t.Failed() {
			return
		}
	}
}
