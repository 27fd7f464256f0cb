package compaction

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"logstow/blobnaming"
	"logstow/catalog"
	"logstow/columns"
	"logstow/internal/crashpoint"
	"logstow/internal/hint"
	"logstow/internal/logging"
	"logstow/internal/price"
	"logstow/internal/problems"
	"logstow/internal/retry"
	"logstow/segment"
	"logstow/store"
)

// Options configure Run.
type Options struct {
	// Services are names or globs ('*', '?', '[…]', '{…,…}') of services; none is all.
	Services []string
	// Classes are retention classes, "" the default one; none is all.
	Classes []string
	// From and To select the days that overlap the range, in addition to After and MaxAge. Zero is no bound.
	From, To time.Time
	// After is the minimum time since the end of an hour, MaxAge the maximum time since the end of a day.
	After, MaxAge time.Duration
	// Grace is the minimum age of an input, and of its output, for the input to be removed. Queries that began before its output was
	// made read the input until they end; if it is gone, they read the output.
	Grace time.Duration
	// Limits are the limits of outputs.
	Limits Limits
	// Columns determine the columns of outputs; nil is none.
	Columns *columns.Options
	// DryRun reports what would be merged and removed, without changing anything.
	DryRun bool
	// KeepInputs disables the removal of inputs.
	KeepInputs bool
	// Rate is the maximum number of blobs deleted per second; 0 is no limit.
	Rate float64
	// MaxCost is the cost of requests in dollars at which the run ends with [ErrCost] before making another output; 0 is
	// no limit.
	MaxCost float64
	// TempDir is the directory of temporary files, which may be as large as the text of an output's inputs; "" is the
	// system's directory.
	TempDir string
	// Prices are the prices of requests; nil is [price.Default].
	Prices *price.Table
	// Progress is updated during the run. It may be nil.
	Progress *Progress
	// Log receives messages for operators. Nil discards them.
	Log *slog.Logger

	// memory is the memory limit of a merge in bytes; 0 is openBytes.
	memory int64
	// blockSize is that of outputs; 0 is the default.
	blockSize int
}

// DefaultOptions returns the options of shipper compact without flags.
func DefaultOptions() Options {
	return Options{
		After:   time.Hour,
		MaxAge:  7 * 24 * time.Hour,
		Grace:   2 * time.Hour,
		Limits:  DefaultLimits(),
		Columns: &columns.Options{},
		Rate:    1000,
	}
}

// Progress is the progress of a run. Its fields may be read at any time.
type Progress struct {
	// Services is the number of services, Done that of finished ones.
	Services, Done atomic.Int64
	// Merged is the number of inputs in committed outputs, Removed that of deleted inputs.
	Merged, Removed atomic.Int64
}

// ErrCost is returned when the cost limit is reached. The outputs made so far remain, and the next run continues.
var ErrCost = errors.New("the cost limit is reached")

// Run compacts a store: for each service, day and class it makes outputs of the segments, and removes the inputs of outputs after
// reading these back.
//
// It may be interrupted at any point and run again, and several may run at once. The error is the reason for which Run ended
// early; the report is valid in any case. Other failures are in the report: see [Report.Err].
func Run(ctx context.Context, s store.Store, o Options) (Report, error) {
	r := newRun(s, o)
	err := r.checkMutable(ctx, s)
	if err == nil {
		err = r.readSync(ctx, s)
	}
	if err == nil {
		err = r.run(ctx)
	}
	if err != nil {
		r.report.problems.Add(err)
	}
	return r.result(err == nil), err
}

// ErrImmutable is returned if the container has a policy that prevents the removal of inputs.
var ErrImmutable = errors.New("its container has an immutability policy, a legal hold or version-level immutability: inputs could not be removed")

// checkMutable returns [ErrImmutable] if the run is to remove inputs and cannot: every record would be stored twice.
func (r *run) checkMutable(ctx context.Context, s store.Store) error {
	if r.o.KeepInputs || r.o.DryRun {
		return nil
	}
	immutable := false
	err := retry.Do(ctx, func() (err error) {
		immutable, err = store.IsImmutable(ctx, s)
		return err
	})
	if err == nil && immutable {
		err = hint.Wrap(fmt.Errorf("cannot compact %s: %w", s, ErrImmutable),
			"with --keep-inputs outputs are created, and everything is stored twice")
	}
	return err
}

// readSync reads up to when the store is replicated, if inputs may be removed.
func (r *run) readSync(ctx context.Context, s store.Store) error {
	if r.o.KeepInputs || r.o.DryRun {
		return nil
	}
	err := retry.Do(ctx, func() (err error) {
		r.synced, r.replicated, err = store.LastSync(ctx, s)
		return err
	})
	if err != nil {
		return hint.Wrap(fmt.Errorf("cannot find out whether outputs of %s are replicated, before which inputs are not removed: %w",
			s, err),
			"with --keep-inputs nothing is removed")
	}
	return nil
}

// run is the state of one Run.
type run struct {
	store   store.Store
	counter *store.Counter
	o       Options
	prices  price.Table
	limit   *rate.Limiter
	builder builder
	now     time.Time
	report  Report
	// queue are the inputs to remove, whose outputs have been read back.
	queue []removal
	// damaged are inputs that cannot be merged.
	damaged map[store.BlobRef]bool
	// merged are the inputs of the outputs made of the current chain.
	merged map[store.BlobRef]bool
	// verified are the outputs of the current chain that were built, and so decoded and compared with their inputs, by this run.
	verified map[blobnaming.Batch]bool
	catalog  *catalog.Catalog
	// replicated is set if the store is replicated to a second location, which has what was written before synced.
	replicated bool
	synced     time.Time
}

func newRun(s store.Store, o Options) *run {
	if o.Progress == nil {
		o.Progress = new(Progress)
	}
	o.Log = logging.OrDiscard(o.Log)
	if o.memory == 0 {
		o.memory = openBytes
	}
	limit := rate.Inf
	if o.Rate > 0 {
		limit = rate.Limit(o.Rate)
	}
	counter := new(store.Counter)
	s = counter.Store(s)
	return &run{
		store: s, counter: counter, o: o, prices: o.Prices.OrDefault(), limit: rate.NewLimiter(limit, store.MaxDelete),
		catalog: catalog.ForJobs(s),
		builder: builder{
			blobs:      s.Blobs(),
			columns:    o.Columns,
			compressor: segment.NewCompressor(),
			tempDir:    o.TempDir,
			budget:     o.memory,
			blockSize:  o.blockSize,
		},
		report: Report{Store: s.String(), DryRun: o.DryRun, problems: new(problems.List)}, damaged: make(map[store.BlobRef]bool),
	}
}

func (r *run) run(ctx context.Context) error {
	var err error
	if r.now, err = retry.Now(ctx, r.store); err != nil {
		return err
	}
	r.report.Now = r.now
	r.report.From, r.report.To = r.bounds()
	services, err := r.services(ctx)
	if err != nil {
		return err
	}
	r.report.Services = len(services)
	r.o.Progress.Services.Store(int64(len(services)))
	for _, service := range services {
		if err := r.service(ctx, service); err != nil {
			if ctx.Err() == nil {
				err = errors.Join(err, r.flush(ctx)) // the queued inputs are safe to remove
			}
			return err
		}
		r.o.Progress.Done.Add(1)
	}
	return r.flush(ctx)
}

// services returns the selected services.
func (r *run) services(ctx context.Context) ([]string, error) {
	all, err := r.catalog.Services(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot list services: %w", err)
	}
	return slices.DeleteFunc(all, func(service string) bool { return !catalog.Selects(r.o.Services, service) }), nil
}

// bounds returns the range to compact: from the start of a day to the end of an hour.
func (r *run) bounds() (from, to time.Time) {
	from, to = r.now.Add(-r.o.MaxAge).Truncate(day), r.now.Add(-r.o.After).Truncate(time.Hour)
	if at := r.o.From.Truncate(day); at.After(from) {
		from = at
	}
	if !r.o.To.IsZero() && r.o.To.Before(to) {
		to = r.o.To
	}
	return from, to
}

// service compacts the days of a service, in their order.
func (r *run) service(ctx context.Context, service string) error {
	from, to := r.bounds()
	if !from.Before(to) {
		return nil
	}
	err := r.catalog.Walk(ctx, service, from, to.Add(-1).Truncate(day).Add(day), InChain,
		func(d *catalog.Day) error { return r.day(ctx, d) })
	if err != nil {
		return fmt.Errorf("cannot compact service %s: %w", service, err)
	}
	return nil
}

// day compacts the chains of a day.
func (r *run) day(ctx context.Context, d *catalog.Day) error {
	chains := Chains(d)
	if len(chains) > 0 {
		if err := r.certify(ctx, chains[0].Twins); err != nil {
			return err
		}
	}
	for _, c := range chains {
		if len(r.o.Classes) > 0 && !slices.Contains(r.o.Classes, c.Class) || len(c.Plain) == 0 {
			continue
		}
		if err := r.chain(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// relist lists the day of a chain again.
func (r *run) relist(ctx context.Context, scope catalog.Scope) (*Chain, error) {
	found := &Chain{Scope: scope}
	err := r.catalog.Walk(ctx, scope.Service, scope.Day, scope.Day.Add(day), InChain, func(d *catalog.Day) error {
		for _, c := range Chains(d) {
			if c.Scope == scope {
				found = c
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot list %s again: %w", scope, err)
	}
	return found, nil
}

// maxRounds is the maximum number of consecutive listings of a chain without a new output of this run.
const maxRounds = 5

// chain compacts one chain, and then removes the inputs of its outputs.
func (r *run) chain(ctx context.Context, c *Chain) error {
	r.report.Chains++
	known := make(map[store.BlobRef]catalog.Output)
	r.merged, r.verified = make(map[store.BlobRef]bool), make(map[blobnaming.Batch]bool)
	_, to := r.bounds()
	for rounds := 0; ; rounds++ {
		if err := r.readOutputs(ctx, c.Outputs, known); err != nil {
			return err
		}
		plans, err := c.Plan(r.o.Limits, r.now, to, func(s catalog.Segment) bool { return r.damaged[s.Ref()] })
		switch {
		case errors.Is(err, ErrGap) && rounds < maxRounds:
			if c, err = r.relist(ctx, c.Scope); err != nil {
				return err
			}
			continue
		case errors.Is(err, ErrGap):
			r.left(c.Scope, err)
			return nil
		case err != nil:
			r.halt(c.Scope, err)
			return nil
		}
		if r.o.DryRun || len(plans) == 0 {
			r.plan(plans)
			break
		}
		again := slices.IndexFunc(plans[0].Inputs, func(s catalog.Segment) bool { return r.merged[s.Ref()] })
		switch {
		case again >= 0 && rounds < maxRounds: // retention deletes it and the output, one after the other
			if c, err = r.relist(ctx, c.Scope); err != nil {
				return err
			}
			continue
		case again >= 0:
			r.problem(fmt.Errorf("cannot compact %s: the output that contains %s is gone again", c.Scope, plans[0].Inputs[again].Name))
			return nil
		case rounds >= maxRounds:
			r.problem(fmt.Errorf("cannot compact %s: it keeps changing concurrently", c.Scope))
			return nil
		}
		if cost := r.cost(); r.o.MaxCost > 0 && cost >= r.o.MaxCost {
			return fmt.Errorf("%w: $%.6f of $%.6f", ErrCost, cost, r.o.MaxCost)
		}
		done, err := r.make(ctx, c.Scope, plans[0])
		switch {
		case errors.Is(err, segment.ErrFull): // records of about half a block made more blocks than estimated
			r.halt(c.Scope, err)
			return nil
		case errors.Is(err, ErrDamaged):
			r.halt(c.Scope, err)
			return nil
		case errors.Is(err, ErrGap):
			r.left(c.Scope, err)
			return nil
		case err != nil:
			return err
		}
		if done {
			rounds = -1
		}
		if c, err = r.relist(ctx, c.Scope); err != nil {
			return err
		}
	}
	r.report.OtherTier += int64(c.otherTier(to))
	return r.remove(ctx, c)
}

// left reports a chain that retention is deleting.
func (r *run) left(scope catalog.Scope, err error) {
	r.report.Left++
	r.o.Log.Info("day left to retention", "day", scope.String(), "error", err)
}

// readOutputs sets the inputs of outputs. It reads the lists that are not in known, and adds them.
func (r *run) readOutputs(ctx context.Context, outputs []catalog.Output, known map[store.BlobRef]catalog.Output) error {
	for i, o := range outputs {
		if o.Rejected || o.Err != nil {
			continue
		}
		got, ok := known[o.Ref()]
		if !ok {
			var err error
			got, err = catalog.ReadOutput(ctx, retry.Range(r.store.Compacted(), o.Ref()), o.Segment)
			switch {
			case errors.Is(err, store.ErrNotFound):
				got = catalog.Output{Segment: o.Segment, Err: err} // retention deleted it first
			case err != nil:
				return fmt.Errorf("cannot read %s: %w", o.Name, err)
			default:
				known[o.Ref()] = got
			}
		}
		outputs[i] = got
	}
	return nil
}

// make builds and commits a generation. done reports progress: the output exists, or an input turned out to be damaged, so that
// the next plan skips it.
func (r *run) make(ctx context.Context, scope catalog.Scope, g Generation) (done bool, err error) {
	b, err := r.builder.build(ctx, g)
	var damaged *inputError
	switch {
	case errors.As(err, &damaged) && ctx.Err() == nil:
		r.leaveOut(damaged)
		return true, nil
	case errors.Is(err, store.ErrNotFound):
		return false, nil // retention or another compaction removed an input
	case err != nil:
		return false, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	crashpoint.Here("compact.built")
	switch result, err := r.commit(ctx, scope, b, g.Inputs); {
	case err != nil:
		return false, err
	case result == taken:
		r.report.Conflicts++
		r.o.Log.Info("segments merged by another compaction", "segment", b.name.String())
		return false, nil
	}
	r.verified[b.meta.Batch] = true
	r.report.Outputs++
	r.report.Inputs += int64(len(g.Inputs))
	r.report.BytesOut += b.size
	r.report.Records += int64(b.meta.Records)
	for _, s := range g.Inputs {
		r.report.BytesIn += s.Size
		r.merged[s.Ref()] = true
	}
	r.o.Progress.Merged.Add(int64(len(g.Inputs)))
	r.o.Log.Debug("output created", "segment", b.name.String(), "inputs", len(g.Inputs), "bytes", b.size)
	return true, nil
}

// certify verifies the segments of each Batch of several, in the order in which they are tried, up to the first that is what it claims to
// be. The others are left out: one that is never eligible, because of its class for example, would keep that one from being merged.
func (r *run) certify(ctx context.Context, twins map[blobnaming.Batch][]catalog.Segment) error {
	for _, all := range twins {
		for _, s := range all {
			err := r.verify(ctx, s)
			var damaged *inputError
			switch {
			case errors.As(err, &damaged):
				r.leaveOut(damaged)
			case err != nil && !errors.Is(err, store.ErrNotFound):
				return err
			}
			if err == nil {
				break
			}
		}
	}
	return nil
}

// leaveOut reports an input that cannot be merged, and leaves it out of the following plans.
func (r *run) leaveOut(damaged *inputError) {
	r.damaged[damaged.s.Ref()] = true
	r.report.Damaged = append(r.report.Damaged, damaged.s.Name.String())
	r.o.Log.Warn("segment left out of compaction: it is damaged", "error", damaged)
}

// plan reports what a dry run would make.
func (r *run) plan(plans []Generation) {
	for _, g := range plans {
		r.report.Outputs++
		r.report.Inputs += int64(len(g.Inputs))
		for _, s := range g.Inputs {
			r.report.BytesIn += s.Size
			r.report.Records += int64(s.Meta.Records)
			switch {
			case r.o.Grace > 0: // so young is its output
				r.report.Young++
			case !r.o.KeepInputs:
				r.report.Removed++
				r.report.BytesRemoved += s.Size
			}
		}
	}
}
