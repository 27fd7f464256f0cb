package upload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"logstow/buffer"
	"logstow/internal/retry"
	"logstow/internal/units"
	"logstow/store"
)

// Backoff is the delay between attempts: it starts at Min, doubles up to Max, and is drawn at
// random from its upper half. After an error that an operator must correct, such as denied access, it is
// Max at once. A longer delay requested by storage is honoured, up to [MaxRetryAfter]. Zero fields mean
// half a second and one minute.
type Backoff struct {
	Min, Max time.Duration
}

// MaxRetryAfter limits the delay that storage may request.
const MaxRetryAfter = 10 * time.Minute

func (b Backoff) withDefaults() Backoff {
	return Backoff{Min: cmp.Or(b.Min, 500*time.Millisecond), Max: cmp.Or(b.Max, time.Minute)}
}

// wait returns the delay after the given number of failures; err is the last one.
func (b Backoff) wait(failures int, err error, random func(n uint64) uint64) time.Duration {
	policy := retry.Backoff{Min: b.Min, Max: b.Max, MaxRetryAfter: MaxRetryAfter, Random: random}
	if needsOperator(err) {
		policy.Min = policy.Max
	}
	return policy.Delay(err, failures)
}

// needsOperator reports whether the failure lasts until an operator acts.
func needsOperator(err error) bool {
	var unopened errNoStore
	return errors.Is(err, store.ErrAccessDenied) || errors.Is(err, store.ErrNoContainer) ||
		errors.Is(err, store.ErrUnusable) || errors.As(err, &unopened)
}

// gaveUp is the error of a store that was retried for long enough.
type gaveUp struct{ cause error }

func (e gaveUp) Error() string { return e.cause.Error() }
func (e gaveUp) Unwrap() error { return e.cause }

// earlierRetryFor is RetryFor for a batch that is still bound to a store that the configuration does not send it to any more, because
// an earlier run may have stored it there: a run of other stores must not wait long for that one.
const earlierRetryFor = time.Second

// retryFor returns how long a request for a batch to a store is retried; 0 is without a limit.
func (u *Uploader) retryFor(b *buffer.Batch, name string) time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.opts.RetryFor > earlierRetryFor && u.configured(b) != name {
		return earlierRetryFor
	}
	return u.opts.RetryFor
}

// earlierLimit is retryFor for the entities of a store that an earlier run left.
func (u *Uploader) earlierLimit(name string) time.Duration {
	if name != u.current.name {
		return min(u.opts.RetryFor, earlierRetryFor)
	}
	return u.opts.RetryFor
}

// nextAttempt returns the delay before the next attempt of what has failed a number of times in a row since began, the last time with err.
// With a limit (see retryFor) it gives up when that time has passed, and at once after an error that an operator must correct: then the
// error is a [gaveUp].
func (u *Uploader) nextAttempt(err error, failures int, began time.Time, limit time.Duration) (wait time.Duration, gave error) {
	wait = u.opts.Backoff.wait(failures, err, u.opts.Random)
	if limit <= 0 {
		return wait, nil
	}
	left := limit - time.Since(began)
	switch {
	case needsOperator(err):
		return 0, gaveUp{err}
	case left <= 0:
		return 0, gaveUp{fmt.Errorf("gave up after %v and %s: %w", limit, units.Count(failures, "attempt"), err)}
	}
	return min(wait, left), nil
}

// retry calls try until it succeeds. It gives up when ctx ends, or when storage rejects the request as
// invalid: then the error is a [suspect]. With a limit it also gives up as nextAttempt does.
func (u *Uploader) retry(ctx context.Context, t *outageLogger, limit time.Duration, try func() error) error {
	began := time.Now()
	for failures := 1; ; failures++ {
		err := try()
		if err == nil {
			t.recovered()
			return nil
		}
		var reason suspect
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &reason):
			return reason
		case errors.As(err, new(notAllowed)):
			return err
		case errors.Is(err, store.ErrInvalid):
			return suspect{rejected, err}
		}
		wait, gaveUp := u.nextAttempt(err, failures, began, limit)
		if gaveUp != nil {
			return gaveUp
		}
		t.failed(err, wait)
		if err := retry.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}
