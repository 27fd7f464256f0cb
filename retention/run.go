package retention

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"logstow/catalog"
	"logstow/internal/logging"
	"logstow/internal/price"
	"logstow/internal/problems"
	"logstow/internal/retry"
	"logstow/store"
	"logstow/tableindex"
)

const (
	// maxSkew is the largest allowed difference between this machine's clock and storage's.
	maxSkew = time.Hour
	// walkers is how many services are listed concurrently; each has a page in memory.
	walkers = 3
	// deleters is how many batches are deleted concurrently, droppers how many tables are processed
	// concurrently.
	deleters, droppers = 4, 8
)

// ErrClock is returned if this machine's clock and storage's differ so much that it is unknown which days
// have passed.
var ErrClock = errors.New("clock differs from that of storage")

// Options configure Run. The zero value is ready to use.
type Options struct {
	// DryRun reports what would be deleted and deletes nothing.
	DryRun bool
	// Force overrides [Policy.Check] for short retention, and the comparison of clocks.
	Force bool
	// Rate limits the blobs deleted per second, which leaves a part of the account's request rate to
	// writers; 0 is unlimited.
	Rate float64
	// Now is this machine's clock; nil is [time.Now].
	Now func() time.Time
	// Prices are the prices of requests; nil is [price.Default].
	Prices *price.Table
	// Progress is updated during Run. It may be nil.
	Progress *Progress
	// Log receives operational messages. Nil discards them.
	Log *slog.Logger
}

// Progress is the state of a run. Its fields may be read at any time.
type Progress struct {
	// Services is the number of services, Walked how many of them were listed.
	Services, Walked atomic.Int64
	// Listed is the number of examined blobs, Found of expired ones, Deleted of deleted ones.
	Listed, Found, Deleted atomic.Int64
}

// Run deletes from a store what the policy does not keep.
//
// Each service is listed in order of name, which is order of day, up to the first day that every class
// keeps. Blobs are deleted in batches across services; then everything is listed again; then the tables of
// the expired days are dropped. If a blob of a table's day and class remains, the table is kept, and the
// entities of deleted blobs are removed from it.
//
// Run may be interrupted at any point and repeated, and several may run concurrently with shippers:
// every step is idempotent, and late blobs are deleted by the next run. The report is always as
// complete as possible; the error is the reason if Run ended early, and is among the report's problems.
// Other failures are only in the report: see [Report.Err].
func Run(ctx context.Context, s store.Store, p Policy, o Options) (Report, error) {
	r := newRun(s, o)
	err := r.run(ctx, p)
	if r.report.Complete = err == nil; !r.report.Complete {
		why := err
		if ctx.Err() != nil {
			why = fmt.Errorf("interrupted: %w", err)
		}
		r.report.problems.Add(why)
	}
	return r.result(), err
}

// run is one run.
type run struct {
	store   store.Store
	catalog *catalog.Catalog
	counter *store.Counter
	o       Options
	cut     Cutoffs
	limit   *rate.Limiter
	// began is the start of the run by storage's clock, less a second, because storage reports times in
	// whole seconds.
	began time.Time

	mu     sync.Mutex
	report Report
	// estimated are requests that a dry run does not make.
	estimated store.Requests
	days      map[classDay]*Day
	kept      map[keptKey]*Kept
	moved     map[store.Tier]*Moved
	// unknownClassDays are days with blobs of unknown class.
	unknownClassDays map[time.Time]bool
	// deleted counts the blobs that are known to be deleted.
	deleted struct{ blobs, bytes int64 }
	// touched are the services with expired blobs.
	touched []string
	// attempted has the expired blobs that were found although they may have been written during the run.
	attempted map[store.BlobRef]bool
	// outputs are the expired blobs of the compacted container, waiting has those that are left for the next run.
	outputs []entry
	waiting map[store.BlobRef]bool
	// remaining counts the expired blobs that still existed when everything was listed again.
	remaining map[tableKey]int64
	// failed has the classes of errors of which a failure was recorded.
	failed map[error]bool
	// totalKnown is set if the number of all blobs is known, up to a page; then totalRemaining
	// blobs remain.
	totalKnown     bool
	totalRemaining int64
	// incomplete is set if not everything could be listed.
	incomplete bool
}

// classDay is a class and a day.
type classDay struct {
	class string
	day   time.Time
}

// tableKey identifies a table of the index: that of segments, or that of outputs of compaction.
type tableKey struct {
	classDay
	outputs bool
}

func newRun(s store.Store, o Options) *run {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Progress == nil {
		o.Progress = new(Progress)
	}
	o.Log = logging.OrDiscard(o.Log)
	limit := rate.Inf
	if o.Rate > 0 {
		limit = rate.Limit(o.Rate)
	}
	counter := new(store.Counter)
	counted := counter.Store(s)
	return &run{
		store:            counted,
		counter:          counter,
		catalog:          catalog.ForJobs(counted),
		o:                o,
		limit:            rate.NewLimiter(limit, store.MaxDelete),
		totalKnown:       true,
		report:           Report{Store: s.String(), DryRun: o.DryRun, problems: new(problems.List)},
		days:             make(map[classDay]*Day),
		kept:             make(map[keptKey]*Kept),
		unknownClassDays: make(map[time.Time]bool),
		remaining:        make(map[tableKey]int64),
		moved:            make(map[store.Tier]*Moved),
		failed:           make(map[error]bool),
		attempted:        make(map[store.BlobRef]bool),
		waiting:          make(map[store.BlobRef]bool),
	}
}

func (r *run) run(ctx context.Context, p Policy) error {
	if err := p.Check(r.o.Force); err != nil {
		return err
	}
	now, err := r.now(ctx)
	if err != nil {
		return err
	}
	r.cut, r.report.Now, r.report.Notes = p.Cutoffs(now), now, p.Early()
	services, err := r.services(ctx)
	if err != nil {
		return err
	}
	tables, err := r.tables(ctx)
	if err != nil {
		return err
	}
	if p.MaxBytes > 0 {
		if err := r.fit(ctx, p, services); err != nil {
			return err
		}
	}
	if err := r.deleteBlobs(ctx, services); err != nil {
		return err
	}
	if err := r.deleteOutputs(ctx, r.outputs); err != nil {
		return err
	}
	if r.o.DryRun {
		r.estimate()
	} else if err := r.verify(ctx); err != nil {
		return err
	} else if err := r.removeEmptyDirectories(ctx); err != nil {
		return err
	}
	return r.expireTables(ctx, tables)
}

// now returns the earlier of the times of this machine and of storage, which must not differ by more than
// maxSkew.
func (r *run) now(ctx context.Context) (time.Time, error) {
	remote, err := retry.Now(ctx, r.store)
	if err != nil {
		return time.Time{}, err
	}
	r.began = remote.Add(-time.Second)
	local := r.o.Now().UTC()
	if skew := local.Sub(remote); skew.Abs() > maxSkew && !r.o.Force {
		return time.Time{}, fmt.Errorf("%w by %v: set this machine's clock (%s; storage: %s)", ErrClock,
			skew.Abs().Round(time.Second), local.Format(time.RFC3339), remote.Format(time.RFC3339))
	}
	if remote.Before(local) {
		return remote, nil
	}
	return local, nil
}

// services returns the services that have blobs.
func (r *run) services(ctx context.Context) ([]string, error) {
	all, err := r.catalog.Services(ctx)
	r.o.Progress.Services.Add(int64(len(all)))
	r.report.Services = len(all)
	return all, err
}

// tables returns all tables of the container's index.
func (r *run) tables(ctx context.Context) (all []tableindex.Table, err error) {
	err = retry.First(ctx, func() (err error) {
		all, err = tableindex.Tables(ctx, r.store.Tables(), r.store.Container())
		return err
	})
	return all, err
}

// deleteBlobs walks all services, deletes what has expired, and moves blobs to their tier.
func (r *run) deleteBlobs(ctx context.Context, services []string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var sinks sync.WaitGroup
	sink := func(do func(ctx context.Context, batch []entry) error) chan entry {
		blobs := make(chan entry, store.MaxDelete)
		received := func(yield func(entry) bool) {
			for b := range blobs {
				if !yield(b) {
					return
				}
			}
		}
		sinks.Go(func() { r.batches(ctx, cancel, received, do) })
		return blobs
	}
	send := func(blobs chan<- entry, b entry) bool {
		select {
		case blobs <- b:
			return true
		case <-ctx.Done():
			return false
		}
	}
	removing := sink(r.deleteBatch)
	type move struct {
		store.Tier
		compacted bool
	}
	moving := make(map[move]chan entry)
	for _, tier := range []store.Tier{store.Cool, store.Cold} {
		for _, compacted := range []bool{false, true} {
			moving[move{tier, compacted}] = sink(r.moveBatch(tier))
		}
	}
	r.eachService(ctx, services, func(service string) {
		var outputs []entry
		w := newWalk(r, func(_ classDay, b entry) bool {
			switch {
			case b.compacted:
				outputs = append(outputs, b)
				r.noteAttempt(b)
				return true
			case r.o.DryRun:
				return true
			}
			r.noteAttempt(b)
			return send(removing, b)
		})
		w.stopAt = r.cut.end()
		w.onTierChange = func(b entry, tier store.Tier) bool {
			if r.o.DryRun {
				r.movedTo(tier, 1, b.size)
				return true
			}
			return send(moving[move{tier, b.compacted}], b)
		}
		w.run(ctx, service)
		r.add(service, w, outputs)
		r.o.Progress.Walked.Add(1)
	})
	close(removing)
	for _, blobs := range moving {
		close(blobs)
	}
	sinks.Wait()
	return context.Cause(ctx)
}

// isNew reports whether a blob may have been written since the run began.
func (r *run) isNew(b entry) bool { return !b.created.Before(r.began) }

// noteAttempt records an expired blob that was found although it is new.
func (r *run) noteAttempt(b entry) {
	if r.isNew(b) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.attempted[b.BlobRef] = true
	}
}

// eachService calls f for the services, several at a time, until ctx ends.
func (r *run) eachService(ctx context.Context, services []string, f func(service string)) {
	var group errgroup.Group
	group.SetLimit(walkers)
	for _, service := range services {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			f(service)
			return nil
		})
	}
	_ = group.Wait() // failures are in the report
}

// problem records a failure.
func (r *run) problem(err error) {
	r.report.problems.Log(r.o.Log, "retention", err)
}
