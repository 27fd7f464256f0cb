package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"logstow/blobnaming"
	"logstow/internal/units"
	"logstow/query"
)

const (
	// overdueInterval is the interval at which following looks for records that came too late to be printed.
	overdueInterval = 10 * time.Minute
	// overdueAge is the age, beyond the window, up to which it finds them.
	overdueAge = 24 * time.Hour
)

// overdue finds the segments that are stored later than the window of following, by the time at which storage wrote them.
type overdue struct {
	began time.Time // of the last look
	// since is storage's time of the newest segments of the looks so far, newest are their batches; nil is unknown.
	since   time.Time
	newest  map[blobnaming.Batch]bool
	running bool
	results chan overdueLook
	all     sync.WaitGroup
}

// overdueLook is the result of a look.
type overdueLook struct {
	found  []*query.Segment
	latest time.Time
	before int64 // the beginning of the window
	report query.Report
	err    error
}

// lookForOverdue looks for segments that are stored too late, at the interval, without waiting. What the last look found is
// reported.
func (f *following) lookForOverdue(ctx context.Context, stores []query.Store, q *query.Query) {
	o := &f.overdue
	select {
	case look := <-o.results:
		o.running = false
		f.spent.Add(look.report)
		complete := look.err == nil && len(look.report.Problems) == 0
		if complete && o.newest != nil {
			f.reportOverdue(&look)
		}
		// After one that failed the next only learns what there is: what was printed meanwhile may be forgotten. Compaction removes the
		// newest segments: what was stored before an earlier look is not looked at again for that.
		switch {
		case !complete:
			o.newest = nil
		case o.newest == nil || !look.latest.Before(o.since):
			o.newest, o.since = map[blobnaming.Batch]bool{}, look.latest
			for _, s := range look.found {
				if s.Created.Equal(look.latest) {
					o.newest[s.Meta.Batch] = true
				}
			}
		}
	default:
	}
	now := f.env.now()
	if f.opts.Plan == query.PlanIndex || o.running || !o.began.IsZero() && now.Sub(o.began) < overdueInterval {
		return
	}
	sel := f.sel
	sel.To = now.Add(-f.window)
	sel.From = sel.To.Add(-overdueAge)
	q, err := f.again(stores, q, sel)
	if err != nil { // nothing is left of a limit: the selection and the plan were accepted before
		return
	}
	o.began, o.running = now, true
	since, first := o.since, o.newest == nil
	o.all.Go(func() {
		look := overdueLook{before: sel.To.UnixNano()}
		if first {
			_, since, look.err = q.StoredSince(ctx, now.AddDate(1000, 0, 0))
		}
		if look.err == nil {
			look.found, look.latest, look.err = q.StoredSince(ctx, since)
		}
		look.report = q.Report()
		o.results <- look
	})
}

// reportOverdue reports what a look found that no poll has printed.
func (f *following) reportOverdue(look *overdueLook) {
	var segments int
	var records uint64
	var first, last int64
	for _, s := range look.found {
		if s.Meta.End >= look.before || f.overdue.newest[s.Meta.Batch] || f.Seen(s) {
			continue
		}
		if segments++; segments == 1 {
			first, last = s.Meta.Start, s.Meta.End
		}
		records += s.Meta.Records
		first, last = min(first, s.Meta.Start), max(last, s.Meta.End)
	}
	if segments == 0 {
		return
	}
	from := time.Unix(0, first).UTC().Truncate(time.Second)
	to := time.Unix(0, last).UTC().Truncate(time.Second).Add(time.Second)
	f.env.printf("not printed: %s of %s, stored more than %s after their time (counted before conditions on records)",
		units.Count(records, "record"), units.Count(segments, "segment"), units.FormatDuration(f.window)) //nolint:gosec // far fewer
	f.env.hint(fmt.Sprintf("logq query --from %s --to %s finds them; a longer --follow-window prints such records",
		from.Format(time.RFC3339), to.Format(time.RFC3339)))
}
