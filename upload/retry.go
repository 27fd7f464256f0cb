package upload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"logstow/store"
)

// Backoff is the delay between attempts: it starts at Min, doubles up to Max, and is drawn at
// random from its upper half. After access was denied it is Max at once. A longer delay requested
// by storage is honoured, up to [MaxRetryAfter]. Zero fields mean half a second and one minute.
type Backoff struct {
	Min, Max time.Duration
}

// MaxRetryAfter is the longest delay that storage may request.
const MaxRetryAfter = 10 * time.Minute

func (b Backoff) withDefaults() Backoff {
	setDefault(&b.Min, 500*time.Millisecond)
	setDefault(&b.Max, time.Minute)
	return b
}

// wait is the delay after a number of failures, the last of which was err.
func (b Backoff) wait(failures int, err error, random func(n uint64) uint64) time.Duration {
	full := b.Max
	if !needsOperator(err) && failures < 32 {
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

// needsOperator reports whether the failure lasts until an operator acts.
func needsOperator(err error) bool {
	var unopened errNoStore
	return errors.Is(err, store.ErrAccessDenied) || errors.Is(err, store.ErrNoContainer) || errors.Is(err, store.ErrUnusable) || errors.As(err, &unopened)
}

// retry calls try until it succeeds. It gives up when ctx ends, when storage rejects the request as
// invalid (a [suspect]), and with RetryFor when access is denied or that time has passed.
func (s *Uploader) retry(ctx context.Context, t *outageLogger, try func() error) error {
	var began time.Time
	for failures := 1; ; failures++ {
		err := try()
		if err == nil {
			t.recovered()
			return nil
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, store.ErrInvalid):
			return suspect{rejected, err}
		}
		now := time.Now()
		if began.IsZero() {
			began = now
		}
		wait := s.opts.Backoff.wait(failures, err, s.opts.Random)
		if limit := s.opts.RetryFor; limit > 0 {
			if needsOperator(err) {
				return err
			}
			left := limit - now.Sub(began)
			if left <= 0 {
				return fmt.Errorf("gave up after %v and %d tries: %w", limit, failures, err)
			}
			wait = min(wait, left)
		}
		t.failed(err, wait)
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
