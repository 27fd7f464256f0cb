package listcache_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/store"
	"logstow/store/listcache"
)

// A kept listing of the compacted container is used while no raw listing of the service ends.
func TestCompactedListings(t *testing.T) {
	t.Parallel()
	raw, compacted := &fake{blobs: []string{"a"}}, &fake{blobs: []string{"b"}}
	r, c := listcache.New(raw, compacted, func() time.Time { return time.Unix(1e9, 0) }) // nothing gets too old
	listed := func(what string, wantRaw, wantCompacted int64) {
		t.Helper()
		if got, of := raw.lists.Swap(0), compacted.lists.Swap(0); got != wantRaw || of != wantCompacted {
			t.Errorf("%s: %d raw and %d compacted listings, want %d and %d", what, got, of, wantRaw, wantCompacted)
		}
	}
	both := func(prefix string) {
		names(t, r, prefix)
		names(t, c, prefix)
	}
	prefixes := func(r store.BlobReader, prefix string) {
		for range r.ListPrefixes(t.Context(), prefix) {
		}
	}
	both("web/1")
	listed("first", 1, 1)
	both("web/1")
	listed("again", 0, 0)
	names(t, r, "web/2")
	both("web/1")
	listed("after another raw listing of the service", 1, 1)
	both("api/1")
	both("web/1")
	listed("after another service", 1, 1)
	for range r.List(t.Context(), "web/3") {
		break // its end is that of the listing
	}
	both("web/1")
	listed("after a raw listing of which a page was read", 1, 1)
	raw.before = func(context.Context, int) error { return store.ErrThrottled }
	for range r.List(t.Context(), "web/4") {
	}
	raw.before = nil
	both("web/1")
	listed("after a raw listing that failed", 1, 0)
	for range 2 {
		prefixes(r, "")
		prefixes(c, "")
	}
	listed("services", 1, 1)
	both("web/1")
	listed("after services", 0, 0)
	prefixes(r, "web/")
	prefixes(c, "web/")
	both("web/1")
	listed("after years", 1, 2)
	if _, err := r.Read(t.Context(), store.BlobRef{Name: "web/1"}, 0, 1); err == nil {
		t.Error("read")
	}
	names(t, c, "web/1")
	prefixes(c, "web/")
	listed("after a raw segment was gone", 0, 2)
	both("db/2026/10/")
	both("db/2026/11/2")
	both("db/2026/10/")
	listed("after another month", 2, 2)
	names(t, r, "db/2026/10/0")
	both("db/2026/10/")
	listed("after another raw listing of the month", 1, 1)
	names(t, r, "db/20")
	both("db/2026/11/2")
	listed("after a raw listing of years", 1, 1)
	if _, err := r.Read(t.Context(), store.BlobRef{Name: "db/2026/10/30/1500/000001.log"}, 0, 1); err == nil {
		t.Error("read")
	}
	both("db/2026/11/2")
	listed("after a raw segment of another month was gone", 1, 1) // which drops all listings of the raw container
	names(t, c, "db/2026/10/")
	listed("after a raw segment of the month was gone", 0, 1)
	names(t, c, "db/")
	names(t, r, "db/2026/10/1")
	names(t, c, "db/")
	listed("years after a raw listing of a month", 1, 2)
	raw.blobs = make([]string, 70_000) // too large to be kept
	both("web/5")
	both("web/5")
	listed("large", 2, 2)
}

// That there is no compacted container is kept as an empty listing.
func TestNoCompactedContainer(t *testing.T) {
	t.Parallel()
	_, c := listcache.New(&fake{}, store.NoBlobs("x"), time.Now)
	if got := names(t, c, "web/1"); got != nil {
		t.Errorf("listed %q", got)
	}
	for _, err := range c.ListPrefixes(t.Context(), "") {
		t.Error(err)
	}
	r, _ := listcache.New(store.NoBlobs("x"), &fake{}, time.Now)
	for _, err := range r.List(t.Context(), "web/1") {
		if !errors.Is(err, store.ErrNoContainer) {
			t.Error(err)
		}
	}
	absent := &fake{blobs: []string{"a"}, before: func(context.Context, int) error { return store.ErrNoContainer }}
	_, c = listcache.New(&fake{}, absent, time.Now)
	for range 3 {
		if got := names(t, c, "web/1"); got != nil || absent.lists.Load() != 1 {
			t.Errorf("listed %q, %d listings", got, absent.lists.Load())
		}
	}
}

// moving is a store whose segments move to the compacted container: each name is that of a segment, or of the output with it.
type moving struct {
	mu             sync.Mutex
	rnd            *rand.Rand
	raw, compacted map[string]bool
}

// half is one of the containers. Segments move before and after each page of one name.
type half struct {
	store.BlobReader
	m     *moving
	names map[string]bool
}

func (m *moving) random(most time.Duration) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Duration(m.rnd.Int64N(int64(most)))
}

func (m *moving) step() {
	time.Sleep(m.random(2 * time.Second))
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.raw {
		if m.rnd.IntN(8) == 0 {
			m.compacted[name] = true
			delete(m.raw, name)
		}
	}
}

func (h half) Read(context.Context, store.BlobRef, int64, int64) ([]byte, error) {
	return nil, &store.Error{Class: store.ErrNotFound}
}

func (h half) List(_ context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) {
		for last := ""; ; {
			h.m.step()
			next := ""
			h.m.mu.Lock()
			for name := range h.names {
				if strings.HasPrefix(name, prefix) && name > last && (next == "" || name < next) {
					next = name
				}
			}
			h.m.mu.Unlock()
			if next == "" || !yield([]store.Blob{{Name: next}}, nil) {
				return
			}
			last = next
		}
	}
}

func (h half) ListPrefixes(_ context.Context, _ string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		h.m.step()
		var all []string
		h.m.mu.Lock()
		for name := range h.names {
			service, _, _ := strings.Cut(name, "/")
			all = append(all, service+"/")
		}
		h.m.mu.Unlock()
		slices.Sort(all)
		yield(slices.Compact(all), nil)
	}
}

// Whatever requests share listings, of whatever age, each finds every segment in one of the containers.
func TestMovedIsNotMissed(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	for range (effort.Cases{Short: 30, Test: 100, Full: 2000}).N() {
		seed := rnd.Uint64()
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			m := &moving{rnd: rnd, raw: map[string]bool{}, compacted: map[string]bool{}}
			hours := []string{"2000/01/01/00", "2000/01/01/01", "1999/12/31/0"}
			for _, service := range []string{"web", "api"} {
				for _, hour := range hours {
					for i := range rnd.IntN(4) {
						m.raw[fmt.Sprintf("%s/%s/%d", service, hour, i)] = true
					}
				}
			}
			all := make(map[string]bool)
			for name := range m.raw {
				all[name] = true
			}
			raw, compacted := listcache.New(half{m: m, names: m.raw}, half{m: m, names: m.compacted}, time.Now)
			requests := make(chan struct{}, 3)
			for range 40 {
				requests <- struct{}{}
				service, hour, services := []string{"web", "api"}[m.random(2)], append(hours, "2000/")[m.random(4)], m.random(5) == 0
				go func() {
					defer func() { <-requests }()
					found := make(map[string]bool)
					for _, r := range []store.BlobReader{raw, compacted} {
						if services {
							for page := range r.ListPrefixes(t.Context(), "") {
								for _, name := range page {
									found[name] = true
								}
							}
							continue
						}
						for _, name := range names(t, r, service+"/"+hour) {
							found[name] = true
						}
					}
					for name := range all {
						of, _, _ := strings.Cut(name, "/")
						if services && !found[of+"/"] || !services && strings.HasPrefix(name, service+"/"+hour) && !found[name] {
							t.Errorf("%s is missed", name)
						}
					}
				}()
				time.Sleep(m.random(4 * time.Second))
			}
			for range cap(requests) {
				requests <- struct{}{}
			}
		})
	}
}
