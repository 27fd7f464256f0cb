package ship

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"logstow/store"
)

// Backoff is the wait between tries: it starts at Min and doubles up to Max, and
// is drawn from its upper half. What storage refuses waits Max at once. A longer
// wait that storage asks for is kept, up to [MaxRetryAfter]. Zero fields are half
// a second and one minute.
type Backoff struct {
	Min, Max time.Duration
}

// MaxRetryAfter is the longest wait that storage may ask for.
const MaxRetryAfter = 10 * time.Minute

func (b Backoff) withDefaults() Backoff {
	setDefault(&b.Min, 500*time.Millisecond)
	setDefault(&b.Max, time.Minute)
	return b
}

// wait is how long to wait after the given number of failures, the last of which was err.
func (b Backoff) wait(failures int, err error, random func(n uint64) uint64) time.Duration {
	full := b.Max
	if !wantsHelp(err) && failures < 32 {
		full = min(b.Min<<(failures-1), b.Max)
	}
	half := full / 2
	d := half + time.Duration(random(uint64(half)+1))
	var e *store.Error
	if errors.As(err, &e) {
		d = max(d, min(e.RetryAfter, MaxRetryAfter))
	}
	return d
}

// wantsHelp reports whether somebody has to change something before it works again.
func wantsHelp(err error) bool {
	return errors.Is(err, store.ErrRefused) || errors.Is(err, store.ErrNoContainer)
}

// retry calls try until it succeeds. It gives up when ctx ends, when the request
// is invalid ([errSetAside]), and with RetryFor when it is refused or that long
// has passed.
func (s *Shipper) retry(ctx context.Context, t *trouble, try func() error) error {
	var began time.Time
	for failures := 1; ; failures++ {
		err := try()
		if err == nil {
			t.over()
			return nil
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, store.ErrInvalid):
			return errSetAside{err}
		}
		now := time.Now()
		if began.IsZero() {
			began = now
		}
		wait := s.opts.Backoff.wait(failures, err, s.opts.Random)
		if limit := s.opts.RetryFor; limit > 0 {
			if wantsHelp(err) {
				return err
			}
			left := limit - now.Sub(began)
			if left <= 0 {
				return fmt.Errorf("gave up after %v and %d tries: %w", limit, failures, err)
			}
			wait = min(wait, left)
		}
		t.met(err, wait)
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// sleep waits, or returns early with the cause of ctx's end.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// sayEvery is how often trouble that goes on is logged.
const sayEvery = time.Minute

// trouble logs what does not work: at once when it begins, then once a minute,
// and when it is over. Safe for concurrent use.
type trouble struct {
	log         *slog.Logger
	what, where string

	mu          sync.Mutex
	began, said time.Time
	failures    int
	err         error
}

// met notes a failure.
func (t *trouble) met(err error, wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	t.err = err
	t.failures++
	if t.began.IsZero() {
		t.began = now
	} else if now.Sub(t.said) < sayEvery {
		return
	}
	t.said = now
	attrs := []any{"store", t.where, "error", err, "failures", t.failures, "since", t.began.UTC(), "retry_in", wait.Round(time.Millisecond)}
	var e *store.Error
	if errors.As(err, &e) && e.Status != 0 {
		attrs = append(attrs, "status", e.Status, "code", e.Code, "request_id", e.RequestID)
	}
	if wantsHelp(err) {
		t.log.Error(t.what+" is refused; nothing is lost, but somebody must allow it", attrs...)
		return
	}
	t.log.Warn(t.what+" does not work; trying again", attrs...)
}

// over notes a success.
func (t *trouble) over() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.began.IsZero() {
		return
	}
	t.log.Info(t.what+" works again", "store", t.where, "failures", t.failures, "after", time.Since(t.began).Round(time.Millisecond))
	t.began, t.said, t.failures, t.err = time.Time{}, time.Time{}, 0, nil
}

// explain adds to what ended a run what did not work at the time, if anything.
func (t *trouble) explain(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		return err
	}
	return fmt.Errorf("%w; %s did not work: %w", err, t.what, t.err)
}
