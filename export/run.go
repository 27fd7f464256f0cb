package export

import (
	"context"
	"errors"
	"fmt"
	"time"

	"logstow/catalog"
	"logstow/export/datafile"
	"logstow/export/delta"
	"logstow/internal/logging"
	"logstow/internal/price"
	"logstow/internal/problems"
	"logstow/internal/retry"
	"logstow/store"
)

// Destination is where the table is.
type Destination struct {
	// Blobs has the table: names are relative to it.
	Blobs store.Blobs
	// Name is the name of the place, as the user wrote it, without secrets.
	Name string
}

// Run brings a table up to date with the compacted container of a store, removes expired days from it, and deletes files that it does not
// need any more.
//
// It may be interrupted at any point and run again, and several may run at once, beside compaction and retention. The error is the reason for
// which Run ended early; the report is valid in any case. Other failures are in the report: see [Report.Err].
func Run(ctx context.Context, s store.Store, to Destination, o Options) (Report, error) {
	r := newRun(s, to, o)
	err := r.run(ctx)
	if err != nil {
		r.report.problems.Add(err)
	}
	return r.result(err == nil), err
}

// run is the state of one Run.
type run struct {
	store   store.Store
	source  string // identifies the store in the table
	table   *delta.Table
	counter *store.Counter
	catalog *catalog.Catalog
	o       Options
	prices  price.Table
	now     time.Time
	report  Report
	// excluded are outputs that cannot be exported, or are gone.
	excluded map[store.BlobRef]bool
}

func newRun(s store.Store, to Destination, o Options) *run {
	if o.Progress == nil {
		o.Progress = new(Progress)
	}
	o.Log = logging.OrDiscard(o.Log)
	if o.FileSize == 0 {
		o.FileSize = fileSize
	}
	source := s.String()
	if located, ok := store.As[store.Located](s); ok && located.Location().Raw != "" {
		source = located.Location().Raw
	}
	counter := new(store.Counter)
	s = counter.Store(s)
	return &run{
		store: s, source: source, counter: counter, o: o, prices: o.Prices.OrDefault(), excluded: make(map[store.BlobRef]bool),
		table:   &delta.Table{Blobs: counter.Blobs(to.Blobs), Retry: retry.Jobs()},
		catalog: catalog.ForJobs(s),
		report:  Report{Store: s.String(), Table: to.Name, DryRun: o.DryRun, Version: -1, problems: new(problems.List)},
	}
}

func (r *run) run(ctx context.Context) error {
	var err error
	if r.now, err = retry.Now(ctx, r.store); err != nil {
		return err
	}
	r.report.Now = r.now
	table, err := r.table.Load(ctx)
	if err != nil {
		return fmt.Errorf("cannot read the table %s: %w", r.report.Table, err)
	}
	for round := 1; ; round++ {
		r.report.Version = table.Version
		table, err = r.round(ctx, table)
		if !errors.Is(err, delta.ErrConflict) || round == maxRounds {
			break
		}
		r.report.Conflicts++
		r.o.Log.Info("another export committed first, planning again")
		if table, err = r.table.Load(ctx); err != nil {
			return fmt.Errorf("cannot read the table %s: %w", r.report.Table, err)
		}
	}
	if err != nil {
		return err
	}
	r.report.Version = table.Version
	return r.clean(ctx, table)
}

// round plans and exports once. The error is [delta.ErrConflict] if another run committed some of it.
func (r *run) round(ctx context.Context, table *delta.Snapshot) (*delta.Snapshot, error) {
	if err := table.Check(); err != nil {
		return table, fmt.Errorf("cannot write to the table %s: %w", r.report.Table, err)
	}
	shape, err := r.shape(table)
	if err != nil {
		return table, err
	}
	days, err := r.plan(ctx, table)
	if err != nil {
		return table, err
	}
	units := 0
	for _, d := range days {
		units += d.units()
	}
	r.o.Progress.Units.Store(int64(units))
	r.o.Progress.Done.Store(0)
	if r.o.DryRun {
		r.foresee(table, days)
		return table, nil
	}
	next := &pending{shape: shape}
	for _, d := range days {
		files, err := r.date(ctx, d, shape.named)
		if err != nil {
			return table, errors.Join(err, r.discard(ctx, next.adds))
		}
		if len(d.chains) == 0 {
			continue
		}
		next.add(d, files)
		if next.bytes >= commitSize {
			if table, err = r.commit(ctx, table, next); err != nil {
				return table, err
			}
			next = &pending{shape: shape}
		}
	}
	return r.commit(ctx, table, next)
}

// date writes the data files of a day. It leaves out outputs that cannot be read.
func (r *run) date(ctx context.Context, d *datePlan, named []datafile.Named) (written, error) {
	for {
		files, err := r.writeDate(ctx, d, named)
		var failed *unitError
		if !errors.As(err, &failed) || ctx.Err() != nil {
			return files, err
		}
		if errors.Is(err, store.ErrNotFound) {
			r.excluded[failed.unit.Ref()] = true // retention deleted it
			r.report.Left++
		} else {
			r.damaged(failed.unit, failed.err)
		}
		if d.rebuild {
			r.problem(fmt.Errorf("cannot write %s anew, of which a rejected output is in the table: %w", d.day.Format(time.DateOnly), err))
			d.chains = nil
			return written{}, nil
		}
		var left []*chain
		for _, c := range d.chains {
			if c.Scope == failed.unit.Scope() {
				c.cut(failed.unit.Name.Output())
			}
			if len(c.units) > 0 {
				left = append(left, c)
			}
		}
		if d.chains = left; len(left) == 0 {
			return written{}, nil
		}
	}
}

// foresee reports what a dry run would do.
func (r *run) foresee(table *delta.Snapshot, days []*datePlan) {
	for _, d := range days {
		r.count(d, written{})
		r.report.Records += recordsOf(d)
	}
	files, dates := expired(table, r.now, r.o.Keep)
	r.report.ExpiredFiles, r.report.ExpiredDays = len(files), dates
	r.report.Created = table.Version < 0
}

func recordsOf(d *datePlan) (n int64) {
	for _, c := range d.chains {
		for _, u := range c.units {
			n += int64(u.Meta.Records)
		}
	}
	return n
}

// count adds a day to the report.
func (r *run) count(d *datePlan, files written) {
	r.report.Days++
	r.report.Units += int64(d.units())
	for _, c := range d.chains {
		for _, u := range c.units {
			r.report.BytesIn += u.Size
		}
	}
	if d.rebuild {
		r.report.Rebuilt++
	}
	r.report.Records += files.rows
	r.report.Changed += files.counts.Changed
	r.report.Counts.Conflicts += files.counts.Conflicts
	for _, a := range files.adds {
		r.report.Files++
		r.report.BytesOut += a.Size
	}
}

// clean deletes what no reader of the table needs.
func (r *run) clean(ctx context.Context, table *delta.Snapshot) error {
	garbage, err := r.table.FindGarbage(ctx, table, datePrefix, isOwn, r.now)
	if err != nil {
		return err
	}
	r.report.Deleted, r.report.DeletedBytes = int64(len(garbage.Refs())), garbage.Bytes()
	if r.o.DryRun || r.report.Deleted == 0 {
		return nil
	}
	return r.table.Delete(ctx, garbage)
}
