package main

import (
	"fmt"
	"sync/atomic"
	"time"

	"logstow/internal/progress"
	"logstow/internal/units"
	"logstow/query"
)

// queryProgress shows the progress of a query on standard error, if that is a terminal. The
// zero value shows nothing.
type queryProgress struct {
	matches atomic.Int64         // found so far
	plan    atomic.Pointer[scan] // nil while the plan is made
	stop    func()               // nil where nothing is shown
}

// scan is the scan of the plan, once there is one.
type scan struct {
	bound  query.Bound
	start  time.Time
	before int64 // bytes that were done already
}

// watch starts to show the progress of a query.
func (p *queryProgress) watch(env *environment, q *query.Query) {
	p.stop = env.line.Start(func() string { return p.text(q.Progress()) })
}

// planned sets the plan to be read.
func (p *queryProgress) planned(q *query.Query, plan *query.Plan) {
	p.plan.Store(&scan{q.Bound(plan), time.Now(), q.Progress().Bytes})
}

// text is the current progress.
func (p *queryProgress) text(now query.Progress) string {
	r := p.plan.Load()
	if r == nil {
		return fmt.Sprintf("listing: %s so far", units.Count(now.Listed, "blob"))
	}
	done := now.Bytes - r.before
	if now.Decoded > 0 { // what is stored may be little of it
		return fmt.Sprintf("%s, %s decoded, %.1fM lines", bytesBar(done, r.bound.Bytes), units.FormatSize(now.Decoded),
			float64(now.Lines)/1e6)
	}
	return progressText(done, now.Segments, p.matches.Load(), r.bound, time.Since(r.start))
}

// end stops it and clears the line.
func (p *queryProgress) end() {
	if p.stop != nil {
		p.stop()
	}
}

// bytesBar is the bar with the bytes done and all bytes.
func bytesBar(done, all int64) string {
	return fmt.Sprintf("%s  %s of %s", progress.Bar(done, all), units.FormatSize(min(done, all)), units.FormatSize(all))
}

// progressText is the progress of reading a plan.
func progressText(done, segments, matches int64, bound query.Bound, took time.Duration) string {
	text := fmt.Sprintf("%s, %d of %s", bytesBar(done, bound.Bytes), min(segments, int64(bound.Segments)),
		units.Count(bound.Segments, "segment"))
	if matches > 0 {
		text += fmt.Sprintf(", %d found", matches)
	}
	if share := progress.Share(done, bound.Bytes); share > 0 && share < 1 {
		left := time.Duration(float64(took) * (1 - share) / share).Round(time.Second)
		text += fmt.Sprintf(", %v left", left)
	}
	return text
}
