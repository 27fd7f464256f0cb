package plan_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"logstow/blobnaming"
	"logstow/query/explain"
	"logstow/query/match"
	"logstow/query/plan"
	"logstow/query/source"
	"logstow/record"
	"logstow/store"
	"logstow/store/listcache"
)

// remote is a listing of blobs in pages of 5,000, each of which takes a second.
type remote struct {
	store.BlobReader
	blobs []store.Blob // in order of name

	mu    sync.Mutex
	pages int
}

func (r *remote) List(_ context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) {
		first, _ := slices.BinarySearchFunc(r.blobs, prefix, func(b store.Blob, p string) int { return strings.Compare(b.Name, p) })
		end := first
		for end < len(r.blobs) && strings.HasPrefix(r.blobs[end].Name, prefix) {
			end++
		}
		for more := true; more; {
			page := r.blobs[first:min(end, first+5000)]
			first += len(page)
			more = first < end
			time.Sleep(time.Second)
			r.mu.Lock()
			r.pages++
			r.mu.Unlock()
			if !yield(page, nil) {
				return
			}
		}
	}
}

func newRemote(day time.Time, perHour int) *remote {
	r := new(remote)
	for hour := range 24 {
		bucket := day.Add(time.Duration(hour) * time.Hour)
		for i := range perHour {
			meta := blobnaming.Metadata{
				Start: bucket.UnixNano(), End: bucket.UnixNano() + 1, Records: 1, RawBytes: 40, Levels: record.Counts{record.Info: 1},
				Batch: blobnaming.Batch{byte(hour), byte(i), byte(i >> 8)}, Instance: "i", Footer: 10,
			}
			name := blobnaming.Name{Service: "web", Bucket: bucket, Number: uint64(i + 1)}
			r.blobs = append(r.blobs, store.Blob{Name: name.String(), Size: 100, Metadata: meta.Encode()})
		}
	}
	slices.SortFunc(r.blobs, func(a, b store.Blob) int { return strings.Compare(a.Name, b.Name) })
	return r
}

// A day of many segments is listed hour by hour, in parallel: it takes as long as an hour does. A day
// of few, and a directory, are listed at once.
func TestHoursAreListedInParallel(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		perHour, most int
		free          bool
		took          time.Duration
	}{
		{10, 1, false, time.Second},
		{208, 1, false, time.Second}, // 4,992
		{1000, 1 + 24, false, 2 * time.Second},
		{6000, 1 + 3*24, false, 4 * time.Second}, // two pages each, and the second look
		{1000, 10, true, 10 * time.Second},       // looked at twice
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRemote(day, c.perHour)
			m, err := match.Compile(match.Selection{Services: []string{"web"}, From: day, To: day.AddDate(0, 0, 1)})
			if err != nil {
				t.Fatal(err)
			}
			rec := source.NewRecorder(1)
			p := &plan.Planner{Matcher: m, Stores: []source.Store{{Name: "s", Blobs: r, Free: c.free}}, Recorder: rec, Findings: new(explain.Findings)}
			began := time.Now()
			found, err := p.Find(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			names := make(map[string]bool)
			for _, s := range found {
				names[s.Name.String()] = true
			}
			what := fmt.Sprintf("%d an hour, free %v", c.perHour, c.free)
			if len(found) != len(r.blobs) || len(names) != len(r.blobs) || rec.Report().SegmentsListed != int64(len(r.blobs)) {
				t.Errorf("%s: %d found of %d, %d names", what, len(found), len(r.blobs), len(names))
			}
			if took := time.Since(began); took > c.took || r.pages > c.most {
				t.Errorf("%s: %v and %d pages, want at most %v and %d", what, took, r.pages, c.took, c.most)
			}
		})
	}
}

// Stores that share listings list again for the second look, whose answer is not an earlier listing.
func TestSecondLookIsFresh(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	synctest.Test(t, func(t *testing.T) {
		r := newRemote(day, 1000)
		m, err := match.Compile(match.Selection{Services: []string{"web"}, From: day, To: day.AddDate(0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		shared := listcache.New(r, func() time.Time { return day.AddDate(0, 0, 2) })
		for _, want := range []int{10, 15} { // five pages, and five for each second look
			p := &plan.Planner{
				Matcher: m, Stores: []source.Store{{Name: "s", Blobs: shared, Free: true}}, Recorder: source.NewRecorder(1), Findings: new(explain.Findings),
			}
			if found, err := p.Find(t.Context()); err != nil || len(found) != len(r.blobs) {
				t.Fatalf("%d found: %v", len(found), err)
			}
			if r.pages != want {
				t.Errorf("%d pages are listed, want %d", r.pages, want)
			}
		}
	})
}
