package listcache_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"logstow/store"
	"logstow/store/listcache"
)

// fake lists blobs in pages of two, and counts its listings.
type fake struct {
	lists atomic.Int64
	blobs []string
	// before is called before each page.
	before func(ctx context.Context, page int) error
}

func (f *fake) Read(context.Context, store.BlobRef, int64, int64) ([]byte, error) {
	return nil, fmt.Errorf("read: %w", store.ErrNotFound)
}

func (f *fake) List(ctx context.Context, _ string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) {
		f.lists.Add(1)
		page := 0
		for names := range slices.Chunk(f.blobs, 2) {
			if f.before != nil {
				if err := f.before(ctx, page); err != nil {
					yield(nil, err)
					return
				}
			}
			page++
			var blobs []store.Blob
			for _, name := range names {
				blobs = append(blobs, store.Blob{Name: name})
			}
			if !yield(blobs, nil) {
				return
			}
		}
	}
}

func (f *fake) ListPrefixes(context.Context, string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		f.lists.Add(1)
		yield(f.blobs, nil)
	}
}

func names(t *testing.T, r store.BlobReader, prefix string) []string {
	t.Helper()
	var all []string
	for page, err := range r.List(t.Context(), prefix) {
		if err != nil {
			t.Error(err)
		}
		for _, b := range page {
			all = append(all, b.Name)
		}
	}
	return all
}

func TestLifetimes(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 4, 12, 30, 0, 0, time.UTC)
	for prefix, want := range map[string]time.Duration{
		"":                       listcache.Recent,
		"web/":                   listcache.Recent,
		"web/2026/":              listcache.Recent,
		"web/2025/":              listcache.Past,
		"web/2026/03/":           listcache.Recent,
		"web/2026/02/":           listcache.Past,
		"web/2026/03/04/":        listcache.Recent,
		"web/2026/03/03/":        listcache.Past,
		"web/2026/03/04/1":       listcache.Recent,
		"web/2026/03/04/0":       listcache.Past,
		"web/2026/03/04/11":      listcache.Recent, // ended less than an hour ago
		"web/2026/03/04/10":      listcache.Past,
		"web/2026/03/04/1000/":   listcache.Past,
		"web/2026/03/04/1200/":   listcache.Recent,
		"web/2027/01/01/0000/":   listcache.Recent,
		"web/not/a/date":         listcache.Recent,
		"web/2026/03/04/10/x/y/": listcache.Past, // of the hour
		"web/2026/03/0":          listcache.Recent,
		"web/2026/02/2":          listcache.Past,
		"web/2026/03/04/100":     listcache.Past,
		"web/2026/03/04/123":     listcache.Recent,
		"web/2026/03/04/-/":      listcache.Recent,
		"web/2026/03/03/-/":      listcache.Past,
	} {
		now := start
		f := &fake{blobs: []string{"a", "b", "c"}}
		r, _ := listcache.New(f, new(fake), func() time.Time { return now })
		if got := names(t, r, prefix); !slices.Equal(got, f.blobs) {
			t.Errorf("%q: listed %q", prefix, got)
		}
		now = start.Add(want - 1)
		if got := names(t, r, prefix); !slices.Equal(got, f.blobs) || f.lists.Load() != 1 {
			t.Errorf("%q: listed %q by %d listings before %v", prefix, got, f.lists.Load(), want)
		}
		now = start.Add(want)
		f.blobs = []string{"a", "d"}
		if got := names(t, r, prefix); !slices.Equal(got, f.blobs) || f.lists.Load() != 2 {
			t.Errorf("%q: listed %q by %d listings after %v", prefix, got, f.lists.Load(), want)
		}
	}
}

// A context may ask for newer listings of the current hour; it has no effect on others.
func TestMaxAge(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 4, 12, 30, 0, 0, time.UTC)
	now := start
	f := &fake{blobs: []string{"a"}}
	r, _ := listcache.New(f, new(fake), func() time.Time { return now })
	age := time.Second
	ctx := listcache.NewContext(t.Context(), func() time.Duration { return age })
	list := func(ctx context.Context, prefix string, after time.Duration, want int64) {
		t.Helper()
		now = start.Add(after)
		for _, err := range r.List(ctx, prefix) {
			if err != nil {
				t.Error(err)
			}
		}
		if n := f.lists.Swap(0); n != want {
			t.Errorf("%q after %v: %d listings, want %d", prefix, after, n, want)
		}
	}
	list(ctx, "web/2026/03/04/12", 0, 1)
	list(ctx, "web/2026/03/04/12", time.Second-1, 0)
	list(ctx, "web/2026/03/04/12", time.Second, 1)
	list(t.Context(), "web/2026/03/04/12", 3*time.Second, 0)
	list(ctx, "web/2026/03/04/12", 3*time.Second, 1)
	for _, prefix := range []string{"web/2026/03/04/1", "web/2026/03/04/"} {
		list(ctx, prefix, 0, 1)
		list(ctx, prefix, time.Second-1, 0)
		list(ctx, prefix, time.Second, 1)
	}
	list(ctx, "web/2026/03/", 0, 1)
	list(ctx, "web/2026/03/", time.Second, 0)
	age = time.Hour
	list(ctx, "web/2026/03/04/12", 3*time.Second+listcache.Recent-1, 0)
	list(ctx, "web/2026/03/04/12", 3*time.Second+listcache.Recent, 1)
	age = 0
	for prefix, ends := range map[string]time.Duration{
		"web/2026/03/04/10": listcache.Past, "web/2026/03/04/11": listcache.Recent, "web/2026/03/04/13": listcache.Recent, "web/": listcache.Recent,
	} {
		list(ctx, prefix, 0, 1)
		list(ctx, prefix, ends-1, 0)
	}
	list(ctx, "web/2026/03/04/13", 29*time.Minute, 1) // about to begin
	list(ctx, "web/2026/03/04/13", 29*time.Minute, 1)
	list(ctx, "web/2026/03/04/12", 31*time.Minute, 1) // just over
	list(ctx, "web/2026/03/04/12", 31*time.Minute, 1)
	for range r.ListPrefixes(ctx, "") {
	}
	for range r.ListPrefixes(ctx, "") {
	}
	if n := f.lists.Load(); n != 1 {
		t.Errorf("%d listings of prefixes", n)
	}
}

// Requests at the same time share one listing; if the one that lists is cancelled, another lists.
func TestConcurrentRequestsShareAListing(t *testing.T) {
	t.Parallel()
	for _, cancelled := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			f := &fake{blobs: []string{"a", "b", "c"}}
			f.before = func(ctx context.Context, page int) error {
				if page == 1 {
					select {
					case <-release:
					case <-ctx.Done():
						return context.Cause(ctx)
					}
				}
				return nil
			}
			r, _ := listcache.New(f, new(fake), time.Now)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var wg sync.WaitGroup
			wg.Go(func() {
				var err error
				for _, err = range r.List(ctx, "web/") {
				}
				if got := errors.Is(err, context.Canceled); got != cancelled {
					t.Errorf("the first listing ended with %v", err)
				}
			})
			synctest.Wait()
			for range 8 {
				wg.Go(func() {
					if got := names(t, r, "web/"); !slices.Equal(got, f.blobs) {
						t.Errorf("listed %q", got)
					}
				})
			}
			synctest.Wait()
			want := int64(1)
			if cancelled {
				want = 2
				cancel()
				synctest.Wait()
			}
			close(release)
			wg.Wait()
			if got := f.lists.Load(); got != want {
				t.Errorf("%d listings, not %d", got, want)
			}
		})
	}
}

// Others do not wait while a reader uses a page, neither of a listing that is kept nor of one that is too large.
func TestReadersAreIndependent(t *testing.T) {
	t.Parallel()
	for blobs, lists := range map[int]int64{100: 1, 70_000: 2} {
		f := &fake{blobs: make([]string, blobs)}
		r, _ := listcache.New(f, new(fake), func() time.Time { return time.Unix(1e9, 0) })
		for page, err := range r.List(t.Context(), "web/") {
			if got := names(t, r, "web/"); len(got) != blobs || err != nil || len(page) != 2 {
				t.Errorf("%d blobs listed beside a page of %d, %v", len(got), len(page), err)
			}
			break
		}
		if got := f.lists.Load(); got != lists {
			t.Errorf("%d listings of %d blobs, want %d", got, blobs, lists)
		}
	}
}

func TestWhatIsNotKept(t *testing.T) {
	t.Parallel()
	f := &fake{blobs: []string{"a", "b", "c"}}
	r, _ := listcache.New(f, new(fake), func() time.Time { return time.Unix(1e9, 0) }) // nothing gets too old
	for range r.List(t.Context(), "web/") {
		break // its reader needs no more, others may
	}
	if names(t, r, "web/"); f.lists.Load() != 1 {
		t.Errorf("%d listings after one of which a page was read", f.lists.Load())
	}
	for range 2 {
		for range r.ListPrefixes(t.Context(), "") {
		}
	}
	if f.lists.Load() != 2 {
		t.Errorf("%d listings after two of prefixes", f.lists.Load())
	}
	if _, err := r.Read(t.Context(), store.BlobRef{Name: "web/a"}, 0, 1); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	names(t, r, "web/")
	for range r.ListPrefixes(t.Context(), "") {
	}
	if f.lists.Load() != 4 {
		t.Errorf("%d listings after a blob was gone", f.lists.Load())
	}
	fail := errors.New("fail")
	f.before = func(context.Context, int) error { return fail }
	for range 2 {
		for _, err := range r.List(t.Context(), "other/") {
			if !errors.Is(err, fail) {
				t.Error(err)
			}
		}
	}
	if f.lists.Load() != 6 {
		t.Errorf("%d listings after a failure", f.lists.Load())
	}
}

// Memory is bounded: a listing that is too long is not kept, and many short ones replace each other.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	f := &fake{blobs: make([]string, 70_000)}
	r, _ := listcache.New(f, new(fake), func() time.Time { return time.Unix(1e9, 0) })
	for range 2 {
		if got := names(t, r, "web/"); len(got) != len(f.blobs) {
			t.Errorf("listed %d", len(got))
		}
	}
	if f.lists.Load() != 2 {
		t.Errorf("%d listings of what is too long to keep", f.lists.Load())
	}
	f.blobs = f.blobs[:30_000]
	for i := range 3 {
		names(t, r, fmt.Sprint(i))
	}
	names(t, r, "2")
	if f.lists.Load() != 5 {
		t.Errorf("%d listings: the last was not kept", f.lists.Load())
	}
	for i := range 2 {
		names(t, r, fmt.Sprint(i))
	}
	if got := f.lists.Load(); got == 5 {
		t.Error("all were kept")
	}
}

// Listings without blobs count too.
func TestEmptyListingsAreBounded(t *testing.T) {
	t.Parallel()
	f := &fake{}
	r, _ := listcache.New(f, new(fake), func() time.Time { return time.Unix(1e9, 0) })
	const prefixes = 70_000
	for range 2 {
		for i := range prefixes {
			names(t, r, strconv.Itoa(i))
		}
	}
	if got := f.lists.Load(); got <= prefixes {
		t.Errorf("%d empty listings are kept", prefixes)
	}
}
