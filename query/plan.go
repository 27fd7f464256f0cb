package query

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unique"

	"golang.org/x/sync/errgroup"

	"logstow/blobnaming"
	"logstow/record"
	"logstow/store"
	"logstow/tableindex"
)

// parallel is the number of requests under way at once.
const parallel = 16

// manyPrefixes is the number of prefixes past which the years that exist are
// looked up first.
const manyPrefixes = 8

// ErrForeign is the cause of a [Problem] with a blob that was written by a Logstow
// that this program can not read: what it holds in the range is not known.
var ErrForeign = errors.New("not a segment that this program reads; its records are missing here")

// A Plan is what a query has to read: known in full before the first segment is opened.
type Plan struct {
	// Segments are in the order of records of equal time.
	Segments []*Segment
}

// Plan finds the segments that may hold wanted records. What can not be listed
// is a problem of the report; only the end of ctx is an error.
func (q *Query) Plan(ctx context.Context) (*Plan, error) {
	ctx, done := q.meter.stepContext(ctx)
	defer done()
	p := &planner{q: q}
	group, gctx := errgroup.WithContext(ctx)
	for i := range q.stores {
		s := &q.stores[i]
		group.Go(func() error { return p.store(gctx, s) })
	}
	if err := group.Wait(); err != nil {
		return nil, context.Cause(ctx)
	}
	if q.opts.Tiers {
		q.findTiers(ctx, p.found)
	}
	slices.SortFunc(p.found, compareSegments)
	segments := q.dropReplaced(ctx, q.dedupe(p.found))
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for i, s := range segments {
		s.rank = i
	}
	return &Plan{Segments: segments}, nil
}

type planner struct {
	q     *Query
	mu    sync.Mutex
	found []*Segment
}

// A listing is the search for one service in one store.
type listing struct {
	store    *Store
	service  string
	prefixes []string

	down     atomic.Bool // storage does not answer: the rest is not tried
	mu       sync.Mutex
	failures []error
}

// store plans one store.
func (p *planner) store(ctx context.Context, s *Store) error {
	services, err := p.q.services(ctx, s)
	if err != nil {
		l := &listing{store: s, service: "services"}
		defer l.report(p.q.tally)
		return l.fail(ctx, err)
	}
	listings := make([]*listing, len(services))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, service := range services {
		l := &listing{store: s, service: service}
		defer l.report(p.q.tally)
		listings[i] = l
		group.Go(func() error { return p.start(gctx, l) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	group, gctx = errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, l := range listings {
		for _, prefix := range l.prefixes {
			group.Go(func() error { return p.list(gctx, l, prefix) })
		}
	}
	return group.Wait()
}

// fail notes a failure, unless ctx ended.
func (l *listing) fail(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if store.Retryable(err) {
		l.down.Store(true)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = append(l.failures, err)
	return nil
}

// report makes the failures problems. Where everything failed, one stands for all.
func (l *listing) report(t *tally) {
	failures := l.failures
	if len(failures) > 1 && (l.down.Load() || len(failures) == len(l.prefixes)) {
		failures = failures[:1]
	}
	for _, err := range failures {
		t.problem(&Problem{Store: l.store.Name, Object: l.store.Name + ": " + l.service, Err: err})
	}
}

// start asks the index, or finds the prefixes to list.
func (p *planner) start(ctx context.Context, l *listing) (err error) {
	if p.q.opts.Plan == PlanIndex {
		return p.index(ctx, l)
	}
	if l.prefixes, err = p.q.prefixes(ctx, l.store, l.service); err != nil {
		return l.fail(ctx, err)
	}
	return nil
}

// services are the services of a store that are selected.
func (q *Query) services(ctx context.Context, s *Store) ([]string, error) {
	if len(q.sel.Services) > 0 && !slices.ContainsFunc(q.sel.Services, isGlob) {
		return slices.Compact(slices.Sorted(slices.Values(q.sel.Services))), nil
	}
	all, err := Services(ctx, *s)
	return slices.DeleteFunc(all, func(name string) bool { return !q.sel.matchesService(name) }), err
}

func isGlob(s string) bool { return strings.ContainsAny(s, `*?[{\`) }

// Services are the services that a store holds, in order of name.
func Services(ctx context.Context, s Store) ([]string, error) {
	names, err := collect(ctx, func() iter.Seq2[[]string, error] { return s.Blobs.ListPrefixes(ctx, "") })
	services := make([]string, 0, len(names))
	for _, name := range names {
		if name = strings.TrimSuffix(name, "/"); blobnaming.ValidService(name) {
			services = append(services, name)
		}
	}
	return services, err
}

// prefixes are those to list for a service. Where there are many, which years
// exist is asked first, so that a range of a century costs no hundred requests.
func (q *Query) prefixes(ctx context.Context, s *Store, service string) ([]string, error) {
	from, to := q.listingRange(s)
	prefixes := blobnaming.Prefixes(service, from, to)
	if len(prefixes) <= manyPrefixes {
		return prefixes, nil
	}
	years, err := numericChildren(ctx, s, service+"/")
	if err != nil || len(years) == 0 {
		return nil, err
	}
	first, last := atoi(years[0]), atoi(years[len(years)-1])
	from = latest(from, time.Date(first, 1, 1, 0, 0, 0, 0, time.UTC))
	to = earliest(to, time.Date(last+1, 1, 1, 0, 0, 0, 0, time.UTC))
	return slices.DeleteFunc(blobnaming.Prefixes(service, from, to), func(prefix string) bool {
		return !slices.Contains(years, prefix[len(service)+1:][:len("2006")])
	}), nil
}

// numericChildren are the parts of names directly under prefix that are numbers, in order.
func numericChildren(ctx context.Context, s *Store, prefix string) ([]string, error) {
	names, err := collect(ctx, func() iter.Seq2[[]string, error] { return s.Blobs.ListPrefixes(ctx, prefix) })
	var numbers []string
	for _, name := range names {
		name = strings.TrimSuffix(strings.TrimPrefix(name, prefix), "/")
		if len(name) >= 2 && len(name) <= 4 && strings.Trim(name, "0123456789") == "" {
			numbers = append(numbers, name)
		}
	}
	return numbers, err
}

// listResult is what one listing brought.
type listResult struct {
	segments         []*Segment
	listed, pruned   int64
	inRange, foreign uint64 // segments whose times meet the range; those of other programs
	levels           record.Counts
	problems         []*Problem
	otherBlobs       int    // blobs that are not named as segments
	otherBlob        string // the first of them
}

// list adds the segments under a prefix.
func (p *planner) list(ctx context.Context, l *listing, prefix string) error {
	if l.down.Load() {
		return nil
	}
	var h listResult
	err := pages(ctx, func() iter.Seq2[[]store.Blob, error] {
		h = listResult{}
		return l.store.Blobs.List(ctx, prefix)
	}, func(page []store.Blob) {
		for i := range page {
			p.blob(&h, l.store, &page[i])
		}
	})
	if h.otherBlobs > 0 {
		p.q.tally.note("%s: %d blobs are not named as segments and not read, for example %q", prefix, h.otherBlobs, h.otherBlob)
	}
	return p.addResult(ctx, l, &h, err)
}

// index adds the segments of a service that the index knows.
func (p *planner) index(ctx context.Context, l *listing) error {
	var h listResult
	err := withRetry(ctx, func() error {
		h = listResult{}
		for rows, err := range tableindex.Range(ctx, l.store.Tables, l.store.Container, l.service, p.q.sel.From, p.q.sel.To) {
			var malformed *tableindex.EntityError
			switch {
			case errors.As(err, &malformed):
				h.problems = append(h.problems, &Problem{Store: l.store.Name, Object: l.store.Name + ": " + l.service, Err: err})
			case err != nil:
				return err
			}
			h.listed += int64(len(rows))
			for i := range rows {
				p.add(&h, l.store, rows[i].Name, rows[i].Meta, rows[i].Size, "")
			}
		}
		return nil
	})
	return p.addResult(ctx, l, &h, err)
}

// addResult keeps what a listing brought before it ended, or failed with err.
func (p *planner) addResult(ctx context.Context, l *listing, h *listResult, err error) error {
	t := p.q.tally
	t.prefixes.Add(1)
	t.listed.Add(h.listed)
	t.pruned.Add(h.pruned)
	t.findings.list(l.service, h)
	for _, problem := range h.problems {
		t.problem(problem)
	}
	p.mu.Lock()
	p.found = append(p.found, h.segments...)
	p.mu.Unlock()
	if err != nil {
		return l.fail(ctx, err)
	}
	return nil
}

// blob adds a listed blob.
func (p *planner) blob(h *listResult, s *Store, b *store.Blob) {
	h.listed++
	name, err := parseName(b.Name)
	if err != nil {
		if h.otherBlobs++; h.otherBlobs == 1 {
			h.otherBlob = b.Name
		}
		return
	}
	if !name.Overlaps(p.q.listingRange(s)) {
		h.pruned++
		return
	}
	if isForeign(b.Metadata) {
		p.foreign(h, s, name, b)
		return
	}
	meta, err := blobnaming.ParseMetadata(b.Metadata)
	if err != nil {
		h.problems = append(h.problems, &Problem{Store: s.Name, Object: b.Name, Err: fmt.Errorf("%w: %w", ErrForeign, err)})
		return
	}
	p.add(h, s, name, meta, b.Size, b.Tier)
}

// add takes a segment whose metadata do not rule it out.
func (p *planner) add(h *listResult, s *Store, name blobnaming.Name, meta blobnaming.Metadata, size int64, tier store.Tier) {
	if p.q.matcher.inRange(meta.Start, meta.End) {
		h.inRange++
		for l, n := range meta.Levels {
			h.levels[l] += n
		}
	}
	if !p.q.matcher.mayMatch(meta.Start, meta.End, meta.Levels) {
		h.pruned++
		return
	}
	// Many segments share these strings; a listing's page is not to be held by them.
	name.Service, meta.Instance = unique.Make(name.Service).Value(), unique.Make(meta.Instance).Value()
	h.segments = append(h.segments, &Segment{Store: s.Name, Name: name, Meta: meta, Size: size, Tier: tier, blobs: inTier(s.Blobs, tier), cache: s.Cache})
}

// pages hands the pages of a listing to use, until one fails. Where that may
// help, it starts again with a new list.
func pages[T any](ctx context.Context, list func() iter.Seq2[[]T, error], use func(page []T)) error {
	return withRetry(ctx, func() error {
		for page, err := range list() {
			if err != nil {
				return err
			}
			use(page)
		}
		return nil
	})
}

// collect reads a listing to its end.
func collect[T any](ctx context.Context, list func() iter.Seq2[[]T, error]) (all []T, err error) {
	err = pages(ctx, func() iter.Seq2[[]T, error] {
		all = nil
		return list()
	}, func(page []T) { all = append(all, page...) })
	return all, err
}

func atoi(digits string) int {
	n, _ := strconv.Atoi(digits) // digits only, at most four
	return n
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
