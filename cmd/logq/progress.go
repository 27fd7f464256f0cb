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
	// progressAfter is the time until progress is shown, progressEvery the interval at
	// which it is drawn.
	progressAfter = time.Second
	progressEvery = 200 * time.Millisecond
	// progressBar is the number of columns of the bar.
	progressBar = 20
)

// progress shows the progress of a query on standard error, if that is a terminal. The
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

// scan is the scan of the plan, once there is one.
type scan struct {
	bound  query.Bound
	start  time.Time
	before int64 // bytes that were done already
}

// watch starts to show the progress of a query.
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
				p.above(env, func() {})
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

// above clears the progress and calls print, which writes to the terminal.
func (p *progress) above(env *environment, print func()) {
	p.drawing.Lock()
	defer p.drawing.Unlock()
	if p.drawn {
		fmt.Fprint(env.stderr, "\r\x1b[K")
	}
	p.drawn = false
	print()
}

// planned sets the plan to be read.
func (p *progress) planned(q *query.Query, plan *query.Plan) {
	p.plan.Store(&scan{q.Bound(plan), time.Now(), q.Progress().Bytes})
}

// line is the current text.
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

// end stops it and clears the line.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended && p.stop != nil {
		close(p.stop)
	}
	p.ended = true
	p.done.Wait()
}

// share is the fraction of all bytes that are done.
func share(done, all int64) float64 {
	if all == 0 {
		return 1
	}
	return min(1, float64(done)/float64(all))
}

// bar is the bar with the bytes done and all bytes, in ASCII.
func bar(done, all int64) string {
	part := share(done, all)
	full := int(part * progressBar)
	return fmt.Sprintf("[%s%s] %3.0f%%  %s of %s", strings.Repeat("=", full), strings.Repeat(" ", progressBar-full), part*100, query.Size(min(done, all)), query.Size(all))
}

// progressLine is the text to draw, in ASCII.
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
