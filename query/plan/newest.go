package plan

import (
	"context"
	"sync"
	"time"

	"logstow/catalog"
	"logstow/query/source"

	"golang.org/x/sync/errgroup"
)

// Newest finds the time of the newest record of the selected services, regardless of the range, and its service. It lists prefixes
// from the newest year down, with nine requests for each service. found is false if there are no records.
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
	known, err := s.Known(ctx)
	if err != nil {
		return last, false, err
	}
	for page, err := range known.Catalog().Newest(ctx, service) {
		if err != nil {
			return last, false, err
		}
		for i := range page {
			if end, ok := endOf(&page[i]); ok && (!found || end.After(last)) {
				last, found = end, true
			}
		}
	}
	return last, found, nil
}

// endOf returns the time of a blob's last record; for a foreign blob, an upper bound by its metadata or the hour of its name.
func endOf(e *catalog.Entry) (time.Time, bool) {
	switch {
	case e.Kind == catalog.KindPlain || e.Kind == catalog.KindOutput:
		return time.Unix(0, e.Meta.End).UTC(), true
	case e.Kind != catalog.KindForeign && (e.Kind != catalog.KindOther || !parseAnalytics(e)):
		return time.Time{}, false
	}
	if _, end, ok := analyticsTimes(e.Blob.Metadata); ok {
		return end, true
	}
	_, end := e.Name.Period()
	return end.Add(-1), true
}
