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
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/sync/errgroup"

	"logstow/blobnaming"
	"logstow/internal/hint"
	"logstow/internal/retry"
	"logstow/store"
	"logstow/tableindex"
)

const day = 24 * time.Hour

const (
	// concurrentServices are listed, and concurrentParts of their days compared, concurrently.
	concurrentServices, concurrentParts = 4, 4
	// concurrentTables are scanned for services concurrently.
	concurrentTables = 8
	// concurrentFooters and concurrentSegments are read concurrently.
	concurrentFooters, concurrentSegments = 32, 2
	// maxProblems is how many problems a report lists.
	maxProblems = 100
	// defaultSettle is how long a difference must last to count; freshSettle applies if a segment
	// was stored less than fresh ago: shippers collect index entities for five seconds.
	defaultSettle, freshSettle, fresh = 2 * time.Second, 10 * time.Second, time.Minute
)

// Depth is how much of each blob is read.
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
	// From and To bound the UTC days compared: those that overlap the range. Zero is unbounded.
	From, To time.Time
	// Depth is how much is read. Reindex reads the footers of segments that it writes at any depth;
	// with Footers and more it also compares the minutes of all entities with them.
	Depth Depth
	// Settle is how long to wait before a difference is rechecked; 0 is two seconds, or ten if a
	// segment stored in the last minute is not indexed: shippers collect entities for some seconds.
	Settle time.Duration
	// OnDifference receives each lasting difference (with Reindex: each that it cannot repair) once,
	// one at a time. It may be nil.
	OnDifference func(Difference)
	// Progress is updated during the run. It may be nil.
	Progress *Progress

	// partBlobs and partEntities bound what is held in memory; 0 are the constants.
	partBlobs, partEntities int
}

// Progress is the state of a run, or of the latest one if Reindex compares all again. Its fields may
// be read at any time.
type Progress struct {
	// Services is their number, Compared how many are done, Blobs the number of their listed blobs.
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
	// Services have segments or entities.
	Services int `json:"services"`
	// Blobs and Entities were compared; Foreign blobs are not segments.
	Blobs    int64 `json:"blobs"`
	Foreign  int64 `json:"foreign"`
	Entities int64 `json:"entities"`
	// Differences is the number of differences that remain.
	Differences int64 `json:"differences"`
	// Written and Removed count entities that Reindex wrote and removed.
	Written int64 `json:"written"`
	Removed int64 `json:"removed"`
	// Problems are failed reads and writes.
	Problems []string       `json:"problems"`
	Requests store.Requests `json:"requests"`

	problems []error
}

// Err joins the failed reads and writes; it is nil if there are none.
func (r *Report) Err() error { return errors.Join(r.problems...) }

// Verify compares and changes nothing. The error is the reason if it ended early; failed reads are in the
// report: see [Report.Err].
func Verify(ctx context.Context, s store.Store, o Options) (Report, error) {
	return run(ctx, s, o, false)
}

// Reindex makes the index match the blobs. It is incremental, since matching entities are not
// written, and idempotent. Entities of missing tables are written too, and the tables created:
// retention drops them again. Errors are as with [Verify].
//
// A store whose database was rebuilt (see [store.PendingReindex]) is marked as having a complete index after a
// Reindex of everything without problems. If it is rebuilt during the Reindex, all is compared
// again; if that happens each time, an error reports it.
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

// clearPending clears the state with an id, if that is not "", and returns the id of a later one.
func clearPending(r store.Rebuilder, id string) (later string, err error) {
	if id != "" {
		if err := r.Reindexed(id); err != nil {
			return "", err
		}
	}
	return r.PendingReindex()
}

// reindexRounds is how often all is compared if the database is rebuilt meanwhile.
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
		o: o, repair: repair, container: s.Container(), blobs: s.Blobs(), tables: s.Tables(),
		reading: make(chan struct{}, concurrentFooters), seed: maphash.MakeSeed(), now: s.Now, orphans: make(map[entityKey]bool), of: make(map[string]bool),
	}
	a.comparisons.SetLimit(concurrentParts)
	if o.Depth == Blocks {
		a.reading = make(chan struct{}, concurrentSegments)
	}
	a.report.Store = s.String()
	ctx, a.stop = context.WithCancelCause(ctx)
	defer a.stop(nil)
	err := a.run(ctx)
	if a.unlisted > 0 {
		a.report.problems = append(a.report.problems, fmt.Errorf("and %d more", a.unlisted))
	}
	a.report.Problems = []string{}
	for _, problem := range a.report.problems {
		a.report.Problems = append(a.report.Problems, hint.Text(problem))
	}
	a.report.Services = len(a.of)
	a.report.Blobs, a.report.Foreign = o.Progress.Blobs.Load(), a.foreign.Load()
	a.report.Requests = counter.Requests()
	return a.report, err
}

// days widens a range to whole days; zero times become the first and the last that names can have.
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
	blobs     store.BlobReader
	tables    store.Tables
	// reading bounds the segments read concurrently.
	reading chan struct{}

	// comparisons are the first comparisons of parts.
	comparisons errgroup.Group
	// seed is that of the hashes of names.
	seed maphash.Seed
	// now is storage's clock.
	now func(ctx context.Context) (time.Time, error)
	// foreign counts listed blobs that are not segments.
	foreign atomic.Int64

	// stop cancels the run.
	stop context.CancelCauseFunc

	mu     sync.Mutex
	report Report
	// of are the services that have segments or entities.
	of map[string]bool
	// orphans are entities of no service.
	orphans map[entityKey]bool
	// unlisted is the number of problems that the report does not list.
	unlisted int
	// suspects are parts that differed at the first comparison, newest the last time at which an
	// unindexed segment was stored.
	suspects []part
	newest   time.Time
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
	return a.recheck(ctx)
}

// services are the selected ones that have blobs.
func (a *auditor) services(ctx context.Context) (map[string]bool, error) {
	all := make(map[string]bool)
	err := retry.First(ctx, func() error {
		for prefixes, err := range a.blobs.ListPrefixes(ctx, "") {
			if err != nil {
				return err
			}
			for _, prefix := range prefixes {
				if service := strings.TrimSuffix(prefix, "/"); blobnaming.ValidService(service) && a.selects(service) {
					all[service] = true
				}
			}
		}
		return nil
	})
	return all, err
}

// selects reports whether a service is selected.
func (a *auditor) selects(service string) bool {
	return len(a.o.Services) == 0 || slices.ContainsFunc(a.o.Services, func(pattern string) bool {
		ok, err := doublestar.Match(pattern, service)
		return ok && err == nil
	})
}

// index returns, by service, the tables of the range that have entities of it. Services that are
// selected by name are not searched for: every table may have them.
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
	holds, lost := make([][]string, len(tables)), make([][]store.Key, len(tables))
	var group errgroup.Group
	group.SetLimit(concurrentTables)
	for i, t := range tables {
		group.Go(func() error {
			return retry.Do(ctx, func() (err error) {
				holds[i], lost[i], err = tableindex.Survey(ctx, a.tables, t.Name)
				return err
			})
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for i, t := range tables {
		for _, key := range lost[i] {
			if len(a.o.Services) == 0 {
				a.orphans[entityKey{t.Name, key}] = true
			}
		}
		for _, service := range holds[i] {
			if a.selects(service) {
				index[service] = append(index[service], t)
			}
		}
	}
	return index, nil
}

// handleOrphans removes or reports entities of no service. No program writes such entities, so they
// are not rechecked.
func (a *auditor) handleOrphans(ctx context.Context) (err error) {
	a.report.Entities += int64(len(a.orphans))
	left := make([]Difference, 0, len(a.orphans))
	for p := range a.orphans {
		left = append(left, Difference{Kind: StrayEntity, Object: quoteKey(p.key.Partition), Text: "no service's partition: " + p.String(), remove: []entityKey{p}})
	}
	slices.SortFunc(left, compareDifferences)
	if a.repair {
		left, err = a.repairAll(ctx, left, func(Difference) bool { return true })
	}
	a.found(left)
	return err
}

// listTables are the tables of the range.
func (a *auditor) listTables(ctx context.Context) (tables []tableindex.Table, err error) {
	err = retry.First(ctx, func() (err error) {
		tables, err = tableindex.Tables(ctx, a.tables, a.container)
		return err
	})
	return slices.DeleteFunc(tables, func(t tableindex.Table) bool { return t.Day.Before(a.o.From) || !t.Day.Before(a.o.To) }), err
}

// problem records a failure, unless the run has ended. If storage cannot be reached for long, or
// not be used at all, it ends the run: the rest would fail in the same way for each day.
func (a *auditor) problem(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrThrottled) || errors.Is(err, store.ErrUnusable) {
		a.stop(err)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.unlisted == 0 && len(a.report.problems) < maxProblems {
		if !slices.ContainsFunc(a.report.problems, func(other error) bool { return other.Error() == err.Error() }) {
			a.report.problems = append(a.report.problems, err)
		}
		return
	}
	a.unlisted++
}

// found reports differences.
func (a *auditor) found(differences []Difference) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.report.Differences += int64(len(differences))
	for _, d := range differences {
		a.o.OnDifference(d)
	}
}
