// Package inflight limits the requests in flight to a store by additive increase and multiplicative decrease.
package inflight

import (
	"context"
	"errors"
	"sync"
	"time"

	"logstow/store"
)

// Options configure a [Limiter].
type Options struct {
	// First is the initial limit, Max the highest limit; both are at least 1, and First is at most Max.
	First, Max int
	// Latency also halves the limit, to no less than First, if requests take more than twice as long as when fewer were in
	// flight, and no more of them are answered in the same time. It is for requests of similar size.
	Latency bool
}

// Limiter limits requests in flight. The limit grows by one with every response until it is lowered for the first time,
// afterwards with every round of as many responses as the limit, and only while that many requests are in flight. It is
// halved when storage throttles, and as Options.Latency says. Safe for concurrent use. A nil Limiter has no limit.
type Limiter struct {
	opts  Options
	slots chan struct{}

	mu    sync.Mutex
	limit int
	// excess is the number of slots in use to drop at release, because the limit was lowered.
	excess int
	// lowered counts how often the limit was lowered.
	lowered int
	// inFlight is the number of requests in flight.
	inFlight int
	round    round
	// latency is the shortest mean latency of a round since the limit was last First, rate the responses per second of the
	// last round; 0 if unknown.
	latency time.Duration
	rate    float64
}

// round is a number of responses, as many as the limit was at its start.
type round struct {
	size, responses int
	began           time.Time
	took            time.Duration // sum
	// most is the highest number of requests in flight.
	most int
}

// Request is a request in flight.
type Request struct {
	began   time.Time
	lowered int
}

// New returns a Limiter.
func New(opts Options) *Limiter {
	l := &Limiter{opts: opts, slots: make(chan struct{}, opts.Max), limit: opts.First, round: round{size: opts.First}}
	for range opts.First {
		l.slots <- struct{}{}
	}
	return l
}

// Limit returns the current limit.
func (l *Limiter) Limit() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limit
}

// Acquire waits until a request may be made, or ctx ends. The caller must pass the Request to Release.
func (l *Limiter) Acquire(ctx context.Context) (Request, error) {
	if l == nil {
		return Request{}, nil
	}
	select {
	case <-l.slots:
	case <-ctx.Done():
		return Request{}, context.Cause(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.inFlight++
	l.round.most = max(l.round.most, l.inFlight)
	if l.round.began.IsZero() {
		l.round.began = now
	}
	return Request{began: now, lowered: l.lowered}, nil
}

// Release ends a request with its result. Requests that are in flight when the limit is lowered do not lower it again.
func (l *Limiter) Release(r Request, result error) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight--
	switch {
	case r.lowered != l.lowered:
	case errors.Is(result, store.ErrThrottled):
		l.lower(1)
	case !store.Retryable(result):
		l.answered(time.Now(), r)
	}
	l.free()
}

// answered counts a response, and changes the limit.
func (l *Limiter) answered(now time.Time, r Request) {
	l.round.responses++
	l.round.took += now.Sub(r.began)
	full := l.round.most >= l.round.size
	ended := l.round.responses >= l.round.size
	if ended {
		congested := l.endRound(now)
		if congested && full && l.limit > l.opts.First {
			l.lower(l.opts.First)
			return
		}
	}
	if full && l.limit < l.opts.Max && (ended || l.lowered == 0) {
		l.limit++
		l.free()
	}
	if ended {
		l.round = round{size: l.limit, began: now, most: l.inFlight}
	}
}

// endRound updates latency and rate. It reports whether requests took longer than before, without a higher rate.
func (l *Limiter) endRound(now time.Time) (congested bool) {
	if !l.opts.Latency {
		return false
	}
	mean := l.round.took / time.Duration(l.round.responses)
	rate := float64(l.round.responses) / max(now.Sub(l.round.began), time.Microsecond).Seconds()
	// A tenth is noise.
	congested = l.latency > 0 && mean > 2*l.latency && rate < 1.1*l.rate
	if l.latency == 0 || mean < l.latency || l.limit <= l.opts.First {
		l.latency = mean
	}
	l.rate = rate
	return congested
}

// lower halves the limit, to no less than a minimum.
func (l *Limiter) lower(minimum int) {
	less := max(0, min(l.limit/2, l.limit-minimum))
	l.limit -= less
	l.excess += less
	l.lowered++
	l.round = round{size: l.limit, most: l.inFlight}
}

// free frees a slot, or drops it if the limit was lowered.
func (l *Limiter) free() {
	if l.excess > 0 {
		l.excess--
		return
	}
	l.slots <- struct{}{}
}
