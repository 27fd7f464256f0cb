package audit_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"logstow/internal/test/heap"

	"logstow/audit"
	"logstow/blobnaming"
	"logstow/internal/test/effort"
	"logstow/internal/test/storetest"
	"logstow/record"
	"logstow/store"
	"logstow/tableindex"
)

const (
	// The segments of a synthetic store are of so many instances, and have records in so many minutes.
	instances, minutes = 1000, 60
)

// synthetic is a store of one day that is made up as it is read.
type synthetic struct {
	store.Store
	services, perHour int
	// blobless and bare mean that no blobs, or no entities, are there.
	blobless, bare bool
	// shards are the instances of each.
	shards map[string]map[int]bool

	mu    sync.Mutex
	peak  int64
	pages int
}

func newSynthetic(t *testing.T, services, perHour int) *synthetic {
	t.Helper()
	s := &synthetic{services: services, perHour: perHour, shards: make(map[string]map[int]bool)}
	for i := range instances {
		shard := s.entity("x", 0, i).Key().Partition[len("x|"):]
		if s.shards[shard] == nil {
			s.shards[shard] = make(map[int]bool)
		}
		s.shards[shard][i] = true
	}
	if len(s.shards) != 16 {
		t.Fatalf("%d shards", len(s.shards))
	}
	return s
}

func (s *synthetic) Blobs() store.Blobs     { return syntheticBlobs{s: s} }
func (s *synthetic) Compacted() store.Blobs { return store.NoBlobs("synthetic") }
func (s *synthetic) Tables() store.Tables   { return syntheticTables{s: s} }
func (s *synthetic) Container() string      { return "synthetic" }
func (s *synthetic) String() string         { return "synthetic" }
func (s *synthetic) Now(context.Context) (time.Time, error) {
	return time.Now(), nil
}

// entity is the n-th of an hour, without minutes.
func (s *synthetic) entity(service string, h, n int) tableindex.Entity {
	bucket := hour().Truncate(24 * time.Hour).Add(time.Duration(h) * time.Hour)
	return tableindex.Entity{
		Name: blobnaming.Name{Service: service, Bucket: bucket, Number: uint64(n + 1)},
		Meta: blobnaming.Metadata{
			Start: bucket.UnixNano(), End: bucket.Add(time.Hour-time.Second).UnixNano() + int64(n),
			Records: minutes, RawBytes: minutes * 100, Levels: record.Counts{record.Info: minutes}, Instance: fmt.Sprintf("pod-%04d", n%instances),
			Batch: blobnaming.Batch{byte(h), byte(n), byte(n >> 8)}, Seq: int64(n),
			Filter: blobnaming.Filter{Offset: 1, Partitions: 2, SliceLength: 3},
		},
		ETag: fmt.Sprintf("0x8DC%06d%02d", n, h), Size: 1000,
	}
}

// indexed is the entity as the index has it.
func (s *synthetic) indexed(service string, h, n int) tableindex.Entity {
	r := s.entity(service, h, n)
	for m := range minutes {
		r.Minutes = append(r.Minutes, record.Minute{Start: r.Name.Bucket.Unix() + int64(m)*60, Levels: record.Counts{record.Info: 1}})
	}
	return r
}

// measure reads the size of the heap at some pages.
func (s *synthetic) measure() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pages++; s.pages%20 == 0 {
		s.peak = max(s.peak, heap.Live())
	}
}

type syntheticBlobs struct {
	store.Blobs
	s *synthetic
}

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
	service, _, _ := strings.Cut(prefix, "/")
	return func(yield func([]store.Blob, error) bool) {
		if b.s.blobless {
			return
		}
		var page []store.Blob
		for h := range 24 {
			if !strings.HasPrefix(b.s.entity(service, h, 0).Name.String(), prefix[:min(len(prefix), len(service)+len("/2026/11/19/15"))]) {
				continue
			}
			for n := range b.s.perHour {
				r := b.s.entity(service, h, n)
				page = append(page, store.Blob{Name: r.Name.String(), Size: r.Size, ETag: r.ETag, Metadata: r.Meta.Encode()})
				if len(page) == 5000 {
					b.s.measure()
					if !yield(page, nil) {
						return
					}
					page = nil
				}
			}
		}
		yield(page, nil)
	}
}

type syntheticTables struct {
	tables
	s *synthetic
}

func (x syntheticTables) Tables(context.Context, string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		if !x.s.bare {
			yield([]string{tableindex.TableName(x.s.Container(), "", hour())}, nil)
		}
	}
}

// Query answers as storage does, in order, on pages of a thousand.
func (x syntheticTables) Query(ctx context.Context, _ string, q store.Query) iter.Seq2[[]store.Entity, error] {
	return func(yield func([]store.Entity, error) bool) {
		var entities []tableindex.Entity
		send := func() bool {
			x.s.measure()
			var e encoder
			if err := tableindex.Put(ctx, &e, x.s.Container(), entities); err != nil {
				return yield(nil, err)
			}
			entities = entities[:0]
			return yield(e.all, nil)
		}
		for n := range x.s.services {
			service := fmt.Sprintf("service-%04d", n)
			for shard := range 16 {
				p := partitionOf(service, shard)
				if p != q.Partition && (p < q.Partition || p >= q.PartitionTo) {
					continue
				}
				for h := 23; h >= 0; h-- {
					if first, last := x.s.entity(service, h, x.s.perHour).Key().Row, x.s.entity(service, h, 0).Key().Row; last < q.RowFrom || q.RowTo != "" && first >= q.RowTo {
						continue
					}
					for n := x.s.perHour - 1; n >= 0; n-- {
						if !x.s.shards[p[len(service)+1:]][n%instances] {
							continue
						}
						if entities = append(entities, x.s.indexed(service, h, n)); len(entities) == 1000 && !send() {
							return
						}
					}
				}
			}
		}
		send()
	}
}

// encoder takes entities as they would be stored.
type encoder struct {
	tables
	mu  sync.Mutex
	all []store.Entity
}

func (e *encoder) Upsert(_ context.Context, _ string, entities []store.Entity) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, entities...)
	return nil
}

// A day of 100,000 segments (with make long 200,000) is compared in bounded memory, whatever differs. Not
// parallel: it measures the whole heap.
func TestLongMemory(t *testing.T) {
	effort.Need(t, effort.Full, "100,000 segments")
	for name, c := range map[string]struct {
		services, perHour int
		blobless, bare    bool
		found             func(segments int64) int64
	}{
		"alike, one service":   {1, 8400, false, false, func(int64) int64 { return 0 }},
		"alike, four services": {4, 1000, false, false, func(int64) int64 { return 0 }},
		"without an index":     {4, 2100, false, true, func(n int64) int64 { return n }},
		"without any blob":     {1, 1050, true, false, func(n int64) int64 { return n }},
	} {
		if effort.Of() < effort.Long {
			c.perHour /= 2
		}
		s := newSynthetic(t, c.services, c.perHour)
		s.blobless, s.bare = c.blobless, c.bare
		segments := int64(c.services) * int64(c.perHour) * 24
		began := time.Now()
		report, err := audit.Verify(t.Context(), s, audit.Options{Settle: time.Millisecond})
		if err != nil || report.Err() != nil || report.Differences != c.found(segments) {
			t.Fatalf("%s: %v, %v, %+v", name, err, report.Err(), report)
		}
		t.Logf("%s: %d segments, %d entities: %d MiB live, %v, %+v", name, report.Blobs, report.Entities, s.peak>>20, time.Since(began), report.Requests)
		r := report.Requests
		if r.Get != 0 || c.found(1) == 0 && (r.List > segments/5000+5*int64(c.services) || r.Table > 4*segments/1000+70) {
			t.Errorf("%s: %+v is more than listings cost", name, r)
		}
		// The shipper sets a GOMEMLIMIT of 90 MiB; with more alive, it would collect garbage all the time. What is being read
		// while the heap is measured varies by 10 MiB.
		if s.peak > 88<<20 {
			t.Errorf("%s: %d MiB live do not fit into a GOMEMLIMIT of 90 MiB", name, s.peak>>20)
		}
	}
}

// Few segments in many days of many services cost one request for each of these.
func TestRequests(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, s store.Store) {
		const services, days = 6, 5
		var entities []tableindex.Entity
		for n := range services {
			for d := range days {
				for number := range uint64(2) {
					m := newSegment(t, fmt.Sprintf("service-%d", n), "", hour().AddDate(0, 0, d), number+1, 3)
					create(t, s, &m, m.entity.Meta.Encode())
					entities = append(entities, m.entity)
				}
			}
		}
		index(t, s, entities...)
		_, all := found(t, s, audit.Options{}, func(o audit.Options) (audit.Report, error) { return audit.Verify(t.Context(), s, o) })
		if want := (store.Requests{List: 2 + 2*services, Table: 2 + days + services*days}); all.Requests != want {
			t.Errorf("all: %+v, want %+v", all.Requests, want)
		}
		o := audit.Options{Services: []string{"service-3"}, From: hour(), To: hour().Add(25 * time.Hour)}
		_, some := found(t, s, o, func(o audit.Options) (audit.Report, error) { return audit.Verify(t.Context(), s, o) })
		if want := (store.Requests{List: 2 + 1 + 1, Table: 2 + 2}); some.Requests != want || some.Blobs != 4 || some.Entities != 4 || some.Services != 1 {
			t.Errorf("two days of a service: %+v", some)
		}
		_, deep := found(t, s, audit.Options{Depth: audit.Footers}, func(o audit.Options) (audit.Report, error) { return audit.Verify(t.Context(), s, o) })
		if deep.Requests.Get != int64(len(entities)) {
			t.Errorf("%d reads of %d footers", deep.Requests.Get, len(entities))
		}
	})
}

// A day of many segments is compared in parts of whole hours, each of which queries the service's 16
// partitions; one of few segments in one request.
func TestParts(t *testing.T) {
	t.Parallel()
	s := storetest.OpenLocal(t)
	midnight := hour().Truncate(24 * time.Hour)
	for n, h := range []int{0, 5, 5, 23} {
		m := newSegment(t, "api", "", midnight.Add(time.Duration(h)*time.Hour), uint64(n+1), 3)
		m.whole(t, s)
	}
	for blobs, parts := range map[int]int64{1: 3 * 16, 2: 2 * 16, 3: 2 * 16, 4: 1} {
		report, err := audit.Verify(t.Context(), s, audit.Divide(audit.Options{}, blobs, 1000))
		if err != nil || report.Differences != 0 || report.Entities != 4 || report.Requests.Table != 3+parts {
			t.Errorf("parts of %d segments: %v, %+v", blobs, err, report)
		}
	}
}
