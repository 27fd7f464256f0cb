package retry_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"logstow/internal/retry"
	"logstow/store"
)

// The delay doubles up to the maximum however many failures there were, and requested delays are bounded.
func TestDelay(t *testing.T) {
	t.Parallel()
	b := retry.Backoff{Min: 8 * time.Second, Max: time.Minute, MaxRetryAfter: 10 * time.Minute}
	for failures, want := range map[int]time.Duration{
		1: 8 * time.Second, 2: 16 * time.Second, 3: 32 * time.Second, 4: time.Minute, 31: time.Minute, math.MaxInt: time.Minute,
	} {
		if got := b.Delay(errors.New("x"), failures); got != want {
			t.Errorf("%v after %d failures, want %v", got, failures, want)
		}
	}
	for after, want := range map[time.Duration]time.Duration{time.Second: 8 * time.Second, 5 * time.Minute: 5 * time.Minute, time.Hour: 10 * time.Minute} {
		if got := b.Delay(&store.Error{RetryAfter: after}, 1); got != want {
			t.Errorf("%v where %v is requested, want %v", got, after, want)
		}
	}
	b.Random = func(n uint64) uint64 { return n - 1 }
	if got := b.Delay(errors.New("x"), 2); got != 16*time.Second {
		t.Errorf("the largest delay is %v", got)
	}
	b.Random = func(uint64) uint64 { return 0 }
	if got := b.Delay(errors.New("x"), 2); got != 8*time.Second {
		t.Errorf("the smallest delay is %v", got)
	}
}

func TestSleepEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("stop")
	cancel(cause)
	if err := retry.Sleep(ctx, time.Hour); !errors.Is(err, cause) {
		t.Error(err)
	}
	if err := retry.Sleep(t.Context(), 0); err != nil {
		t.Error(err)
	}
}
