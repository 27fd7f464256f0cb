package main

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"logstow/query"
)

const (
	// progressAfter is how long a query runs before its progress is shown, and
	// progressEvery how often it is drawn anew.
	progressAfter = time.Second
	progressEvery = 200 * time.Millisecond
	// progressBar is the number of columns of the bar.
	progressBar = 20
)

// progress shows on a terminal's standard error how far a query has come. The
// zero value shows nothing. Safe for concurrent use.
type progress struct {
	matches atomic.Int64         // found so far
	plan    atomic.Pointer[scan] // nil while the plan is made

	mu    sync.Mutex
	ended bool
	stop  chan struct{} // nil where nothing is shown
	done  sync.WaitGroup

	drawing sync.Mutex
	drawn   bool // a line is on the terminal
}

// scan is what began when there was a plan.
type scan struct {
	bound  query.Bound
	start  time.Time
	before int64 // bytes that were done already
}

// watch starts to show how far a query has come.
func (p *progress) watch(env *environment, q *query.Query) {
	if !env.err.terminal() || env.getenv("TERM") == "dumb" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.stop = make(chan struct{})
	p.done.Go(func() {
		timer := time.NewTimer(progressAfter)
		defer timer.Stop()
		for {
			select {
			case <-p.stop:
				p.aside(env, func() {})
				return
			case <-timer.C:
				timer.Reset(progressEvery)
			}
			line := p.line(q.Progress())
			p.drawing.Lock()
			p.drawn = true
			fmt.Fprintf(env.stderr, "\r%s\x1b[K", line[:min(len(line), env.err.columns-1)])
			p.drawing.Unlock()
		}
	})
}

// aside prints something else to the terminal.
func (p *progress) aside(env *environment, print func()) {
	p.drawing.Lock()
	defer p.drawing.Unlock()
	if p.drawn {
		fmt.Fprint(env.stderr, "\r\x1b[K")
	}
	p.drawn = false
	print()
}

// planned says what there is to read.
func (p *progress) planned(q *query.Query, plan *query.Plan) {
	p.plan.Store(&scan{q.Bound(plan), time.Now(), q.Progress().Bytes})
}

// line is what is shown now.
func (p *progress) line(now query.Progress) string {
	r := p.plan.Load()
	if r == nil {
		return fmt.Sprintf("listing: %d blobs so far", now.Listed)
	}
	done := now.Bytes - r.before
	if now.Decoded > 0 { // what is stored may be little of it
		return fmt.Sprintf("%s, %s decoded, %.1fM lines", bar(done, r.bound.Bytes), query.Size(now.Decoded), float64(now.Lines)/1e6)
	}
	return progressLine(done, now.Segments, p.matches.Load(), r.bound, time.Since(r.start))
}

// end ends it, and leaves the line empty.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended && p.stop != nil {
		close(p.stop)
	}
	p.ended = true
	p.done.Wait()
}

// share is how much of all bytes are done.
func share(done, all int64) float64 {
	if all == 0 {
		return 1
	}
	return min(1, float64(done)/float64(all))
}

// bar is the bar and how many of all bytes are done, in ASCII.
func bar(done, all int64) string {
	part := share(done, all)
	full := int(part * progressBar)
	return fmt.Sprintf("[%s%s] %3.0f%%  %s of %s", strings.Repeat("=", full), strings.Repeat(" ", progressBar-full), part*100, query.Size(min(done, all)), query.Size(all))
}

// progressLine is what is shown, in ASCII.
func progressLine(done, segments, matches int64, bound query.Bound, took time.Duration) string {
	part := share(done, bound.Bytes)
	line := fmt.Sprintf("%s, %d of %d segments", bar(done, bound.Bytes), min(segments, int64(bound.Segments)), bound.Segments)
	if matches > 0 {
		line += fmt.Sprintf(", %d found", matches)
	}
	if part > 0 && part < 1 {
		left := time.Duration(float64(took) * (1 - part) / part).Round(time.Second)
		line += fmt.Sprintf(", %v left", left)
	}
	return line
}
