package retention_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"logstow/internal/test/heap"

	"golang.org/x/sync/errgroup"

	"logstow/blobnaming"
	"logstow/internal/test/effort"
	"logstow/record"
	"logstow/retention"
	"logstow/store"
	"logstow/tableindex"
)

// bound is the number of requests promised: one a service in each container, and one a day, 256 deleted and 5,000 listed blobs.
func bound(services, days, deleted, listed int64) int64 {
	return (2*services+days+deleted/256+listed/5000)*12/10 + 50
}

// TestRequests is the small form of TestLarge.
func TestRequests(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, s store.Store) { halve(t, s, 20, 10, 2) })
}

// TestLarge takes a minute, with an emulator that looks blobs up by name: make test-large.
func TestLarge(t *testing.T) {
	effort.Need(t, effort.Long, "24,000 blobs")
	services := 200
	if n, err := strconv.Atoi(os.Getenv("LOGSTOW_SERVICES")); err == nil {
		services = n
	}
	halve(t, openAzure(t), services, 60, 2)
}

// halve fills a store with so many services, days, and blobs a service and day, keeps the
// younger half, and compares what is left and how many requests it took.
func halve(t *testing.T, s store.Store, services, days, each int) {
	today := firstDay()
	began := time.Now()
	var group errgroup.Group
	group.SetLimit(16)
	for n := range services {
		group.Go(func() error {
			service := fmt.Sprintf("service-%04d", n)
			var entities []tableindex.Entity
			for age := range days {
				for i := range each {
					entities = append(entities, newEntity(service, "", today.AddDate(0, 0, -age).Add(time.Duration(i)*time.Hour), uint64(i+1)))
				}
			}
			return putEntities(t.Context(), s, entities)
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	keep := days/2 - 1 // with today that many whole days
	policy := retention.Policy{Keep: map[string]time.Duration{"": time.Duration(keep) * day}}
	var counter store.Counter
	counted := counter.Store(s)
	report, err := retain(t.Context(), counted, policy, retention.Options{})
	if err != nil || report.Err() != nil {
		t.Fatal(err, report.Err())
	}
	all := int64(services * days * each)
	if report.Blobs != all/2 {
		t.Errorf("%d blobs of %d went", report.Blobs, all)
	}
	first := counter.Requests()
	if most := bound(int64(services), int64(days), all/2, all); first.Total() > most {
		t.Errorf("%+v: %d requests, more than %d", first, first.Total(), most)
	}
	if want := 2*int64(services) + 5; all/2 < 5000 && first.List != want { // the time, and of both containers the services, each of them, and all at once
		t.Errorf("%d listings, want %d", first.List, want)
	}
	t.Logf("%d of %d blobs in %d requests: %+v, %v", report.Blobs, all, first.Total(), first, time.Since(began))

	var left int64
	for page, err := range s.Blobs().List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range page {
			name, err := blobnaming.Parse(b.Name)
			if err != nil || name.Bucket.Before(today.AddDate(0, 0, -keep)) {
				t.Fatalf("%s is left, %v", b.Name, err)
			}
			left++
		}
	}
	if left != all/2 {
		t.Errorf("%d blobs are left of %d", left, all)
	}
	tables, err := tableindex.Tables(t.Context(), s.Tables(), s.Container())
	if err != nil || len(tables) != days/2 {
		t.Errorf("%d tables are left, %v", len(tables), err)
	}
	for _, table := range tables {
		var entities int
		for page, err := range tableindex.Entities(t.Context(), s.Tables(), s.Container(), table.Name, "") {
			if err != nil {
				t.Fatal(err)
			}
			entities += len(page)
		}
		if entities != services*each {
			t.Errorf("table %s has %d entities of %d", table.Name, entities, services*each)
		}
	}
	again, err := retain(t.Context(), counted, policy, retention.Options{})
	second := counter.Requests()
	second.List -= first.List
	if err != nil || again.Err() != nil || second.Delete != first.Delete || second.Table != first.Table+2 {
		t.Errorf("the second run did more than list: %v, %v, %+v after %+v", err, again.Err(), second, first)
	}
}

// synthetic is a store of services of perService blobs each, of which the older half goes.
type synthetic struct {
	store.Store
	services, perService int
	today                time.Time
	listed               uint64
	peak                 int64
	mu                   sync.Mutex
	pages                int
}

func (s *synthetic) Blobs() store.Blobs                     { return syntheticBlobs{nil, s} }
func (s *synthetic) Compacted() store.Blobs                 { return store.NoBlobs("synthetic") }
func (s *synthetic) Now(context.Context) (time.Time, error) { return time.Now(), nil }
func (s *synthetic) String() string                         { return "synthetic" }
func (s *synthetic) blob(prefix string, i, n int) store.Blob {
	bucket := s.today.AddDate(0, 0, -20+i*20/n)
	name := fmt.Sprintf("%s%s/%06d.log", prefix, bucket.Format("2006/01/02/1504"), i+1)
	meta := blobnaming.Metadata{
		Start: bucket.UnixNano(), End: bucket.UnixNano(), Records: 1, RawBytes: 40, Levels: record.Counts{record.Info: 1}, Instance: "pod",
		Filter: blobnaming.Filter{Offset: 1, Partitions: 2, SliceLength: 3},
	}
	return store.Blob{Name: name, Size: 1000, ETag: "0x8DC0FFEE", Metadata: meta.Encode()}
}

// measure reads the size of the heap at some pages.
func (s *synthetic) measure(listed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listed += uint64(listed)
	if s.pages++; s.pages%25 == 0 {
		s.peak = max(s.peak, heap.Live())
	}
}

type syntheticBlobs struct {
	store.Blobs
	s *synthetic
}

func (b syntheticBlobs) Delete(context.Context, []store.BlobRef) error { return nil }

func (b syntheticBlobs) RemoveDirectories(context.Context, string, string) error { return nil }

func (b syntheticBlobs) ListPrefixes(context.Context, string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		var names []string
		for n := range b.s.services {
			names = append(names, fmt.Sprintf("service-%04d/", n))
		}
		yield(names, nil)
	}
}

func (b syntheticBlobs) List(_ context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) {
		for from := 0; from < b.s.perService; from += 5000 {
			var page []store.Blob
			for i := from; i < min(from+5000, b.s.perService); i++ {
				page = append(page, b.s.blob(prefix, i, b.s.perService))
			}
			b.s.measure(len(page))
			if !yield(page, nil) {
				return
			}
		}
	}
}

type syntheticTables struct{ allTables }

func (s *synthetic) Tables() store.Tables { return syntheticTables{} }
func (s *synthetic) Container() string    { return "synthetic" }

func (syntheticTables) Tables(context.Context, string) iter.Seq2[[]string, error] {
	return func(func([]string, error) bool) {}
}

// A million blobs are listed in bounded memory. Not parallel: it measures the whole heap.
func TestMemory(t *testing.T) {
	effort.Need(t, effort.Full, "a million blobs")
	s := &synthetic{services: 20, perService: 50_000, today: firstDay()}
	policy := retention.Policy{Keep: map[string]time.Duration{"": 1 * day, "other": 100 * day}}
	report, err := retain(t.Context(), s, policy, retention.Options{DryRun: true})
	if err != nil || report.Listed < 900_000 || report.Blobs < 900_000 {
		t.Fatalf("%v, %+v", err, report)
	}
	if s.listed < 1_000_000 {
		t.Errorf("%d blobs were listed", s.listed)
	}
	t.Logf("%d blobs listed, at most %d MiB live", s.listed, s.peak>>20)
	if s.peak > 64<<20 {
		t.Errorf("%d MiB live: with garbage that is more than 128 MiB", s.peak>>20)
	}
	// What would go does not go here: verification finds it all.
	s.services = 2
	report, err = retain(t.Context(), s, policy, retention.Options{})
	if err != nil || report.Stayed < 90_000 || report.Err() == nil || s.peak > 64<<20 {
		t.Errorf("%v, %d stayed, %d MiB live", err, report.Stayed, s.peak>>20)
	}
}
