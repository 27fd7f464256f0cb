package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"logstow/internal/price"
	"logstow/internal/units"
	"logstow/query"
	"logstow/query/follow"
	"logstow/query/output"
	"logstow/store"
)

// followLate is the age relative to the records printed by earlier polls from which a record is marked as late: shippers flush
// every minute, each at its own time.
const followLate = 2 * time.Minute

// following is the state between polls.
type following struct {
	*request
	out *output.Writer
	follow.Follower
	newest  int64 // the latest time printed
	left    int   // of the limit
	spent   query.Report
	printed map[string]bool
	began   time.Time
	watches *watchSet
	overdue overdue
	from    time.Time // the beginning of the range of the last poll
}

// followNew prints the records of the given range, or the last of them, then those of new
// segments, until ctx ends. Records are ordered by
// time within a poll; late records come with a later poll, marked.
func (r *request) followNew(ctx context.Context, stores []query.Store, q *query.Query, out *output.Writer) error {
	f := &following{request: r, out: out, left: r.sel.Limit, printed: map[string]bool{}, began: r.env.now(), watches: &watchSet{}}
	f.once("following: records are printed when their segment is stored, except records that are stored more than %s late or dated more than an hour ahead",
		units.FormatDuration(r.window))
	if !r.noWatch {
		f.watches = newWatches(stores, r.sel)
	}
	defer f.watches.stop()
	f.Keep, f.overdue.results = 2*overdueInterval, make(chan overdueLook, 1)
	looking, cancel := context.WithCancel(ctx)
	defer f.overdue.all.Wait()
	defer cancel()
	timer := time.NewTimer(f.pollInterval())
	defer timer.Stop()
	for first := true; ; first = false {
		if err := f.poll(ctx, q, first); err != nil {
			return r.overBudget(err)
		}
		if err := out.Flush(); err != nil || r.sel.Limit > 0 && f.left <= 0 {
			return err
		}
		if !first {
			f.printCost(q, stores)
		}
		f.reportWatches()
		f.lookForOverdue(looking, stores, q)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
		}
		timer.Reset(f.pollInterval())
		var err error
		if q, err = f.next(stores, q); err != nil {
			return r.overBudget(err)
		}
	}
}

// poll prints the records of segments that were not read yet.
func (f *following) poll(ctx context.Context, q *query.Query, first bool) error {
	p, err := q.Plan(ctx)
	if err != nil {
		return err
	}
	if first {
		f.watches.start(ctx) // not before the listing: what shippers flush for them is new
	}
	printed := 0
	fresh := f.Unread(ctx, q, p)
	if first && !f.ranged && f.tail == 0 {
		fresh = f.since(fresh)
	}
	newest := f.newest
	emit := func(m query.Match) error {
		f.left--
		printed++
		f.Emitted(m.Segment)
		newest = max(newest, m.Time)
		if f.newest > 0 && m.Time < f.newest-int64(followLate) {
			return f.out.WriteLate(m)
		}
		return f.out.Write(m)
	}
	if first {
		err = f.find(ctx, q, fresh, emit)
	} else {
		err = q.Run(ctx, fresh, emit)
	}
	f.newest = newest
	f.reasons = nil
	if first && err == nil {
		f.warnFuture(p)
		if printed == 0 && (f.ranged || f.tail > 0 || len(p.Segments) == 0) {
			err = f.explainNone(ctx, q, p)
		} else {
			f.noteMissingServices(ctx, q)
		}
	}
	report := q.Report()
	f.spent.Add(report)
	if f.explain {
		f.printReport(&report)
	} else {
		f.printOnce(&report)
		if f.reasons != nil {
			f.env.printNone("no records match yet", f.reasons)
		}
	}
	if err != nil {
		return err
	}
	f.Done(&report)
	return nil
}

// since returns the segments of a plan that may have records since following began; the first listing had them.
func (f *following) since(p *query.Plan) *query.Plan {
	newer := &query.Plan{}
	for _, s := range p.Segments {
		if s.Meta.End > f.began.UnixNano() {
			newer.Segments = append(newer.Segments, s)
		}
	}
	return newer
}

// next is the query for new segments, after q.
func (f *following) next(stores []query.Store, q *query.Query) (*query.Query, error) {
	sel, now := f.sel, f.env.now()
	sel.From, sel.To = f.begin(now), follow.End(now)
	if f.sel.Limit > 0 {
		sel.Limit = f.left
	}
	return f.again(stores, q, sel)
}

// again is q for another selection, with what is left of the limits of bytes and cost, which apply to all polls together.
func (f *following) again(stores []query.Store, q *query.Query, sel query.Selection) (*query.Query, error) {
	opts := f.opts
	if opts.MaxBytes > 0 {
		if opts.MaxBytes -= f.spent.BytesStoredRead; opts.MaxBytes <= 0 {
			return nil, query.ErrBudget
		}
	}
	if opts.MaxCost > 0 {
		if opts.MaxCost -= f.spent.CostUSD; opts.MaxCost <= 0 {
			return nil, query.ErrBudget
		}
	}
	q, err := q.Over(stores, opts)
	if err != nil {
		return nil, err
	}
	return q.With(sel)
}

// begin is the beginning of the range of a poll. It never goes back with the clock, because what ended before it is forgotten; only a
// clock that was ahead by more than the window, so that nothing would be found, begins anew.
func (f *following) begin(now time.Time) time.Time {
	from := now.Add(-f.window)
	if from.Before(f.sel.From) {
		from = f.sel.From
	}
	if f.from.After(from) && f.from.Before(now) {
		from = f.from
	}
	f.from = from
	return from
}

// printCost prints what polling costs, once for each interval between polls.
func (f *following) printCost(q *query.Query, stores []query.Store) {
	if _, counted, some, _ := f.watches.status(); some && !counted ||
		!slices.ContainsFunc(stores, func(s query.Store) bool { return !s.Free }) {
		return
	}
	report, interval := q.Report(), f.pollInterval()
	listing := min(report.CostUSD, f.opts.Prices.OrDefault().Cost(price.Usage{List: report.Requests.List}))
	f.onceAs(fmt.Sprintf("cost every %v", interval), fmt.Sprintf("polling every %s costs about $%.2f per hour; a longer --follow-interval or a shorter --follow-window costs less",
		units.FormatDuration(interval), listing*float64(time.Hour)/float64(interval)))
}

// once prints something the first time.
func (f *following) once(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	f.onceAs(line, line)
}

// onceAs prints a line the first time for its key.
func (f *following) onceAs(key, line string) {
	if !f.printed[key] {
		f.printed[key] = true
		f.env.printf("%s", line)
	}
}

// printOnce prints each problem and note once. The text of a problem differs with each
// poll by the request's id.
func (f *following) printOnce(report *query.Report) {
	for _, p := range report.Problems {
		line := p.Error()
		key := line
		if e := (*store.Error)(nil); errors.As(p, &e) && e.RequestID != "" {
			key = strings.ReplaceAll(line, e.RequestID, "")
		}
		f.onceAs(key, line)
	}
	for _, note := range append(f.notes, report.Notes...) {
		f.once("%s", note)
	}
}
