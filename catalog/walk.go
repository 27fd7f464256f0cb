package catalog

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"logstow/blobnaming"
	"logstow/store"
)

// Day is what the two containers have of a day of a service.
type Day struct {
	Service string
	// Day is the start of the day, UTC.
	Day time.Time
	// Raw are the entries of the raw container, Compacted those of the compacted one, in order of their names.
	Raw, Compacted []Entry
}

// Rejected has the names of the outputs that a marker rejects.
func (d *Day) Rejected() map[blobnaming.Name]bool {
	rejected := make(map[blobnaming.Name]bool)
	for _, e := range d.Compacted {
		if e.Kind == KindRejection {
			rejected[e.Name] = true
		}
	}
	return rejected
}

// Walk lists a service in both containers and calls visit for each day of [from, to) of which entries are kept, never concurrently.
// keep reports whether to keep an entry, others take no memory; nil keeps all. It is called once for each entry, maybe concurrently.
// The last page of a day's raw listing comes before the first page of its compacted listing. So a segment that compaction removed
// before it was listed is in an output that is listed. One listing of each container and calendar month, unless they are long.
//
// The entries of a month are in memory; if they exceed some pages, those of a day.
//
// If a listing fails, the days that it covers are not visited, and Walk returns the first such error. It ends early if a retry may
// help, as the other listings would probably fail too, and after an error of visit.
func (c *Catalog) Walk(ctx context.Context, service string, from, to time.Time, keep func(*Entry) bool, visit func(*Day) error) error {
	units := split(from, to)
	if len(units) > manyUnits {
		years, err := c.years(ctx, service, c.halves()...)
		if err != nil {
			return err
		}
		units = slices.DeleteFunc(units, func(p period) bool { return !years[p.from.Format("2006")] })
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := walk{c: c, service: service, keep: keep, visit: visit, listings: make(chan struct{}, parallelListings), cancel: cancel}
	w.group.SetLimit(parallelListings)
	if c.Sequential {
		w.group.SetLimit(1)
	}
	for _, u := range units {
		w.group.Go(func() error { return w.unit(ctx, u) })
	}
	_ = w.group.Wait() // w.err is the first error in time
	return w.err
}

// period is a range of time.
type period struct{ from, to time.Time }

// split divides a range at the starts of months; whole years are not divided.
func split(from, to time.Time) (units []period) {
	from, to = from.UTC(), to.UTC()
	for at := from; at.Before(to); {
		year := time.Date(at.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
		next := year.AddDate(1, 0, 0)
		if !at.Equal(year) || next.After(to) {
			next = time.Date(at.Year(), at.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		}
		if next.After(to) {
			next = to
		}
		units = append(units, period{at, next})
		at = next
	}
	return units
}

// overlaps reports whether segments whose names begin with a prefix may have records of the period.
func (p period) overlaps(prefix string) bool {
	from, to, ok := blobnaming.Span(prefix)
	if !ok {
		return true
	}
	// A bucket may be as long as the rest of its hour.
	if end := to.Truncate(time.Hour); end.Before(to) {
		to = end.Add(time.Hour)
	}
	return from.Truncate(time.Hour).Before(p.to) && to.After(p.from)
}

// divided returns the months of a year, the days of a month, nil of a day or less.
func (p period) divided() (parts []period) {
	if parts = split(p.from, p.to); len(parts) == 1 && parts[0].to.Sub(parts[0].from) > 31*day {
		parts = nil
		for at := p.from; at.Before(p.to); at = at.AddDate(0, 1, 0) {
			parts = append(parts, period{at, at.AddDate(0, 1, 0)})
		}
	}
	if len(parts) > 1 {
		return parts
	}
	parts = nil
	for at := p.from; at.Before(p.to); {
		next := at.Truncate(day).Add(day)
		if next.After(p.to) {
			next = p.to
		}
		parts = append(parts, period{at, next})
		at = next
	}
	if len(parts) == 1 {
		return nil
	}
	return parts
}

// walk is the state of one Walk.
type walk struct {
	c       *Catalog
	service string
	keep    func(*Entry) bool
	visit   func(*Day) error
	group   errgroup.Group
	// listings has an element for each listing in progress.
	listings chan struct{}
	// cancel ends the walk.
	cancel context.CancelCauseFunc

	failing sync.Mutex
	err     error // the first error
	// visiting is held during visit.
	visiting sync.Mutex
}

// unit walks a period. It returns no error that fail does not know.
func (w *walk) unit(ctx context.Context, p period) error {
	parts, days, err := w.days(ctx, p)
	if err != nil {
		w.fail(err, store.Retryable(err))
		return nil
	}
	for _, part := range parts {
		if one := func() error { return w.unit(ctx, part) }; !w.group.TryGo(one) {
			_ = one()
		}
	}
	if err := w.visitAll(ctx, days); err != nil {
		w.fail(err, true)
	}
	return nil
}

// fail notes an error, and ends the walk if that is final.
func (w *walk) fail(err error, final bool) {
	w.failing.Lock()
	defer w.failing.Unlock()
	if w.err == nil {
		w.err = err
	}
	if final {
		w.cancel(err)
	}
}

// days lists a period: its raw listings to their ends, then its compacted listing. If there is much of it, it returns the parts in which
// to walk it instead.
func (w *walk) days(ctx context.Context, p period) (parts []period, days map[time.Time]*Day, err error) {
	all := collector{service: w.service, keep: w.keep}
	parts = p.divided()
	for i, prefix := range blobnaming.Prefixes(w.service, p.from, p.to) {
		if long, err := w.list(ctx, &all, prefix, "", p, i == 0 && len(parts) > 0); err != nil || long {
			return parts, nil, err
		}
	}
	days = make(map[time.Time]*Day)
	of := func(at time.Time) *Day {
		if days[at] == nil {
			days[at] = &Day{Service: w.service, Day: at}
		}
		return days[at]
	}
	slices.SortFunc(all.entries, func(a, b Entry) int { return CompareNames(a.Segment, b.Segment) })
	for left := all.entries; len(left) > 0; {
		at := left[0].day()
		n := slices.IndexFunc(left, func(e Entry) bool { return !e.day().Equal(at) })
		if n < 0 {
			n = len(left)
		}
		of(at).Raw, left = left[:n:n], left[n:]
	}
	if err := w.enter(ctx); err != nil {
		return nil, nil, err
	}
	defer w.leave()
	for page, err := range w.c.Outputs(ctx, w.service, p.from, p.to) {
		if err != nil {
			return nil, nil, err
		}
		for i := range page {
			if w.keep == nil || w.keep(&page[i]) {
				page[i].detach(w.service)
				d := of(page[i].day())
				d.Compacted = append(d.Compacted, page[i])
			}
		}
	}
	return nil, days, nil
}

// day returns the start of the day of the entry.
func (e *Entry) day() time.Time { return e.Name.Bucket.Truncate(day) }

// enter waits until a listing may begin. After the listing, the caller must call leave.
func (w *walk) enter(ctx context.Context) error {
	select {
	case w.listings <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *walk) leave() { <-w.listings }

// visitAll visits days in their order.
func (w *walk) visitAll(ctx context.Context, days map[time.Time]*Day) error {
	w.visiting.Lock()
	defer w.visiting.Unlock()
	sorted := make([]*Day, 0, len(days))
	for _, d := range days {
		sorted = append(sorted, d)
	}
	slices.SortFunc(sorted, func(a, b *Day) int { return a.Day.Compare(b.Day) })
	for _, d := range sorted {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := w.visit(d); err != nil {
			return err
		}
	}
	return nil
}

// collector has the kept entries of listings.
type collector struct {
	service string
	keep    func(*Entry) bool
	mu      sync.Mutex
	entries []Entry
}

// add adds the entries of a page whose names are after a name.
func (l *collector) add(page []Entry, after string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range page {
		if e := &page[i]; e.Blob.Name > after && (l.keep == nil || l.keep(e)) {
			e.detach(l.service)
			l.entries = append(l.entries, *e)
		}
	}
}

// list lists a raw prefix after a name. If its first page is full and much follows, it adds nothing and returns long if the period can
// be divided; otherwise it lists the rest in parallel, by narrower prefixes.
func (w *walk) list(ctx context.Context, all *collector, prefix, after string, p period, divide bool) (long bool, err error) {
	last, left, err := w.pages(ctx, all, prefix, after, p, divide)
	if err != nil || left != someNames {
		return left == wholePeriod, err
	}
	return false, w.listAll(ctx, all, blobnaming.Narrower(prefix), max(after, last), p)
}

// remainder is what is to be listed yet.
type remainder uint8

const (
	nothing     remainder = iota
	someNames             // those after the last one
	wholePeriod           // in parts
)

// pages adds the pages of a raw prefix, and returns the last name. If a page is full and much follows that can be listed otherwise, it
// ends there. If the period may be divided, the first page decides that, and is not added then.
func (w *walk) pages(ctx context.Context, all *collector, prefix, after string, p period, divide bool) (last string, left remainder, err error) {
	if err := w.enter(ctx); err != nil {
		return "", nothing, err
	}
	defer w.leave()
	parallel := !w.c.Sequential && blobnaming.Narrower(prefix) != nil
	pages := 0
	for page, err := range w.c.Retry.List(ctx, w.c.Blobs, prefix) {
		if err != nil {
			return "", nothing, err
		}
		pages++
		last = page[len(page)-1].Name
		long := len(page) >= w.c.pageSize() && rest(prefix, last, pages, p) > sequentialPages
		if long && divide && pages == 1 {
			return last, wholePeriod, nil
		}
		all.add(inRange(page, RawEntry, p.from, p.to), after)
		if long && parallel {
			return last, someNames, nil
		}
	}
	return last, nothing, nil
}

// listAll lists what follows a name under several prefixes, in parallel.
func (w *walk) listAll(ctx context.Context, all *collector, prefixes []string, after string, p period) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelListings)
	for _, prefix := range prefixes {
		if prefix < after && !strings.HasPrefix(after, prefix) || !p.overlaps(prefix) {
			continue
		}
		group.Go(func() error {
			_, err := w.list(ctx, all, prefix, after, p, false)
			return err
		})
	}
	return group.Wait()
}

// rest estimates how many pages follow the first pages of a listing, which ended at a name, up to the end of a period.
func rest(prefix, last string, pages int, p period) float64 {
	from, to, ok := blobnaming.Span(prefix)
	at, _, atOK := blobnaming.Span(last)
	if !ok || !atOK {
		return 0
	}
	if name, err := blobnaming.Parse(last); err == nil { // many writers draw numbers of six digits
		width := min(at.Truncate(time.Hour).Add(time.Hour).Sub(at), to.Sub(at))
		at = at.Add(time.Duration(float64(width) * min(1, float64(name.Number)/1e6)))
	}
	if p.to.Before(to) {
		to = p.to
	}
	listed, left := at.Sub(from), to.Sub(at)
	switch {
	case left <= 0:
		return 0
	case listed <= 0:
		return sequentialPages + 1
	}
	return float64(pages) * float64(left) / float64(listed)
}
