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

	"golang.org/x/sync/errgroup"

	"logstow/blobnaming"
	"logstow/store"
	"logstow/tableindex"
)

// parallel is the number of requests under way at once.
const parallel = 16

// manyPrefixes is the number of prefixes past which the years that exist are
// looked up first.
const manyPrefixes = 8

// ErrForeign is the cause of a [Problem] with a blob that is named as a segment
// but was not written by a Logstow that this program can read: what it holds in
// the range is not known.
var ErrForeign = errors.New("not a segment that this program reads; its records are missing here")

// A Plan is what a query has to read: known in full before the first segment is opened.
type Plan struct {
	// Segments are in the order of records of equal time.
	Segments []*Segment
}

// Plan finds the segments that may hold wanted records. What can not be listed
// is a problem of the report; only the end of ctx is an error.
func (q *Query) Plan(ctx context.Context) (*Plan, error) {
	p := &planner{q: q}
	group, gctx := errgroup.WithContext(ctx)
	for i := range q.stores {
		s := &q.stores[i]
		group.Go(func() error { return p.store(gctx, s) })
	}
	if err := group.Wait(); err != nil {
		return nil, context.Cause(ctx)
	}
	slices.SortFunc(p.found, compareSegments)
	segments := q.replace(ctx, q.fold(p.found))
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

// A listing is the search for one service in one store. Its first failure ends it.
type listing struct {
	store    *Store
	service  string
	prefixes []string
	failed   atomic.Bool
}

// store plans one store.
func (p *planner) store(ctx context.Context, s *Store) error {
	services, err := p.q.services(ctx, s)
	if err != nil {
		return p.failed(ctx, &listing{store: s, service: "services"}, err)
	}
	listings := make([]*listing, len(services))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, service := range services {
		listings[i] = &listing{store: s, service: service}
		group.Go(func() error { return p.start(gctx, listings[i]) })
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

// failed makes a failure a problem, unless ctx ended.
func (p *planner) failed(ctx context.Context, l *listing, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if l.failed.CompareAndSwap(false, true) {
		p.q.tally.problem(l.store.Name, l.store.Name+": "+l.service, err)
	}
	return nil
}

// start asks the index, or finds the prefixes to list.
func (p *planner) start(ctx context.Context, l *listing) (err error) {
	if p.q.opts.Plan == PlanIndex {
		return p.index(ctx, l)
	}
	if l.prefixes, err = p.q.prefixes(ctx, l.store, l.service); err != nil {
		return p.failed(ctx, l, err)
	}
	return nil
}

// services are the services of a store that are selected.
func (q *Query) services(ctx context.Context, s *Store) ([]string, error) {
	if len(q.sel.Services) > 0 && !slices.ContainsFunc(q.sel.Services, isGlob) {
		return slices.Compact(slices.Sorted(slices.Values(q.sel.Services))), nil
	}
	all, err := Services(ctx, *s)
	return slices.DeleteFunc(all, func(name string) bool { return !q.sel.wantsService(name) }), err
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
	prefixes := blobnaming.Prefixes(service, q.sel.From, q.sel.To)
	if len(prefixes) <= manyPrefixes {
		return prefixes, nil
	}
	years, err := children(ctx, s, service+"/")
	if err != nil || len(years) == 0 {
		return nil, err
	}
	first, last := atoi(years[0]), atoi(years[len(years)-1])
	from := latest(q.sel.From, time.Date(first, 1, 1, 0, 0, 0, 0, time.UTC))
	to := earliest(q.sel.To, time.Date(last+1, 1, 1, 0, 0, 0, 0, time.UTC))
	return slices.DeleteFunc(blobnaming.Prefixes(service, from, to), func(prefix string) bool {
		return !slices.Contains(years, prefix[len(service)+1:][:len("2006")])
	}), nil
}

// children are the parts of names directly under prefix that are numbers, in order.
func children(ctx context.Context, s *Store, prefix string) ([]string, error) {
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

// list adds the segments under a prefix.
func (p *planner) list(ctx context.Context, l *listing, prefix string) error {
	if l.failed.Load() {
		return nil
	}
	p.q.tally.prefixes.Add(1)
	blobs, err := collect(ctx, func() iter.Seq2[[]store.Blob, error] { return l.store.Blobs.List(ctx, prefix) })
	if err != nil {
		return p.failed(ctx, l, err)
	}
	p.q.tally.listed.Add(int64(len(blobs)))
	for i := range blobs {
		p.blob(l.store, &blobs[i])
	}
	return nil
}

// blob adds a listed blob.
func (p *planner) blob(s *Store, b *store.Blob) {
	name, err := blobnaming.Parse(b.Name)
	if err != nil {
		p.q.tally.note("%s: not named as a segment, not read", b.Name)
		return
	}
	if !name.Overlaps(p.q.sel.From, p.q.sel.To) {
		p.q.tally.pruned.Add(1)
		return
	}
	meta, err := blobnaming.ParseMetadata(b.Metadata)
	if err != nil {
		p.q.tally.problem(s.Name, b.Name, fmt.Errorf("%w: %w", ErrForeign, err))
		return
	}
	p.add(s, name, meta, b.Size)
}

// index adds the segments of a service that the index knows.
func (p *planner) index(ctx context.Context, l *listing) error {
	p.q.tally.prefixes.Add(1)
	rows, err := collect(ctx, func() iter.Seq2[[]tableindex.Row, error] {
		return tableindex.Range(ctx, l.store.Tables, l.store.Container, l.service, p.q.sel.From, p.q.sel.To)
	})
	if err != nil {
		return p.failed(ctx, l, err)
	}
	p.q.tally.listed.Add(int64(len(rows)))
	for i := range rows {
		p.add(l.store, rows[i].Name, rows[i].Meta, rows[i].Size)
	}
	return nil
}

// add takes a segment whose metadata do not rule it out.
func (p *planner) add(s *Store, name blobnaming.Name, meta blobnaming.Metadata, size int64) {
	if !p.q.matcher.wants(meta.Start, meta.End, meta.Levels) {
		p.q.tally.pruned.Add(1)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found = append(p.found, &Segment{Store: s.Name, Name: name, Meta: meta, Size: size, blobs: s.Blobs})
}

// collect reads a listing to its end, from the start again where that may help.
func collect[T any](ctx context.Context, list func() iter.Seq2[[]T, error]) (all []T, err error) {
	err = retry(ctx, func() error {
		all = nil
		for page, err := range list() {
			if err != nil {
				return err
			}
			all = append(all, page...)
		}
		return nil
	})
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
