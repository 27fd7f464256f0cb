package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"logstow/blobnaming"
	"logstow/query"
	"logstow/query/output"
	"logstow/store"
)

const (
	// followInterval is the default interval between polls.
	followInterval = 2 * time.Second
	// minInterval is the minimum interval between polls.
	minInterval = 100 * time.Millisecond
	// followWindow is the default age up to which a poll looks for new segments: records
	// that arrive later are not printed.
	followWindow = 2 * time.Hour
	// followLate is the age relative to the records printed by earlier polls from which a
	// record is marked as late: shippers flush every minute, each at its own time.
	followLate = 2 * time.Minute
)

// followEnd is the end of the range of a poll at now: at least an hour ahead, for clocks
// that are ahead, and the end of an hour, which no segment crosses. A wider range would
// cost each poll many more requests.
func followEnd(now time.Time) time.Time {
	return now.Truncate(time.Hour).Add(2 * time.Hour)
}

// following is the state between polls.
type following struct {
	*request
	out *output.Writer
	// seen are the batches that were read, newest the latest time printed.
	seen map[blobnaming.Batch]bool
	// inputs are the batches that each output of compaction contains, by the output's.
	inputs  map[blobnaming.Batch][]blobnaming.Batch
	newest  int64
	left    int // of the limit
	spent   query.Report
	printed map[string]bool
}

// followNew prints the records of the given range, or the last of them, then those of new
// segments, until ctx ends. Segments are identified by their batch. Records are ordered by
// time within a poll; late records come with a later poll, marked.
func (r *request) followNew(ctx context.Context, stores []query.Store, q *query.Query, out *output.Writer) error {
	f := &following{request: r, out: out, seen: map[blobnaming.Batch]bool{}, inputs: map[blobnaming.Batch][]blobnaming.Batch{}, left: r.sel.Limit, printed: map[string]bool{}}
	f.once("following: the segments of the last %s are listed every %s; a record shows when its segment is shipped, and not at all where that is later, or it is dated more than an hour ahead",
		short(r.window), short(r.interval))
	ticker := time.NewTicker(r.interval)
	defer ticker.Stop()
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
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
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
	now := make(map[blobnaming.Batch]bool, len(p.Segments))
	printed := map[*query.Segment]bool{}
	fresh := &query.Plan{}
	for _, s := range p.Segments {
		unseen := f.unseen(ctx, q, s, now)
		if unseen != nil && (!first || f.ranged || f.tail > 0) {
			fresh.Segments = append(fresh.Segments, unseen)
		}
	}
	newest := f.newest
	emit := func(m query.Match) error {
		f.left--
		printed[m.Segment] = true
		newest = max(newest, m.Time)
		if f.newest > 0 && m.Time < f.newest-int64(followLate) {
			return f.out.WriteLate(m)
		}
		return f.out.Write(m)
	}
	if first && f.tail > 0 {
		err = f.printTail(ctx, q, fresh, emit)
	} else {
		err = q.Run(ctx, fresh, emit)
	}
	f.newest = newest
	f.reasons = nil
	if first && err == nil {
		f.warnFuture(p)
		if len(printed) == 0 && (f.ranged || f.tail > 0 || len(p.Segments) == 0) {
			err = f.explainNone(ctx, q, p)
		}
	}
	report := q.Report()
	f.spent.BytesStoredRead += report.BytesStoredRead
	f.spent.CostUSD += report.CostUSD
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
	// A failed request is retried by the next poll, unless a part is printed.
	for _, s := range fresh.Segments {
		if !printed[s] && report.Retryable(s) {
			for _, batch := range f.batches(s) {
				delete(now, batch)
			}
		}
	}
	// A failed poll may have missed segments that were seen: they stay seen.
	for batch := range f.seen {
		now[batch] = now[batch] || len(report.Problems) > 0
	}
	f.seen = now
	return nil
}

// unseen is what of a segment was not read yet, nil if that is nothing, and adds its batches to now. An
// output of compaction is read without the inputs that were read before.
func (f *following) unseen(ctx context.Context, q *query.Query, s *query.Segment, now map[blobnaming.Batch]bool) *query.Segment {
	if s.Meta.IsOutput() && f.inputs[s.Meta.Batch] == nil {
		f.inputs[s.Meta.Batch] = q.Inputs(ctx, s)
	}
	batches := f.batches(s)
	read := make(map[int]bool)
	for i, batch := range batches {
		now[batch] = true
		if f.seen[batch] {
			read[i] = true
		}
	}
	switch {
	case len(read) == len(batches):
		return nil
	case s.Meta.IsOutput():
		return s.Without(read)
	}
	return s
}

// batches are those that identify what a segment contains: its inputs' if it is an output of compaction.
func (f *following) batches(s *query.Segment) []blobnaming.Batch {
	if s.Meta.IsOutput() {
		return f.inputs[s.Meta.Batch]
	}
	return []blobnaming.Batch{s.Meta.Batch}
}

// next is the query for new segments, after q. Limits of bytes and cost apply to all polls together.
func (f *following) next(stores []query.Store, q *query.Query) (*query.Query, error) {
	sel, opts := f.sel, f.opts
	now := f.env.now()
	if from := now.Add(-f.window); from.After(sel.From) {
		sel.From = from
	}
	sel.To = followEnd(now)
	if f.sel.Limit > 0 {
		sel.Limit = f.left
	}
	opts.MaxBytes -= f.spent.BytesStoredRead
	opts.MaxCost -= f.spent.CostUSD
	if f.opts.MaxBytes > 0 && opts.MaxBytes <= 0 || f.opts.MaxCost > 0 && opts.MaxCost <= 0 {
		return nil, query.ErrBudget
	}
	opts.MaxBytes, opts.MaxCost = max(0, opts.MaxBytes), max(0, opts.MaxCost)
	q, err := q.Over(stores, opts)
	if err != nil {
		return nil, err
	}
	return q.With(sel)
}

// printCost prints once, after a poll that found nothing new, what polling costs.
func (f *following) printCost(q *query.Query, stores []query.Store) {
	report := q.Report()
	if report.Requests.Get > 0 {
		return
	}
	cost := report.CostUSD * float64(24*time.Hour/f.interval)
	for _, s := range stores {
		if !s.Free && !f.printed["cost"] {
			f.printed["cost"] = true
			f.env.printf("polling costs about $%.2f a day; --follow-interval and --follow-window change that", cost)
		}
	}
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
