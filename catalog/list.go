package catalog

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"logstow/blobnaming"
	"logstow/internal/retry"
	"logstow/store"
)

const (
	// fullPage is the number of blobs in a full page of a listing.
	fullPage = 5000
	// sequentialPages is the number of further pages that are listed one after the other. If more are expected, the rest of a listing
	// is divided and listed in parallel.
	sequentialPages = 4
	// parallelListings is the maximum number of listings in progress of a call.
	parallelListings = 16
	// manyUnits is the number of months and years above which the existing years are listed first.
	manyUnits = 8
)

// Catalog lists a store. It is safe for concurrent use.
type Catalog struct {
	// Blobs is the raw container, Compacted the one with the outputs of compaction.
	Blobs, Compacted store.BlobReader
	// Retry is the policy of failed requests.
	Retry retry.Policy
	// Sequential disables parallel listings: [Catalog.Walk] then visits days in order.
	Sequential bool

	// page is the number of blobs in a full page, for tests; 0 is fullPage.
	page int
}

// ForJobs returns the catalog of a store for jobs that run for long and unattended. It visits days in order.
func ForJobs(s store.Store) *Catalog {
	return &Catalog{Blobs: s.Blobs(), Compacted: s.Compacted(), Retry: retry.Jobs(), Sequential: true}
}

// pageSize returns the number of blobs in a full page of a listing.
func (c *Catalog) pageSize() int { return cmp.Or(c.page, fullPage) }

// Raw yields the blobs of a service in the raw container that may have records of [from, to), in byte order of their names, page by
// page, and blobs that are no segments. A zero range is everything, and "" is all services then. Of a range of many months, the years that
// exist are listed first.
func (c *Catalog) Raw(ctx context.Context, service string, from, to time.Time) iter.Seq2[[]Entry, error] {
	return c.entries(ctx, c.halves()[0], service, from, to)
}

// Outputs is Raw for the compacted container, which may not exist.
func (c *Catalog) Outputs(ctx context.Context, service string, from, to time.Time) iter.Seq2[[]Entry, error] {
	if !from.IsZero() || !to.IsZero() {
		from, to = from.Truncate(day), endOfDay(to)
	}
	return withoutContainer(c.entries(ctx, c.halves()[1], service, from, to))
}

// withoutContainer yields nothing if the container does not exist: nothing is compacted. A refusal is no such case.
func withoutContainer[T any](pages iter.Seq2[[]T, error]) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		for page, err := range pages {
			if errors.Is(err, store.ErrNoContainer) || !yield(page, err) {
				return
			}
		}
	}
}

// endOfDay returns the end of the last day that overlaps a range that ends at to.
func endOfDay(to time.Time) time.Time {
	if end := to.UTC().Truncate(day); end.Before(to) {
		return end.Add(day)
	}
	return to
}

func (c *Catalog) entries(ctx context.Context, h half, service string, from, to time.Time) iter.Seq2[[]Entry, error] {
	return func(yield func([]Entry, error) bool) {
		prefixes := []string{service + "/"}
		if service == "" {
			prefixes[0] = ""
		}
		if !from.IsZero() || !to.IsZero() {
			prefixes = blobnaming.Prefixes(service, from, to)
		}
		if len(prefixes) > manyUnits {
			years, err := c.years(ctx, service, h)
			if err != nil {
				yield(nil, err)
				return
			}
			year := len(service + "/")
			prefixes = slices.DeleteFunc(prefixes, func(prefix string) bool { return !years[prefix[year:year+len("2006")]] })
		}
		for _, prefix := range prefixes {
			for page, err := range c.Retry.List(ctx, h, prefix) {
				if !yield(inRange(page, h.classify, from, to), err) || err != nil {
					return
				}
			}
		}
	}
}

// inRange classifies a page and leaves out segments whose period does not overlap [from, to); a zero range has all.
func inRange(page []store.Blob, classify func(*store.Blob) Entry, from, to time.Time) []Entry {
	entries := make([]Entry, 0, len(page))
	for i := range page {
		e := classify(&page[i])
		if from.IsZero() && to.IsZero() || e.Name.Service == "" || e.Name.Overlaps(from, to) {
			entries = append(entries, e)
		}
	}
	return entries
}

// Lookup returns the blob with a name; found is false if there is none. One request.
func Lookup(ctx context.Context, blobs store.BlobReader, name string) (b store.Blob, found bool, err error) {
	for page, err := range blobs.List(ctx, name) {
		if err != nil {
			return store.Blob{}, false, err
		}
		if len(page) > 0 { // a name comes before those that begin with it, of which there may be many
			return page[0], page[0].Name == name, nil
		}
	}
	return store.Blob{}, false, nil
}
