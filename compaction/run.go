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

// Options configure Run. DefaultOptions are those of shipper compact.
type Options struct {
	// Services are names or globs ('*', '?', '[…]', '{…,…}') of services; none is all.
	Services []string
	// Classes are retention classes, "" the default one; none is all.
	Classes []string
	// From and To bound the hours: those that overlap the range. Zero is no bound but MaxAge.
	From, To time.Time
	// After is how long ago an hour must have ended, MaxAge how long ago it may have begun.
	After, MaxAge time.Duration
	// Grace is how old an input must be to be removed: queries that began before its output
	// was made read it until they end, and read the output where it is gone.
	Grace time.Duration
	// Limits are those of outputs.
	Limits Limits
	// Columns determine the columns of outputs; nil is none.
	Columns *columns.Options
	// DryRun finds what would be merged and removed, and changes nothing.
	DryRun bool
	// KeepInputs removes no inputs.
	KeepInputs bool
	// Rate bounds the blobs deleted a second; 0 is no bound.
	Rate float64
	// MaxCost ends the run before it makes another output when its requests cost so many
	// dollars; 0 is no limit.
	MaxCost float64
	// TempDir is the directory of temporary files, which take up to the text of an
	// output's inputs; "" is the system's.
	TempDir string
	// Prices are what requests cost; nil is [price.Default].
	Prices *price.Table
	// Progress is kept up to date meanwhile. Nil is none.
	Progress *Progress
	// Log receives messages for operators. Nil discards them.
	Log *slog.Logger

	// memory bounds what a merge holds in bytes; 0 is openBytes.
	memory int64
}

// DefaultOptions are those of shipper compact without flags.
func DefaultOptions() Options {
	return Options{After: time.Hour, MaxAge: 7 * 24 * time.Hour, Grace: 2 * time.Hour, Limits: DefaultLimits(), Columns: &columns.Options{}, Rate: 1000}
}

// Progress is how far a run is. Its fields may be read at any time.
type Progress struct {
	// Services is their number, Done how many of them are finished.
	Services, Done atomic.Int64
	// Merged inputs are in committed outputs, Removed ones were deleted.
	Merged, Removed atomic.Int64
}

// ErrCost is returned when the limit of costs is reached: what was done is done, and
// the next run goes on.
var ErrCost = errors.New("the limit of costs is reached")

// Run compacts a store: for each service, hour and class it makes the outputs that are
// worth it, and then removes inputs of outputs that it has read back.
//
// It may be ended at any point and run again, and several may run at once. The report is
// always as full as it can be; the error is the reason if Run ended early. Other failures are in the
// report: see [Report.Err].
func Run(ctx context.Context, s store.Store, o Options) (Report, error) {
	r := newRun(s, o)
	err := r.removable(ctx, s)
	if err == nil {
		err = r.run(ctx)
	}
	if err != nil {
		r.report.problems = append(r.report.problems, err)
	}
	return r.result(err == nil), err
}

// ErrImmutable reports that the container has a policy under which nothing can be removed.
var ErrImmutable = errors.New("its container has an immutability policy or a legal hold: inputs could not be removed")

// removable reports [ErrImmutable] if inputs cannot be removed but are to be: then everything would be
// kept twice.
func (r *run) removable(ctx context.Context, s store.Store) error {
	if r.o.KeepInputs || r.o.DryRun {
		return nil
	}
	immutable := false
	err := retry.Do(ctx, func() (err error) {
		immutable, err = store.IsImmutable(ctx, s)
		return err
	})
	if err == nil && immutable {
		err = hint.Wrap(fmt.Errorf("cannot compact %s: %w", s, ErrImmutable), "with --keep-inputs outputs are made and everything is kept twice")
	}
	return err
}

// run is one run.
type run struct {
	store   store.Store
	counter *store.Counter
	o       Options
	prices  price.Table
	limit   *rate.Limiter
	builder builder
	now     time.Time
	report  Report
	// queue are inputs whose outputs were read back: to be removed.
	queue []removal
	// damaged are inputs that cannot be merged, as they were listed.
	damaged map[store.BlobRef]bool
	// merged are the inputs of the outputs that were made of the hour at hand.
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
				err = errors.Join(err, r.flush(ctx)) // what was read back before can go
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

// bounds are the hours to look at.
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
	// Whole days are fewer listings than hours.
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

// listing is what was listed of one hour of a service.
type listing struct {
	hour     time.Time
	segments []containment.Segment
	rejected []blobnaming.Name
}

// hourOf is the hour of a segment's name, or of a rejection's.
func hourOf(name string) (time.Time, bool) {
	n, err := blobnaming.Parse(name)
	if err != nil {
		n, err = blobnaming.ParseRejection(name)
	}
	return n.Bucket.Truncate(time.Hour), err == nil
}

// add adds a blob. What is no segment is left out, unless it has the name of an output.
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

// hours compacts what was listed of an hour, class by class.
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

// maxRounds bounds how often an hour is listed again without another output of this run.
const maxRounds = 5

// hour compacts one scope, and then removes what its outputs contain.
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
			r.report.Left++ // retention is at it
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
			r.problem(fmt.Errorf("cannot compact %s: others change it all the time", h.Scope))
			return nil
		}
		if cost := r.cost(); r.o.MaxCost > 0 && cost >= r.o.MaxCost {
			return fmt.Errorf("%w: $%.6f of $%.6f", ErrCost, cost, r.o.MaxCost)
		}
		done, err := r.make(ctx, plans[0])
		if errors.Is(err, segment.ErrFull) { // more blocks than expected: records of about half a block
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
	return r.remove(ctx, h)
}

// readOutputs reads the lists of inputs of an hour's outputs that are not known.
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
				got = containment.Output{Segment: o.Segment, Err: err} // retention was faster
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

// make builds and commits a generation; done reports whether the output is there. A
// damaged input is noted, so that the next plan leaves it out.
func (r *run) make(ctx context.Context, g Generation) (done bool, err error) {
	b, err := r.builder.build(ctx, g)
	var damaged *inputError
	switch {
	case errors.As(err, &damaged) && ctx.Err() == nil:
		r.damaged[damaged.s.Ref()] = true
		r.report.Damaged = append(r.report.Damaged, damaged.s.Name.String())
		r.problem(damaged)
		return true, nil // there is one less to merge
	case errors.Is(err, store.ErrNotFound):
		return false, nil // retention, or another compaction, was faster
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

// plan notes what a dry run would make.
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
