package source

import (
	"context"
	"time"

	"logstow/internal/retry"
)

// Retry calls f until it succeeds, fails permanently, or has failed three times. It respects a delay requested by storage up to five
// seconds. Without any response it begins no attempt after half a minute.
func Retry(ctx context.Context, f func() error) error { return policy().Do(ctx, f) }

func policy() retry.Policy {
	return retry.Policy{
		Backoff:     retry.Backoff{Min: 200 * time.Millisecond, Max: time.Second, MaxRetryAfter: 5 * time.Second},
		MaxAttempts: 3, NoResponse: 30 * time.Second,
	}
}
