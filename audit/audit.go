// Package audit is the consistency check: it compares the blobs of a store with its index in both
// directions, and rebuilds the index from the blobs.
//
// Blobs are the source of truth: [Verify] reports every difference, [Reindex] makes the index match
// the names, metadata and footers of the blobs. It never reads blocks. Both may run concurrently
// with shippers and retention: each difference is rechecked before it counts.
package audit

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"logstow/blobnaming"
	"logstow/catalog"
	"logstow/internal/hint"
	"logstow/internal/problems"
	"logstow/internal/retry"
	"logstow/store"
	"logstow/tableindex"
)

const day = 24 * time.Hour

const (
	// concurrentServices is how many services are listed concurrently, concurrentParts how many parts are
	// compared.
	concurrentServices, concurrentParts = 4, 4
	// concurrentTables is how many tables are searched for services concurrently.
	concurrentTables = 8
	// concurrentFooters and concurrentSegments are how many footers or whole segments are read concurrently.
	concurrentFooters, concurrentSegments = 32, 2
	// defaultSettle is how long a difference must last to be reported. freshSettle applies if a segment
	// without an entity was stored less than fresh ago, because shippers collect entities for five seconds.
	defaultSettle, freshSettle, fresh = 2 * time.Second, 10 * time.Second, time.Minute
)

// Depth determines how much of each blob is read.
type Depth uint8

// The depths, each of which includes the one before it.
const (
	// Listing compares names and metadata with entities, at the cost of listing both.
	Listing Depth = iota
	// Footers reads each segment's footer: one request a segment.
	Footers
	// Blocks reads everything and checks every checksum and record.
	Blocks
)

// Options select what is compared. The zero value is the whole store, by listing.
type Options struct {
	// Services are names or globs ('*', '?', '[…]') of services; empty is all.
	Services []string
	// From and To limit the comparison to the UTC days that overlap the range. Zero is unlimited.
	From, To time.Time
	// Depth is how much is read. Reindex reads the footers of segments that it writes at any depth;
	// with Footers and more it also compares the minutes of all entities with them.
	Depth Depth
	// Settle is how long to wait before a difference is rechecked. 0 means two seconds, or ten if a segment
	// stored in the last minute is not indexed, because shippers collect entities for some seconds.
	Settle time.Duration
	// OnDifference receives each lasting difference once; with Reindex only those that cannot be repaired.
	// It is not called concurrently. It may be nil.
	OnDifference func(Difference)
	// Progress is updated during the run. It may be nil.
	Progress *Progress

	// partBlobs and partEntities limit the blobs and entities in memory; 0 means the constants.
	partBlobs, partEntities int
}

// Progress is the state of a run; of the latest round if Reindex compares everything again. Its fields may
// be read at any time.
type Progress struct {
	// Services is the number of services, Compared how many are done, Blobs the number of listed blobs.
	Services, Compared, Blobs atomic.Int64
}

func (p *Progress) reset() {
	p.Services.Store(0)
	p.Compared.Store(0)
	p.Blobs.Store(0)
}

// Report is the result of a run. It has a JSON form.
type Report struct {
	Store string `json:"store"`
	// Services is the number of services that have segments or entities.
	Services int `json:"services"`
	// Blobs and Entities are the numbers of compared ones, Foreign that of blobs that are not segments.
	Blobs    int64 `json:"blobs"`
	Foreign  int64 `json:"foreign"`
	Entities int64 `json:"entities"`
	// Misplaced is the number of blobs in the raw container that are ignored: page blobs, and those that claim to be outputs of
	// compaction or rejections.
	// MisplacedNames are the names of the first of them.
	Misplaced      int64    `json:"misplaced"`
	MisplacedNames []string `json:"misplaced_names,omitempty"`
	// Differences is the number of differences that remain.
	Differences int64 `json:"differences"`
	// Written and Removed count entities that Reindex wrote and removed.
	Written int64 `json:"written"`
	Removed int64 `json:"removed"`
	// Problems are failed reads and writes.
	Problems []string       `json:"problems"`
	Requests store.Requests `json:"requests"`

	problems *problems.List
}

// Err joins the failed reads and writes; it is nil if there are none.
func (r *Report) Err() error { return r.problems.Err() }

// Verify compares blobs and index and changes nothing. The error is why it ended early; failed reads are in
// the report: see [Report.Err].
func Verify(ctx context.Context, s store.Store, o Options) (Report, error) {
	return run(ctx, s, o, false)
}

// Reindex makes the index match the blobs. It is idempotent, and incremental: it does not write matching
// entities. It creates missing tables, also those that retention has dropped and will drop again. Errors
// are as with [Verify].
//
// After a Reindex of everything without problems, the index of a store whose database was rebuilt (see
// [store.PendingReindex]) is marked as complete. If the database is rebuilt during the Reindex, everything
// is compared again, up to three times; then the error reports it.
func Reindex(ctx context.Context, s store.Store, o Options) (Report, error) {
	r, ok := s.(store.Rebuilder)
	if !ok || !o.isUnrestricted() {
		return run(ctx, s, o, true)
	}
	var total Report
	report := o.OnDifference
	for round := 1; ; round++ {
		before, err := r.PendingReindex()
		if err != nil {
			return Report{Store: s.String()}, err
		}
		var found []Difference // of the last round only
		o.OnDifference = func(d Difference) {
			found = append(found, Difference{Kind: d.Kind, Object: d.Object, Text: d.Text})
		}
		latest, err := run(ctx, s, o, true)
		latest.add(&total)
		total = latest
		pending := ""
		if err == nil && total.Err() == nil {
			pending, err = clearPending(r, before)
		}
		if pending != "" && round < reindexRounds {
			continue
		}
		if report != nil {
			for _, d := range found {
				report(d)
			}
		}
		if pending != "" {
			err = hint.Wrap(fmt.Errorf("the index is incomplete: its database was replaced during each of %d comparisons", reindexRounds),
				"find out what damages or removes the database (disk errors, other programs), then run shipper reindex --store %s", s)
		}
		return total, err
	}
}

// clearPending clears the incomplete state with an id, if that is not "". It returns the id of a later one.
func clearPending(r store.Rebuilder, id string) (later string, err error) {
	if id != "" {
		if err := r.Reindexed(id); err != nil {
			return "", err
		}
	}
	return r.PendingReindex()
}

// reindexRounds is how often everything is compared if the database is rebuilt meanwhile.
const reindexRounds = 3

// isUnrestricted reports whether the options select the whole store.
func (o *Options) isUnrestricted() bool {
	return len(o.Services) == 0 && o.From.IsZero() && o.To.IsZero()
}

// add adds the counts of an earlier round.
func (r *Report) add(earlier *Report) {
	r.Written += earlier.Written
	r.Removed += earlier.Removed
	r.Requests = r.Requests.Add(earlier.Requests)
}

func run(ctx context.Context, s store.Store, o Options, repair bool) (Report, error) {
	if o.partBlobs == 0 {
		o.partBlobs, o.partEntities = partBlobs, maxPartEntities
	}
	if o.OnDifference == nil {
		o.OnDifference = func(Difference) {}
	}
	if o.Progress == nil {
		o.Progress = new(Progress)
	}
	o.From, o.To = days(o.From, o.To)
	o.Progress.reset()
	counter := new(store.Counter)
	s = counter.Store(s)
	a := &auditor{
		o:         o,
		repair:    repair,
		container: s.Container(),
		blobs:     s.Blobs(),
		compacted: s.Compacted(),
		tables:    s.Tables(),
		catalog:   catalog.ForJobs(s),
		reading:   make(chan struct{}, concurrentFooters),
		seed:      maphash.MakeSeed(),
		now:       s.Now,
		orphans:   make(map[entityKey]bool),
		found:     make(map[string]bool),
	}
	a.comparisons.SetLimit(concurrentParts)
	if o.Depth == Blocks {
		a.reading = make(chan struct{}, concurrentSegments)
	}
	a.report.Store, a.report.problems = s.String(), new(problems.List)
	ctx, a.stop = context.WithCancelCause(ctx)
	defer a.stop(nil)
	err := a.run(ctx)
	a.report.Problems = a.report.problems.Texts()
	a.report.Services = len(a.found)
	a.report.Blobs, a.report.Foreign = o.Progress.Blobs.Load(), a.foreign.Load()
	a.report.Requests = counter.Requests()
	return a.report, err
}

// days widens a range to whole days. A zero from remains zero; a zero to becomes the end of the year 9999.
func days(from, to time.Time) (time.Time, time.Time) {
	if !from.IsZero() {
		from = from.UTC().Truncate(day)
	}
	if to.IsZero() {
		return from, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	last := to.UTC().Truncate(day)
	if last.Before(to) {
		last = last.Add(day)
	}
	return from, last
}

// auditor is one run.
type auditor struct {
	o         Options
	repair    bool
	container string
	catalog   *catalog.Catalog
	// blobs is the raw container, compacted the one with outputs of compaction.
	blobs, compacted store.BlobReader
	tables           store.Tables
	// reading limits the segments read concurrently.
	reading chan struct{}

	// comparisons are the first comparisons of parts.
	comparisons errgroup.Group
	// seed is the seed of the hashes of names.
	seed maphash.Seed
	// now is storage's clock.
	now func(ctx context.Context) (time.Time, error)
	// foreign counts listed blobs that are not segments.
	foreign atomic.Int64

	// stop cancels the run.
	stop context.CancelCauseFunc

	mu     sync.Mutex
	report Report
	// found has the services that have segments or entities.
	found map[string]bool
	// orphans are entities of no service.
	orphans map[entityKey]bool
	// suspects are the parts that differed at the first comparison, newest is when the newest segment
	// without an entity was stored.
	suspects []part
	newest   time.Time
	// twins are segments that have the Batch of another one and differ from it, and these others.
	twins []string
}

func (a *auditor) run(ctx context.Context) error {
	services, err := a.services(ctx)
	if err != nil {
		return err
	}
	index, err := a.index(ctx)
	if err != nil {
		return err
	}
	for service := range index {
		services[service] = true
	}
	a.o.Progress.Services.Store(int64(len(services)))
	if err := a.handleOrphans(ctx); err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(concurrentServices)
	for service := range services {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			if err := a.walk(ctx, service, index[service]); err != nil {
				a.problem(ctx, fmt.Errorf("service %s: %w", service, err))
			}
			a.o.Progress.Compared.Add(1)
			return nil
		})
	}
	_ = group.Wait() // failures are in the report
	_ = a.comparisons.Wait()
	if err := a.recheck(ctx); err != nil {
		return err
	}
	return a.checkTwins(ctx)
}

// services returns the selected services that have blobs.
func (a *auditor) services(ctx context.Context) (map[string]bool, error) {
	var names []string
	once := *a.catalog
	once.Retry = retry.Policy{MaxAttempts: 1}
	err := retry.First(ctx, func() (err error) {
		names, err = once.Services(ctx)
		return err
	})
	all := make(map[string]bool)
	for _, service := range names {
		if catalog.Selects(a.o.Services, service) {
			all[service] = true
		}
	}
	return all, err
}

// index returns, by service, the tables of the range that have entities of the service. If all services are
// selected by name, it does not search the tables, and returns all tables for each.
func (a *auditor) index(ctx context.Context) (map[string][]tableindex.Table, error) {
	tables, err := a.listTables(ctx)
	if err != nil {
		return nil, err
	}
	named := len(a.o.Services) > 0 && !slices.ContainsFunc(a.o.Services, func(s string) bool { return !blobnaming.ValidService(s) })
	index := make(map[string][]tableindex.Table)
	if named {
		for _, service := range a.o.Services {
			index[service] = tables
		}
		return index, nil
	}
	found, orphans := make([][]string, len(tables)), make([][]store.Key, len(tables))
	var group errgroup.Group
	group.SetLimit(concurrentTables)
	for i, t := range tables {
		group.Go(func() error {
			return retry.Do(ctx, func() (err error) {
				found[i], orphans[i], err = tableindex.Survey(ctx, a.tables, t.Name)
				return err
			})
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for i, t := range tables {
		for _, key := range orphans[i] {
			if len(a.o.Services) == 0 {
				a.orphans[entityKey{t.Name, key}] = true
			}
		}
		for _, service := range found[i] {
			if catalog.Selects(a.o.Services, service) {
				index[service] = append(index[service], t)
			}
		}
	}
	return index, nil
}

// handleOrphans reports the entities of no service, or removes them. They are not rechecked, because no
// program writes such entities.
func (a *auditor) handleOrphans(ctx context.Context) (err error) {
	a.report.Entities += int64(len(a.orphans))
	left := make([]Difference, 0, len(a.orphans))
	for p := range a.orphans {
		left = append(left, Difference{
			Kind:   StrayEntity,
			Object: quoteKey(p.key.Partition),
			Text:   "partition of no service: " + p.String(),
			remove: []entityKey{p},
		})
	}
	slices.SortFunc(left, compareDifferences)
	if a.repair {
		left, err = a.repairAll(ctx, left, func(Difference) bool { return true })
	}
	a.reportAll(left)
	return err
}

// listTables returns the tables of the range.
func (a *auditor) listTables(ctx context.Context) (tables []tableindex.Table, err error) {
	err = retry.First(ctx, func() (err error) {
		tables, err = tableindex.Tables(ctx, a.tables, a.container)
		return err
	})
	return slices.DeleteFunc(tables, func(t tableindex.Table) bool { return t.Day.Before(a.o.From) || !t.Day.Before(a.o.To) }), err
}

// problem records a failure, unless the run has ended. If storage is unavailable or unusable, it ends the
// run, because all further requests would fail in the same way.
func (a *auditor) problem(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrThrottled) || errors.Is(err, store.ErrUnusable) {
		a.stop(err)
		return
	}
	a.report.problems.Add(err)
}

// reportAll counts and reports lasting differences.
func (a *auditor) reportAll(differences []Difference) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.report.Differences += int64(len(differences))
	for _, d := range differences {
		a.o.OnDifference(d)
	}
}
