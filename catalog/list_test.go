package catalog_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/catalog"
	"logstow/internal/retry"
	"logstow/store"
)

// Raw and Outputs yield what their container has of a range, and other blobs; without a range all.
func TestRawAndOutputs(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	raw, compacted := &container{page: 3}, &container{page: 3}
	for i := range 5 {
		raw.put(plainBlob("web", day.Add(time.Duration(i)*time.Hour), 1))
		compacted.put(outputBlob("web", day.AddDate(0, 0, i), []string{"", "audit"}[i%2], 1))
	}
	raw.put(plainBlob("x", day, 1))
	raw.put(store.Blob{Name: "web/2026/11/20/0100/x.txt"})
	raw.put(store.Blob{Name: "web/2026/11/20/0100/000007.log", Metadata: map[string]string{"LogVersion": "logstow/99"}})
	raw.put(store.Blob{Name: "web/2026/11/20/0100/000008.log"})
	raw.put(outputBlob("web", day, "", 1))
	hidden := outputBlob("web", day, "", 1)
	hidden.Name = "web/2026/11/20/0100/000009.log"
	raw.put(hidden)
	raw.put(store.Blob{Name: "web/2026/11/20/-/000001.rejected"})
	compacted.put(store.Blob{Name: "web/2026/11/20/-/000001.rejected"})
	compacted.put(store.Blob{Name: "web/2026/11/20/-/000002.log"})
	wrongClass := outputBlob("web", day, "audit", 1)
	wrongClass.Name = "web/2026/11/20/-/000003.log"
	compacted.put(wrongClass)
	compacted.put(plainBlob("web", day, 1))
	cat := &catalog.Catalog{Blobs: raw, Compacted: compacted}
	text := func(pages iter.Seq2[[]catalog.Entry, error]) (all []string) {
		for page, err := range pages {
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page {
				all = append(all, fmt.Sprintf("%d %s", e.Kind, strings.TrimPrefix(e.Blob.Name, "web/2026/11/")))
			}
		}
		return all
	}
	hours := []string{"5 20/-/000001.log", "5 20/-/000001.rejected"}
	first := []string{"0 20/0000/000001.log"}
	second := []string{"0 20/0100/000001.log", "4 20/0100/000007.log", "3 20/0100/000008.log", "5 20/0100/000009.log", "6 20/0100/x.txt"}
	rest := []string{"0 20/0200/000001.log", "0 20/0300/000001.log", "0 20/0400/000001.log"}
	outputs := []string{"1 20/-/000001.log", "2 20/-/000001.rejected", "4 20/-/000002.log", "4 20/-/000003.log", "4 20/0000/000001.log"}
	for what, c := range map[string]struct{ got, want []string }{
		"all raw":       {text(cat.Raw(t.Context(), "web", time.Time{}, time.Time{})), slices.Concat(hours, first, second, rest)},
		"all services":  {text(cat.Raw(t.Context(), "", time.Time{}, time.Time{})), slices.Concat(hours, first, second, rest, []string{"0 x/2026/11/20/0000/000001.log"})},
		"two hours":     {text(cat.Raw(t.Context(), "web", day, day.Add(2*time.Hour))), slices.Concat(first, second)},
		"three hours":   {text(cat.Raw(t.Context(), "web", day, day.Add(3*time.Hour))), slices.Concat(first, second, rest[:1])},
		"all outputs":   {text(cat.Outputs(t.Context(), "web", time.Time{}, time.Time{})), slices.Concat(outputs, []string{"1 21/audit/000001.log", "1 22/-/000001.log", "1 23/audit/000001.log", "1 24/-/000001.log"})},
		"a minute":      {text(cat.Outputs(t.Context(), "web", day.Add(9*time.Hour), day.Add(9*time.Hour+time.Minute))), outputs},
		"over midnight": {text(cat.Outputs(t.Context(), "web", day.Add(23*time.Hour), day.Add(25*time.Hour))), slices.Concat(outputs, []string{"1 21/audit/000001.log"})},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %q\nwant %q", what, c.got, c.want)
		}
	}
}

// Services, years and the newest blobs are those of both containers.
func TestBothContainers(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	raw, compacted := &container{page: 3}, &container{page: 3}
	cat := &catalog.Catalog{Blobs: raw, Compacted: compacted}
	newest := func(service string) (all []string) {
		for page, err := range cat.Newest(t.Context(), service) {
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page {
				all = append(all, e.Name.String())
			}
		}
		return all
	}
	if services, err := cat.Services(t.Context()); err != nil || len(services) != 0 || newest("web") != nil {
		t.Errorf("%q, %v, newest %q", services, err, newest("web"))
	}
	raw.put(plainBlob("web", day.Add(time.Hour), 1))
	raw.put(plainBlob("web", day.Add(2*time.Hour), 1))
	raw.put(plainBlob("both", day, 1))
	raw.put(store.Blob{Name: "No Service/x"})
	compacted.put(outputBlob("both", day, "", 1))
	compacted.put(outputBlob("moved", day.AddDate(-3, 0, 0), "", 1))
	compacted.put(outputBlob("moved", day.AddDate(-3, 0, 1), "", 1))
	compacted.put(outputBlob("moved", day.AddDate(-3, 0, 1), "audit", 1))
	services, err := cat.Services(t.Context())
	if want := []string{"both", "moved", "web"}; err != nil || !slices.Equal(services, want) {
		t.Errorf("%q, %v, want %q", services, err, want)
	}
	for service, want := range map[string][]string{
		"web":   {"web/2026/11/20/0200/000001.log"},
		"both":  {"both/2026/11/20/0000/000001.log", "both/2026/11/20/-/000001.log"},
		"moved": {"moved/2023/11/21/-/000001.log", "moved/2023/11/21/audit/000001.log"},
	} {
		if got := newest(service); !slices.Equal(got, want) {
			t.Errorf("newest of %s: %q, want %q", service, got, want)
		}
	}
	found := 0
	if err := cat.Walk(t.Context(), "moved", time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), nil, func(d *catalog.Day) error {
		found += len(d.Compacted)
		return nil
	}); err != nil || found != 3 {
		t.Errorf("of all years: %d, %v", found, err)
	}
}

// A blob with a name of a far year, or of no year, costs a walk of all years a listing of that year, not of all years before it.
func TestFarYears(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	raw, compacted := &container{page: 3}, &container{page: 3}
	raw.put(plainBlob("web", day, 1))
	for _, name := range []string{"web/0001/01/01/0000/000001.log", "web/9999/99/99/99/x", "web/99/x", "web/0000/x", "web/999/x"} {
		raw.put(store.Blob{Name: name})
	}
	cat := &catalog.Catalog{Blobs: raw, Compacted: compacted}
	found := 0
	err := cat.Walk(t.Context(), "web", time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), nil, func(d *catalog.Day) error {
		found += len(d.Raw)
		return nil
	})
	if pages := raw.pages + compacted.pages; err != nil || found != 2 || pages > 2+2*(1+1+12) {
		t.Errorf("%v, %d blobs, %d pages", err, found, pages)
	}
}

// A listing that is open on one side has few pages, too.
func TestOpenRange(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	raw, compacted := &container{page: 3}, &container{page: 3}
	raw.put(plainBlob("web", day, 1))
	compacted.put(outputBlob("web", day, "", 1))
	cat := &catalog.Catalog{Blobs: raw, Compacted: compacted}
	end := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		from, to time.Time
		want     int
	}{{day, end, 1}, {day.AddDate(0, 0, 1), end, 0}, {time.Time{}, day.AddDate(0, 0, 1), 1}, {time.Time{}, day, 0}} {
		for h, list := range map[*container]func(context.Context, string, time.Time, time.Time) iter.Seq2[[]catalog.Entry, error]{
			raw: cat.Raw, compacted: cat.Outputs,
		} {
			h.pages = 0
			found := 0
			for page, err := range list(t.Context(), "web", c.from, c.to) {
				if err != nil {
					t.Fatal(err)
				}
				found += len(page)
			}
			if found != c.want || h.pages > 1+12 {
				t.Errorf("from %v to %v: %d blobs, want %d, %d pages", c.from, c.to, found, c.want, h.pages)
			}
		}
	}
}

// Lookup finds the blob of a name, not one whose name begins with it.
func TestLookup(t *testing.T) {
	t.Parallel()
	c := &container{page: 1}
	for _, name := range []string{"a/bc", "a/bcd", "a/b"} {
		c.put(store.Blob{Name: name})
	}
	for name, want := range map[string]bool{"a/b": true, "a/bcd": true, "a/": false, "a/bcde": false} {
		if b, found, err := catalog.Lookup(t.Context(), c, name); err != nil || found != want || found && b.Name != name {
			t.Errorf("%s: %q, %v, %v", name, b.Name, found, err)
		}
	}
	for i := range 50 {
		c.put(store.Blob{Name: fmt.Sprintf("a/b.%d", i)})
	}
	c.pages = 0
	if _, found, err := catalog.Lookup(t.Context(), c, "a/b."); err != nil || found || c.pages != 1 {
		t.Errorf("%v, %v, %d pages", found, err, c.pages)
	}
	denied := &store.Error{Class: store.ErrAccessDenied}
	c.before = func(string) error { return denied }
	if _, _, err := catalog.Lookup(t.Context(), c, "a/b"); !errors.Is(err, store.ErrAccessDenied) {
		t.Error(err)
	}
}

// A compacted container that does not exist has nothing; one that refuses is an error, as is a raw one in both cases.
func TestWalkFailures(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		raw, compacted error
		want           error
	}{
		{nil, nil, nil},
		{nil, store.ErrNoContainer, nil},
		{nil, store.ErrAccessDenied, store.ErrAccessDenied},
		{nil, store.ErrUnavailable, store.ErrUnavailable},
		{store.ErrNoContainer, store.ErrNoContainer, store.ErrNoContainer},
		{store.ErrAccessDenied, nil, store.ErrAccessDenied},
	} {
		failing := func(class error) *container {
			one := &container{page: 3}
			one.before = func(string) error {
				if class == nil {
					return nil
				}
				return &store.Error{Op: "list", Class: class}
			}
			return one
		}
		raw, compacted := failing(c.raw), failing(c.compacted)
		raw.put(plainBlob("web", day, 1))
		cat := &catalog.Catalog{Blobs: raw, Compacted: compacted, Retry: retry.Policy{MaxAttempts: 1}}
		visited := 0
		errs := []error{cat.Walk(t.Context(), "web", day, day.Add(time.Hour), nil, func(*catalog.Day) error {
			visited++
			return nil
		})}
		_, err := cat.Services(t.Context())
		errs = append(errs, err)
		var newest error
		for _, err := range cat.Newest(t.Context(), "web") {
			newest = cmp.Or(newest, err)
		}
		for _, err := range append(errs, newest) {
			if !errors.Is(err, c.want) {
				t.Errorf("raw %v, compacted %v: %v, want %v", c.raw, c.compacted, err, c.want)
			}
		}
		if (visited == 1) != (c.want == nil) {
			t.Errorf("raw %v, compacted %v: %d days visited", c.raw, c.compacted, visited)
		}
	}
}

// A listing that storage refuses costs its month only; an error of visit, and of storage that is unavailable, end the walk.
func TestWalkEnds(t *testing.T) {
	t.Parallel()
	january := time.Date(2026, 1, 15, 0, 0, 0, 0, time.UTC)
	full := errors.New("full")
	for what, c := range map[string]struct {
		listing, visit error
		visited        int
	}{
		"refused": {&store.Error{Class: store.ErrAccessDenied}, nil, 5}, "unavailable": {&store.Error{Class: store.ErrUnavailable}, nil, 0}, "visit": {nil, full, 1},
	} {
		raw := &container{page: 3}
		for i := range 6 {
			raw.put(plainBlob("web", january.AddDate(0, i, 0), 1))
		}
		raw.before = func(prefix string) error {
			if strings.HasPrefix(prefix, "web/2026/01/") {
				return c.listing
			}
			return nil
		}
		cat := &catalog.Catalog{Blobs: raw, Compacted: store.NoBlobs("x"), Retry: retry.Policy{MaxAttempts: 1}, Sequential: true}
		visited := 0
		err := cat.Walk(t.Context(), "web", january, january.AddDate(0, 6, 0), nil, func(*catalog.Day) error {
			visited++
			return c.visit
		})
		if !errors.Is(err, cmp.Or(c.listing, c.visit)) || visited != c.visited {
			t.Errorf("%s: %v, %d days visited, want %d", what, err, visited, c.visited)
		}
	}
}
