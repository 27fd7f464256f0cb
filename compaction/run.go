package compaction

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/time/rate"

	"logstow/blobnaming"
	"logstow/columns"
	"logstow/containment"
	"logstow/internal/crashpoint"
	"logstow/internal/hint"
	"logstow/internal/price"
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
	// From and To select the hours that overlap the range, in addition to After and MaxAge. Zero is no bound.
	From, To time.Time
	// After is the minimum time since the end of an hour, MaxAge the maximum time since its start.
	After, MaxAge time.Duration
	// Grace is the minimum age of an input to be removed. Queries that began before its output was made read it until they
	// end; if it is gone, they read the output.
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
}

// DefaultOptions returns the options of shipper compact without flags.
func DefaultOptions() Options {
	return Options{After: time.Hour, MaxAge: 7 * 24 * time.Hour, Grace: 2 * time.Hour, Limits: DefaultLimits(), Columns: &columns.Options{}, Rate: 1000}
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

// Run compacts a store: for each service, hour and class it makes outputs of enough small segments, and removes the inputs of
// outputs after reading these back.
//
// It may be interrupted at any point and run again, and several may run at once. The error is the reason for which Run ended
// early; the report is valid in any case. Other failures are in the report: see [Report.Err].
func Run(ctx context.Context, s store.Store, o Options) (Report, error) {
	r := newRun(s, o)
	err := r.checkMutable(ctx, s)
	if err == nil {
		err = r.run(ctx)
	}
	if err != nil {
		r.report.problems = append(r.report.problems, err)
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
		err = hint.Wrap(fmt.Errorf("cannot compact %s: %w", s, ErrImmutable), "with --keep-inputs outputs are created, and everything is stored twice")
	}
	return err
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
	// merged are the inputs of the outputs made of the current hour.
	merged map[store.BlobRef]bool
}

func newRun(s store.Store, o Options) *run {
	if o.Progress == nil {
		o.Progress = new(Progress)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.memory == 0 {
		o.memory = openBytes
	}
	limit := rate.Inf
	if o.Rate > 0 {
		limit = rate.Limit(o.Rate)
	}
	prices := price.Default()
	if o.Prices != nil {
		prices = *o.Prices
	}
	counter := new(store.Counter)
	s = counter.Store(s)
	return &run{
		store: s, counter: counter, o: o, prices: prices, limit: rate.NewLimiter(limit, store.MaxDelete),
		builder: builder{blobs: s.Blobs(), limits: o.Limits, columns: o.Columns, compressor: segment.NewCompressor(), tempDir: o.TempDir, budget: o.memory},
		report:  Report{Store: s.String(), DryRun: o.DryRun}, damaged: make(map[store.BlobRef]bool),
	}
}

func (r *run) run(ctx context.Context) error {
	err := retry.First(ctx, func() (err error) {
		r.now, err = r.store.Now(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot get the time of %s: %w", r.store, err)
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
func (r *run) services(ctx context.Context) (all []string, err error) {
	err = retry.Do(ctx, func() error {
		all = nil
		for prefixes, err := range r.store.Blobs().ListPrefixes(ctx, "") {
			if err != nil {
				return err
			}
			for _, prefix := range prefixes {
				if service := prefix[:len(prefix)-1]; blobnaming.ValidService(service) && wanted(r.o.Services, service) {
					all = append(all, service)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot list services: %w", err)
	}
	return all, nil
}

// wanted reports whether a service matches one of the patterns, or there are none.
func wanted(patterns []string, service string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := doublestar.Match(pattern, service)
		return ok && err == nil
	})
}

// bounds returns the range of hours to compact.
func (r *run) bounds() (from, to time.Time) {
	from, to = r.now.Add(-r.o.MaxAge).Truncate(time.Hour), r.now.Add(-r.o.After).Truncate(time.Hour)
	if r.o.From.After(from) {
		from = r.o.From
	}
	if !r.o.To.IsZero() && r.o.To.Before(to) {
		to = r.o.To
	}
	return from, to
}

// service compacts the hours of a service, in their order.
func (r *run) service(ctx context.Context, service string) error {
	from, to := r.bounds()
	if !from.Before(to) {
		return nil
	}
	var current listing
	// Listing whole days takes fewer requests than listing hours.
	for _, prefix := range blobnaming.Prefixes(service, from.Truncate(day), to.Add(-1).Truncate(day).Add(day)) {
		for page, err := range retry.List(ctx, r.store.Blobs(), prefix) {
			if err != nil {
				return fmt.Errorf("cannot list %s*: %w", prefix, err)
			}
			for _, b := range page {
				hour, ok := hourOf(b.Name)
				if !ok || !hour.Before(to) || !hour.Add(time.Hour).After(from) {
					continue
				}
				if !hour.Equal(current.hour) {
					if err := r.hours(ctx, current); err != nil {
						return err
					}
					current = listing{hour: hour}
				}
				current.add(b)
			}
		}
	}
	return r.hours(ctx, current)
}

const day = 24 * time.Hour

// listing has the listed segments and rejections of one hour of a service.
type listing struct {
	hour     time.Time
	segments []containment.Segment
	rejected []blobnaming.Name
}

// hourOf returns the hour of the name of a segment or a rejection.
func hourOf(name string) (time.Time, bool) {
	n, err := blobnaming.Parse(name)
	if err != nil {
		n, err = blobnaming.ParseRejection(name)
	}
	return n.Bucket.Truncate(time.Hour), err == nil
}

// add adds a blob. It ignores a blob that is not a segment, unless it has the name of an output.
func (l *listing) add(b store.Blob) {
	if of, err := blobnaming.ParseRejection(b.Name); err == nil {
		l.rejected = append(l.rejected, of)
		return
	}
	s, err := containment.NewSegment(b)
	if err == nil {
		l.segments = append(l.segments, s)
		return
	}
	if name, err := blobnaming.Parse(b.Name); err == nil && name.Output() > 0 {
		l.segments = append(l.segments, containment.Segment{Name: name, Size: b.Size, ETag: b.ETag, Created: b.Created})
	}
}

// hours compacts the scopes of a listing, class by class.
func (r *run) hours(ctx context.Context, l listing) error {
	for _, h := range Group(l.segments, l.rejected) {
		if len(r.o.Classes) > 0 && !slices.Contains(r.o.Classes, h.Class) || len(h.Plain) == 0 {
			continue
		}
		if err := r.hour(ctx, h); err != nil {
			return err
		}
	}
	return nil
}

// relist lists an hour again.
func (r *run) relist(ctx context.Context, scope containment.Scope) (*Hour, error) {
	var l listing
	prefix := blobnaming.Prefixes(scope.Service, scope.Hour, scope.Hour.Add(time.Hour))[0]
	for page, err := range retry.List(ctx, r.store.Blobs(), prefix) {
		if err != nil {
			return nil, fmt.Errorf("cannot list %s*: %w", prefix, err)
		}
		for _, b := range page {
			l.add(b)
		}
	}
	for _, h := range Group(l.segments, l.rejected) {
		if h.Scope == scope {
			return h, nil
		}
	}
	return &Hour{Scope: scope}, nil
}

// maxRounds is the maximum number of consecutive listings of an hour without a new output of this run.
const maxRounds = 5

// hour compacts one scope, and then removes the inputs of its outputs.
func (r *run) hour(ctx context.Context, h *Hour) error {
	r.report.Hours++
	known := make(map[store.BlobRef]containment.Output)
	r.merged = make(map[store.BlobRef]bool)
	for rounds := 0; ; rounds++ {
		if err := r.readOutputs(ctx, h, known); err != nil {
			return err
		}
		plans, err := h.Plan(r.o.Limits, r.now, func(s containment.Segment) bool { return r.damaged[s.Ref()] })
		switch {
		case errors.Is(err, ErrGap) && rounds < maxRounds:
			if h, err = r.relist(ctx, h.Scope); err != nil {
				return err
			}
			continue
		case errors.Is(err, ErrGap):
			r.report.Left++ // retention is deleting the hour
			r.o.Log.Info("hour left to retention", "hour", h.String(), "error", err)
			return nil
		case err != nil:
			r.halt(h.Scope, err)
			return nil
		}
		if r.o.DryRun || len(plans) == 0 {
			r.plan(plans)
			break
		}
		if again := slices.IndexFunc(plans[0].Inputs, func(s containment.Segment) bool { return r.merged[s.Ref()] }); again >= 0 {
			r.problem(fmt.Errorf("cannot compact %s: the output that contains %s is gone again", h.Scope, plans[0].Inputs[again].Name))
			return nil
		}
		if rounds >= maxRounds {
			r.problem(fmt.Errorf("cannot compact %s: it keeps changing concurrently", h.Scope))
			return nil
		}
		if cost := r.cost(); r.o.MaxCost > 0 && cost >= r.o.MaxCost {
			return fmt.Errorf("%w: $%.6f of $%.6f", ErrCost, cost, r.o.MaxCost)
		}
		done, err := r.make(ctx, plans[0])
		if errors.Is(err, segment.ErrFull) { // records of about half a block made more blocks than estimated
			r.halt(h.Scope, err)
			return nil
		}
		if err != nil {
			return err
		}
		if done {
			rounds = -1
		}
		if h, err = r.relist(ctx, h.Scope); err != nil {
			return err
		}
	}
	r.report.OtherTier += int64(h.otherTier(r.o.Limits))
	return r.remove(ctx, h)
}

// readOutputs sets the inputs of an hour's outputs. It reads the lists that are not in known, and adds them.
func (r *run) readOutputs(ctx context.Context, h *Hour, known map[store.BlobRef]containment.Output) error {
	for i, o := range h.Outputs {
		if o.Rejected || o.Err != nil || o.Meta.Class != h.Class {
			continue
		}
		got, ok := known[o.Ref()]
		if !ok {
			var err error
			got, err = containment.ReadOutput(ctx, rangeOf(r.store.Blobs(), o.Name.String()), o.Segment)
			switch {
			case errors.Is(err, store.ErrNotFound):
				got = containment.Output{Segment: o.Segment, Err: err} // retention deleted it first
			case err != nil:
				return fmt.Errorf("cannot read %s: %w", o.Name, err)
			default:
				known[o.Ref()] = got
			}
		}
		h.Outputs[i] = got
	}
	return nil
}

// make builds and commits a generation. done reports progress: the output exists, or an input turned out to be damaged, so that
// the next plan skips it.
func (r *run) make(ctx context.Context, g Generation) (done bool, err error) {
	b, err := r.builder.build(ctx, g)
	var damaged *inputError
	switch {
	case errors.As(err, &damaged) && ctx.Err() == nil:
		r.damaged[damaged.s.Ref()] = true
		r.report.Damaged = append(r.report.Damaged, damaged.s.Name.String())
		r.o.Log.Warn("segment left out of compaction: it is damaged", "error", damaged)
		return true, nil
	case errors.Is(err, store.ErrNotFound):
		return false, nil // retention or another compaction removed an input
	case err != nil:
		return false, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	crashpoint.Here("compact.built")
	switch result, err := r.commit(ctx, b); {
	case err != nil:
		return false, err
	case result == taken:
		r.report.Conflicts++
		r.o.Log.Info("generation made by another compaction", "segment", g.Name.String())
		return false, nil
	}
	r.report.Outputs++
	r.report.Inputs += int64(len(g.Inputs))
	r.report.BytesOut += b.size
	r.report.Records += int64(b.meta.Records)
	for _, s := range g.Inputs {
		r.report.BytesIn += s.Size
		r.merged[s.Ref()] = true
	}
	r.o.Progress.Merged.Add(int64(len(g.Inputs)))
	r.o.Log.Debug("output created", "segment", g.Name.String(), "inputs", len(g.Inputs), "bytes", b.size)
	return true, nil
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
			case r.now.Sub(s.Created) < r.o.Grace:
				r.report.Young++
			case !r.o.KeepInputs:
				r.report.Removed++
				r.report.BytesRemoved += s.Size
			}
		}
	}
}
