// Package listcache shares listings of a store between the requests of a server, for a short time.
//
// Names contain the hour, so listings of past hours change rarely: by compaction, retention, or a shipper that catches up. A listing of
// the current hour is kept for seconds only. All listings are dropped when a blob that is read does not exist.
// A new listing is read to its end before its pages are yielded, because other readers wait for it. If it is too large to be kept, each
// reader lists for itself.
//
// Segments move from the raw container to the compacted one, so a reader lists the raw one first. A kept listing of the compacted
// container is used only if it began after the end of all raw listings of the service and month so far, and after the last time that a
// raw segment of these did not exist when it was read. Listings of the services themselves are such a pair too.
package listcache

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"time"

	"logstow/blobnaming"
	"logstow/store"
)

const (
	// Recent is how long a listing is used that may contain current records.
	Recent = 5 * time.Second
	// Past is how long a listing of earlier hours is used.
	Past = 2 * time.Minute
	// settle is how long after the end of a period its listing counts as one of earlier hours.
	settle = time.Hour
	// boundary is how long before its start and after its end a period counts as the current one.
	boundary = time.Minute
	// maxItems is the maximum number of blobs, of about 1 KiB each, that are kept, and of prefixes; each listing counts as one item.
	maxItems = 32 << 10
)

// Reader is a store's blobs with shared listings. It is safe for concurrent use.
type Reader struct {
	store.BlobReader
	now func() time.Time
	// ended is called with the name of a raw segment that did not exist; nil for the compacted container.
	ended    func(name string)
	blobs    listings[store.Blob]
	prefixes listings[string]
}

// New makes readers of a raw container and its compacted one; now is the clock.
func New(raw, compacted store.BlobReader, now func() time.Time) (rawReader, compactedReader *Reader) {
	newReader := func(blobs store.BlobReader) *Reader {
		return &Reader{
			BlobReader: blobs,
			now:        now,
			blobs:      listings[store.Blob]{all: map[string]*listing[store.Blob]{}},
			prefixes:   listings[string]{all: map[string]*listing[string]{}},
		}
	}
	rawReader, compactedReader = newReader(raw), newReader(compacted)
	raws := &ends{of: make(map[string]uint64), any: make(map[string]uint64)}
	rawReader.ended = raws.note
	rawReader.blobs.ended, rawReader.prefixes.ended = raws.note, raws.note
	compactedReader.blobs.raws, compactedReader.prefixes.raws = raws, raws
	return rawReader, compactedReader
}

// ends counts the ends of raw listings, and has the count at the last one of each service and month. Safe for concurrent use.
type ends struct {
	mu    sync.Mutex
	count uint64
	// of has the counts by service and month, and by service for the ends of listings of more than a month; any has those of all
	// listings by service.
	of, any map[string]uint64
	// others is the count for what is not in the maps, which are bounded.
	others uint64
}

// period cuts a prefix of names into its service and its month, as SERVICE/YYYY/MM/, which is "" if the prefix is of more than a month.
// The service "" is that of listings of all services.
func period(prefix string) (service, month string) {
	service, _, _ = strings.Cut(prefix, "/")
	if end := len(service) + len("/2006/01/"); len(prefix) >= end && prefix[end-1] == '/' {
		month = prefix[:end]
	}
	return service, month
}

// note notes that a listing of names that begin with a prefix has ended.
func (e *ends) note(prefix string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.count++
	if len(e.of)+len(e.any) >= maxItems {
		clear(e.of)
		clear(e.any)
		e.others = e.count
	}
	service, month := period(prefix)
	e.any[service] = e.count
	e.of[cmp.Or(month, service)] = e.count
}

// last returns the count now, and at the last end of a listing that has names in common with a prefix.
func (e *ends) last(prefix string) (now, last uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	service, month := period(prefix)
	if month == "" {
		return e.count, max(e.any[service], e.others)
	}
	return e.count, max(e.of[month], e.of[service], e.others)
}

// Read reads a range of a blob.
func (r *Reader) Read(ctx context.Context, ref store.BlobRef, off, n int64) ([]byte, error) {
	data, err := r.BlobReader.Read(ctx, ref, off, n)
	if errors.Is(err, store.ErrNotFound) {
		r.blobs.drop()
		r.prefixes.drop()
		if r.ended != nil {
			r.ended(ref.Name)
		}
	}
	return data, err
}

type contextKey struct{}

// NewContext returns a context in which listings of the current hour, hours or day are used up to the age that maxAge returns; it is called
// for each listing.
func NewContext(ctx context.Context, maxAge func() time.Duration) context.Context {
	return context.WithValue(ctx, contextKey{}, maxAge)
}

// maxAge returns the maximum age of a listing of a prefix in a context.
func maxAge(ctx context.Context, prefix string, now time.Time) time.Duration {
	age, ok := ctx.Value(contextKey{}).(func() time.Duration)
	if !ok {
		return Recent
	}
	from, to, ok := blobnaming.Span(prefix)
	if !ok || to.Sub(from) > 24*time.Hour || now.Before(from.Add(-boundary)) || now.After(to.Add(boundary)) {
		return Recent
	}
	return age()
}

// List lists blobs, from an earlier listing if that is not too old.
func (r *Reader) List(ctx context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	return r.blobs.pages(ctx, prefix, maxAge(ctx, prefix, r.now()), r.now,
		func() iter.Seq2[[]store.Blob, error] { return r.BlobReader.List(ctx, prefix) })
}

// ListPrefixes lists prefixes, from an earlier listing if that is not too old.
func (r *Reader) ListPrefixes(ctx context.Context, prefix string) iter.Seq2[[]string, error] {
	return r.prefixes.pages(ctx, prefix, Recent, r.now, func() iter.Seq2[[]string, error] { return r.BlobReader.ListPrefixes(ctx, prefix) })
}

// listings are listings by their prefix.
type listings[T any] struct {
	// ended is called when a listing of a prefix has ended, before its end is yielded; nil for the compacted container.
	ended func(prefix string)
	// raws are the ends of raw listings, after which a listing must have begun; nil for the raw container.
	raws *ends

	mu    sync.Mutex
	all   map[string]*listing[T]
	items int
}

// listing is a listing that is kept or in progress.
type listing[T any] struct {
	// done is closed when the listing has ended, after all other fields are set.
	done  chan struct{}
	valid bool
	// large is set if the listing has more than maxItems items and is not kept.
	large bool
	pages [][]T
	items int // the items of the pages, and one for the listing itself: most hours of a service may be empty
	began time.Time
	// raws is the number of raw listings that had ended when it began.
	raws uint64
	// life is how long the listing is used. If it is Recent, the context may limit it further.
	life time.Duration
}

// fresh reports whether a listing that has ended may be used.
func (l *listing[T]) fresh(now time.Time, recent time.Duration) bool {
	life := l.life
	if life == Recent {
		life = min(life, recent)
	}
	return l.valid && now.Before(l.began.Add(life))
}

// pages yields the pages of a listing: of one that is kept, of one in progress after waiting for it, or of a new one.
func (ls *listings[T]) pages(
	ctx context.Context, prefix string, recent time.Duration, now func() time.Time, list func() iter.Seq2[[]T, error],
) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		for {
			l, mine := ls.find(prefix, now(), recent)
			if mine {
				ls.fetch(prefix, l, list(), yield)
				return
			}
			select {
			case <-l.done:
			case <-ctx.Done():
				yield(nil, context.Cause(ctx))
				return
			}
			switch {
			case l.large:
				ls.direct(prefix, list(), yield)
				return
			case !l.valid:
				continue // it failed, or was given up
			}
			yieldAll(l.pages, yield)
			return
		}
	}
}

// direct yields the pages of a listing that is too large to be kept.
func (ls *listings[T]) direct(prefix string, list iter.Seq2[[]T, error], yield func([]T, error) bool) {
	for page, err := range list {
		if !yield(page, err) || err != nil {
			return
		}
	}
	ls.note(prefix)
}

func (ls *listings[T]) note(prefix string) {
	if ls.ended != nil {
		ls.ended(prefix)
	}
}

// find returns the listing of a prefix. mine is set if it is a new one, which the caller must fetch.
func (ls *listings[T]) find(prefix string, now time.Time, recent time.Duration) (l *listing[T], mine bool) {
	var ended, last uint64
	if ls.raws != nil {
		ended, last = ls.raws.last(prefix)
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l = ls.all[prefix]; l != nil && l.raws < last {
		ls.remove(prefix)
		l = nil
	}
	if l != nil {
		select {
		case <-l.done:
			if l.fresh(now, recent) {
				return l, false
			}
			ls.remove(prefix)
		default:
			return l, false
		}
	}
	l = &listing[T]{done: make(chan struct{}), items: 1, began: now, raws: ended}
	ls.all[prefix] = l
	return l, true
}

// fetch fetches the pages of a new listing, none if there is no compacted container, keeps them and yields them. If the listing is too
// large, it does not keep the pages, and yields the further ones as they come.
func (ls *listings[T]) fetch(prefix string, l *listing[T], list iter.Seq2[[]T, error], yield func([]T, error) bool) {
	l.life = lifetime(prefix, l.began)
	finish := func(complete bool) { ls.finish(prefix, l, complete) }
	for page, err := range list {
		if ls.raws != nil && errors.Is(err, store.ErrNoContainer) {
			break
		}
		switch {
		case l.large:
			if !yield(page, err) || err != nil {
				return
			}
			continue // until the end, which is noted below
		case err != nil:
			finish(false)
			if yieldAll(l.pages, yield) {
				yield(nil, err)
			}
			return
		}
		l.pages = append(l.pages, page)
		if l.items += len(page); l.items <= maxItems {
			continue
		}
		l.large = true
		pages := l.pages
		l.pages = nil
		finish(false)
		if !yieldAll(pages, yield) {
			return
		}
	}
	ls.note(prefix)
	if !l.large {
		finish(true)
		yieldAll(l.pages, yield)
	}
}

// yieldAll yields pages. It returns false if yield does.
func yieldAll[T any](pages [][]T, yield func([]T, error) bool) bool {
	for _, page := range pages {
		if !yield(page, nil) {
			return false
		}
	}
	return true
}

// finish ends a listing. It removes one that is not complete, and others if there are too many items.
func (ls *listings[T]) finish(prefix string, l *listing[T], complete bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l.valid = complete
	current := ls.all[prefix] == l // not dropped meanwhile
	switch {
	case current && complete:
		ls.items += l.items
		for other := range ls.all {
			if ls.items <= maxItems {
				break
			}
			if other != prefix {
				ls.remove(other)
			}
		}
	case current:
		delete(ls.all, prefix)
	}
	close(l.done)
}

// remove removes a listing. One in progress continues for the requests that wait for it.
func (ls *listings[T]) remove(prefix string) {
	l := ls.all[prefix]
	delete(ls.all, prefix)
	if l.valid {
		ls.items -= l.items
	}
}

// drop removes all listings.
func (ls *listings[T]) drop() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for prefix := range ls.all {
		ls.remove(prefix)
	}
}

// lifetime returns how long a listing of a prefix that began at now is used.
func lifetime(prefix string, now time.Time) time.Duration {
	if end, ok := periodEnd(prefix); ok && now.Sub(end) > settle {
		return Past
	}
	return Recent
}

// periodEnd returns the end of the period of a prefix.
func periodEnd(prefix string) (time.Time, bool) {
	_, end, ok := blobnaming.Span(prefix)
	return end, ok
}
