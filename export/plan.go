package export

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"logstow/catalog"
	"logstow/compaction"
	"logstow/export/delta"
)

// appPrefix begins the names of the applications of transactions.
const appPrefix = "logstow/"

// appOf returns the name under which the table records how much of a chain it has.
func appOf(scope catalog.Scope) string {
	class := scope.Class
	if class == "" {
		class = "-"
	}
	return appPrefix + scope.Service + "/" + scope.Day.Format("2006/01/02") + "/" + class
}

// rejectedOf returns that for the number of rejected outputs among those that the table has.
func rejectedOf(app string) string { return app + "/rejected" }

// sealOf returns that for a day of which nothing more is exported.
func sealOf(day time.Time) string { return appPrefix + "sealed/" + day.Format(time.DateOnly) }

// chain is what is exported of a chain.
type chain struct {
	catalog.Scope
	// units are the outputs to export, in order of generation.
	units []catalog.Segment
	// version is the generation up to which the table has the chain afterwards, rejected the number of rejected ones among these.
	version, rejected int64
	// oldVersion and oldRejected are those of the table as loaded.
	oldVersion, oldRejected int64
	// rejections are the generations of rejected outputs, ascending.
	rejections []int64
}

// cut leaves out the outputs of a generation and later ones.
func (c *chain) cut(generation int) {
	c.units = slices.DeleteFunc(c.units, func(s catalog.Segment) bool { return s.Name.Output() >= generation })
	c.setVersion()
}

// setVersion sets version and rejected by the units. Rejected outputs between them and after them count as exported.
func (c *chain) setVersion() {
	c.version, c.rejected = c.oldVersion, c.oldRejected
	if n := len(c.units); n > 0 {
		c.version = int64(c.units[n-1].Name.Output())
		c.rejected = 0
		for _, g := range c.rejections {
			if g <= c.version {
				c.rejected++
			}
		}
	}
}

// datePlan is what is exported of a day.
type datePlan struct {
	day    time.Time
	chains []*chain
	// rebuild is set if the day is written anew: its files are replaced.
	rebuild bool
}

func (d *datePlan) units() (n int) {
	for _, c := range d.chains {
		n += len(c.units)
	}
	return n
}

// planner decides what to export.
type planner struct {
	run   *run
	table *delta.Snapshot
	// days are those with something to export.
	days map[time.Time]*datePlan
	// rebuild has the days that are to be written anew.
	rebuild map[time.Time]bool
	// sealed caches whether nothing more is exported of a day; withFiles has the days of which the table has files.
	sealed    map[time.Time]bool
	withFiles map[string]bool
}

// plan lists the store and decides what to export, given the state of the table.
func (r *run) plan(ctx context.Context, table *delta.Snapshot) ([]*datePlan, error) {
	p := &planner{
		run: r, table: table, days: make(map[time.Time]*datePlan), rebuild: make(map[time.Time]bool),
		sealed: make(map[time.Time]bool), withFiles: make(map[string]bool),
	}
	for _, f := range table.Files {
		p.withFiles[f.PartitionValues[dateColumn]] = true
	}
	services, err := r.catalog.Services(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot list services: %w", err)
	}
	r.report.Services = len(services)
	r.o.Progress.Services.Store(int64(len(services)))
	r.o.Progress.Listed.Store(0)
	r.report.Waiting, r.report.WaitingToday, r.report.Left, r.report.Sealed = 0, 0, 0, 0
	from, to := r.bounds()
	for _, service := range services {
		err := r.catalog.Walk(ctx, service, from, to, compaction.InChain, func(d *catalog.Day) error { return p.visit(ctx, d) })
		if err != nil {
			return nil, fmt.Errorf("cannot list service %s: %w", service, err)
		}
		r.o.Progress.Listed.Add(1)
	}
	for _, at := range slices.SortedFunc(maps.Keys(p.rebuild), time.Time.Compare) {
		if err := p.replan(ctx, at, services); err != nil {
			return nil, err
		}
	}
	for _, sealed := range p.sealed {
		if sealed {
			r.report.Sealed++
		}
	}
	days := slices.Collect(maps.Values(p.days))
	slices.SortFunc(days, func(a, b *datePlan) int { return a.day.Compare(b.day) })
	return days, nil
}

// bounds returns the days that are examined: those that ended less than MaxAge ago, and are not past Keep.
func (r *run) bounds() (from, to time.Time) {
	age := r.o.MaxAge
	if r.o.Keep > 0 {
		age = min(age, r.o.Keep)
	}
	return r.now.Add(-age).Truncate(day), r.now.Truncate(day).Add(day)
}

// visit plans a day of a service.
func (p *planner) visit(ctx context.Context, d *catalog.Day) error {
	chains := compaction.Chains(d)
	if err := p.countWaiting(ctx, chains); err != nil {
		return err
	}
	if p.isSealed(d.Day) {
		return nil
	}
	for _, c := range chains {
		app := appOf(c.Scope)
		version, rejected := p.table.Txn(app), p.table.Txn(rejectedOf(app))
		found, err := p.chain(ctx, c, version, rejected)
		if err != nil {
			return err
		}
		if version > 0 && isWhole(c, version) && rejectedUpTo(found.rejections, version) > rejected {
			p.rebuild[d.Day] = true
		}
		if len(found.units) > 0 {
			p.day(d.Day).chains = append(p.day(d.Day).chains, found)
		}
	}
	return nil
}

func (p *planner) day(at time.Time) *datePlan {
	if p.days[at] == nil {
		p.days[at] = &datePlan{day: at}
	}
	return p.days[at]
}

// chain returns what to export of a chain, after a generation.
func (p *planner) chain(ctx context.Context, c *compaction.Chain, version, rejected int64) (*chain, error) {
	found := &chain{Scope: c.Scope, oldVersion: version, oldRejected: rejected}
	for _, o := range c.Outputs {
		if o.Rejected {
			found.rejections = append(found.rejections, int64(o.Name.Output()))
		}
	}
	next := version + 1
	for _, o := range c.Outputs {
		generation := int64(o.Name.Output())
		if generation < next {
			continue
		}
		if generation > next { // retention is deleting the day, or the listing is not complete
			p.run.report.Left++
			break
		}
		next++
		if o.Rejected {
			continue
		}
		if o.Err != nil {
			p.run.damaged(o.Segment, o.Err)
			break
		}
		if p.run.excluded[o.Ref()] {
			break
		}
		found.units = append(found.units, o.Segment)
	}
	if len(found.units) > 0 {
		shared, err := p.share(ctx, c)
		if err != nil {
			return nil, err
		}
		if shared { // retention is deleting the day
			p.run.report.Left++
			found.units = nil
		}
	}
	found.setVersion()
	return found, nil
}

// share reports whether outputs of a chain have inputs in common. That is possible only while retention deletes the day.
func (p *planner) share(ctx context.Context, c *compaction.Chain) (bool, error) {
	var outputs []catalog.Output
	var segments []catalog.Segment
	for _, o := range c.Outputs {
		if !o.Rejected && o.Err == nil {
			outputs = append(outputs, o)
			segments = append(segments, o.Segment)
		}
	}
	for _, i := range catalog.MayShare(segments) {
		if err := p.run.catalog.ReadInputs(ctx, &outputs[i]); err != nil {
			return false, err
		}
	}
	return len(catalog.Shared(outputs)) > 0, nil
}

// isWhole reports whether the outputs of a chain up to a generation are listed: retention deletes the first ones first.
func isWhole(c *compaction.Chain, version int64) bool {
	for i := range version {
		if int(i) >= len(c.Outputs) || int64(c.Outputs[i].Name.Output()) != i+1 {
			return false
		}
	}
	return true
}

func rejectedUpTo(rejections []int64, version int64) (n int64) {
	for _, g := range rejections {
		if g <= version {
			n++
		}
	}
	return n
}

// replan plans a day anew, with all outputs of all services: one that is in the table was rejected.
func (p *planner) replan(ctx context.Context, at time.Time, services []string) error {
	d := &datePlan{day: at, rebuild: true}
	whole := true
	for _, service := range services {
		err := p.run.catalog.Walk(ctx, service, at, at.Add(day), compaction.InChain, func(listed *catalog.Day) error {
			for _, c := range compaction.Chains(listed) {
				app := appOf(c.Scope)
				version, rejected := p.table.Txn(app), p.table.Txn(rejectedOf(app))
				found, err := p.chain(ctx, c, 0, 0)
				if err != nil {
					return err
				}
				whole = whole && isWhole(c, version) && (len(found.units) == 0 || found.version >= version)
				found.oldVersion, found.oldRejected = version, rejected
				found.version = max(found.version, version)
				found.rejected = rejectedUpTo(found.rejections, found.version)
				if len(c.Outputs) > 0 {
					d.chains = append(d.chains, found)
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("cannot list service %s: %w", service, err)
		}
	}
	if !whole {
		p.run.problem(fmt.Errorf("cannot write %s anew, of which a rejected output is in the table: not all of its outputs can be read",
			at.Format(time.DateOnly)))
		delete(p.days, at)
		return nil
	}
	p.days[at] = d
	return nil
}

// isSealed reports whether the table may have records of a day and not know any more which.
func (p *planner) isSealed(at time.Time) bool {
	sealed, known := p.sealed[at]
	if known {
		return sealed
	}
	sealed = p.table.Txn(sealOf(at)) > 0
	if age, ok := recordedAge(p.table); ok && at.Add(day).Before(p.run.now.Add(-age)) {
		sealed = sealed || p.withFiles[at.Format(time.DateOnly)]
	}
	p.sealed[at] = sealed
	return sealed
}

// recordedAge returns the maximum age of the days of which the table knows what it has; not ok if it is unlimited.
func recordedAge(table *delta.Snapshot) (time.Duration, bool) {
	keep, ok := table.Retention(delta.TxnRetention, 0)
	return keep - txnMargin, ok && keep > 0
}

// countWaiting counts the segments that no output contains.
func (p *planner) countWaiting(ctx context.Context, chains []*compaction.Chain) error {
	for _, c := range chains {
		places, err := p.run.catalog.Places(ctx, c.Plain, c.Outputs)
		if err != nil {
			return err
		}
		for _, place := range places {
			switch {
			case place.Contained():
			case c.Day.Add(day).After(p.run.now):
				p.run.report.WaitingToday++
			default:
				p.run.report.Waiting++
			}
		}
	}
	return nil
}

// damaged reports an output that cannot be exported.
func (r *run) damaged(s catalog.Segment, err error) {
	ref := s.Ref()
	if r.excluded[ref] {
		return
	}
	r.excluded[ref] = true
	r.report.Damaged = append(r.report.Damaged, s.Name.String())
	r.problem(fmt.Errorf("cannot export %s, nor later outputs of its day and class: %w", s.Name, err))
}

// compareUnits is the order of rows in data files: services, then times.
func compareUnits(a, b catalog.Segment) int {
	return cmp.Or(cmp.Compare(a.Name.Service, b.Name.Service), cmp.Compare(a.Meta.Start, b.Meta.Start), catalog.CompareNames(a, b))
}
