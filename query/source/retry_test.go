package source_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"logstow/query/source"
	"logstow/store"
)

func TestRetry(t *testing.T) {
	t.Parallel()
	throttled := func(after time.Duration) error {
		return &store.Error{Class: store.ErrThrottled, RetryAfter: after}
	}
	for name, c := range map[string]struct {
		errs  []error // of each attempt
		calls int
		took  time.Duration
	}{
		"success":            {[]error{nil}, 1, 0},
		"permanent":          {[]error{store.ErrAccessDenied, nil}, 1, 0},
		"second attempt":     {[]error{store.ErrUnavailable, nil}, 2, 200 * time.Millisecond},
		"three attempts":     {[]error{store.ErrUnavailable, store.ErrUnavailable, store.ErrUnavailable, nil}, 3, 600 * time.Millisecond},
		"requested delay":    {[]error{throttled(3 * time.Second), nil}, 2, 3 * time.Second},
		"requested too long": {[]error{throttled(time.Hour), nil}, 2, 5 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			began, calls := time.Now(), 0
			err := source.Retry(t.Context(), func() error {
				calls++
				return c.errs[calls-1]
			})
			if want := c.errs[c.calls-1]; calls != c.calls || !errors.Is(err, want) || time.Since(began) != c.took {
				t.Errorf("%s: %d calls in %v, %v; want %d in %v, %v", name, calls, time.Since(began), err, c.calls, c.took, want)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := source.Retry(ctx, func() error { return throttled(4 * time.Second) })
		if !errors.Is(err, store.ErrThrottled) || time.Since(began) != time.Second {
			t.Errorf("interrupted after %v: %v", time.Since(began), err)
		}
	})
}
