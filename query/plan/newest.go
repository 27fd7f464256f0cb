package plan

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"logstow/query/source"

	"golang.org/x/sync/errgroup"

	"logstow/blobnaming"
	"logstow/store"
)

// Newest finds the time of the newest record of the selected services, regardless of the range, and its service. It lists prefixes
// from the newest year down to one hour, with five requests for each service. found is false if there are no records.
func (p *Planner) Newest(ctx context.Context) (last time.Time, service string, found bool, err error) {
	services := make([][]string, len(p.Stores))
	for i := range p.Stores {
		if services[i], err = p.services(ctx, &p.Stores[i]); err != nil {
			return last, "", false, err
		}
	}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(source.MaxInFlight)
	for i := range p.Stores {
		for _, name := range services[i] {
			group.Go(func() error {
				end, ok, err := newestOf(ctx, &p.Stores[i], name)
				mu.Lock()
				defer mu.Unlock()
				if ok && (!found || end.After(last)) {
					last, service, found = end, name, true
				}
				return err
			})
		}
	}
	err = group.Wait()
	return last, service, found, err
}

// newestOf returns the end of a service's newest segment in a store.
func newestOf(ctx context.Context, s *source.Store, service string) (last time.Time, found bool, err error) {
	prefix := service + "/"
	for range []string{"year", "month", "day", "time"} {
		numbers, err := numericChildren(ctx, s, prefix)
		if err != nil || len(numbers) == 0 {
			return last, false, err
		}
		prefix += slices.Max(numbers) + "/"
	}
	blobs, err := source.Collect(ctx, func() iter.Seq2[[]store.Blob, error] { return s.Blobs.List(ctx, prefix) })
	for _, b := range blobs {
		if end, ok := endOf(&b); ok && (!found || end.After(last)) {
			last, found = end, true
		}
	}
	return last, found, err
}

// endOf returns the time of a blob's last record; for a foreign blob, an upper bound by its metadata or the hour of its name.
func endOf(b *store.Blob) (time.Time, bool) {
	meta, err := blobnaming.ParseMetadata(b.Metadata)
	if err == nil {
		return time.Unix(0, meta.End).UTC(), true
	}
	name, err := parseName(b.Name)
	if err != nil || !isForeign(b.Metadata) {
		return time.Time{}, false
	}
	if _, end, ok := analyticsTimes(b.Metadata); ok {
		return end, true
	}
	return name.Bucket.Truncate(time.Hour).Add(time.Hour - 1), true
}
