package main

import (
	"context"
	"time"

	"logstow/blobnaming"
	"logstow/query"
	"logstow/query/output"
)

const (
	// followInterval is the time between two looks.
	followInterval = 2 * time.Second
	// followWindow is how far back each looks for new segments: records that are
	// shipped later than that are not seen.
	followWindow = 2 * time.Hour
)

// followEnd is the end of the range of a look at now: an hour ahead at least,
// for clocks that are, and the end of an hour, as no segment crosses that: what
// is dated after it is seen in whole segments later. A wider range would cost
// each look many more requests.
func followEnd(now time.Time) time.Time {
	return now.Truncate(time.Hour).Add(2 * time.Hour)
}

// followNew prints what a given range holds, then what new segments hold, until
// ctx ends. Segments are told apart by their batch. Within a look the order is that
// of time; what comes late comes in a later one.
func (r *request) followNew(ctx context.Context, stores []query.Store, q *query.Query, out *output.Writer) error {
	left := r.sel.Limit
	seen := map[blobnaming.Batch]bool{}
	said := map[string]bool{}
	first := true
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	for {
		p, err := q.Plan(ctx)
		if err != nil {
			return err
		}
		now := make(map[blobnaming.Batch]bool, len(p.Segments))
		printed := map[*query.Segment]bool{}
		fresh := &query.Plan{}
		for _, s := range p.Segments {
			now[s.Meta.Batch] = true
			if !seen[s.Meta.Batch] && (!first || r.ranged) {
				fresh.Segments = append(fresh.Segments, s)
			}
		}
		err = q.Run(ctx, fresh, func(m query.Match) error {
			left--
			printed[m.Segment] = true
			return out.Write(m)
		})
		report := q.Report()
		if r.explain {
			r.tell(&report)
		} else {
			r.tellOnce(&report, said)
		}
		if err != nil {
			return err
		}
		if r.sel.Limit > 0 && left <= 0 {
			return nil
		}
		// Where storage did not answer it is asked again, unless a part is printed.
		for _, s := range fresh.Segments {
			if !printed[s] && report.Unanswered(s) {
				delete(now, s.Meta.Batch)
			}
		}
		// A look that failed may have missed segments that were seen: they stay so.
		for batch := range seen {
			now[batch] = now[batch] || len(report.Problems) > 0
		}
		seen, first = now, false
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
		if q, err = r.nextLook(stores, left); err != nil {
			return err
		}
	}
}

// nextLook is the query for new segments.
func (r *request) nextLook(stores []query.Store, left int) (*query.Query, error) {
	sel := r.sel
	now := r.env.now()
	if from := now.Add(-followWindow); from.After(sel.From) {
		sel.From = from
	}
	sel.To = followEnd(now)
	sel.Limit = left
	if r.sel.Limit == 0 {
		sel.Limit = 0
	}
	return newQuery(stores, sel, r.opts)
}

// tellOnce says each problem and note once.
func (r *request) tellOnce(report *query.Report, said map[string]bool) {
	var lines []string
	for _, p := range report.Problems {
		lines = append(lines, p.Error())
	}
	for _, line := range append(append(lines, r.notes...), report.Notes...) {
		if !said[line] {
			said[line] = true
			r.env.say("%s", line)
		}
	}
}
