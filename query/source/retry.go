package source

import (
	"context"
	"errors"
	"iter"
	"time"

	"logstow/internal/retry"
	"logstow/store"
)

// MaxInFlight is the maximum number of requests in flight.
const MaxInFlight = 16

// maxAttempts is the number of attempts of a request that may succeed later.
const maxAttempts = 3

// Retry calls f until it succeeds, fails permanently or has failed maxAttempts times. It waits in
// between as long as storage asks, at most five seconds.
func Retry(ctx context.Context, f func() error) error {
	began := time.Now()
	for attempt := 1; ; attempt++ {
		err := f()
		if err == nil || !store.Retryable(err) || attempt == maxAttempts || ctx.Err() != nil {
			return err
		}
		wait := 100 * time.Millisecond << (2 * (attempt - 1))
		var e *store.Error
		if errors.As(err, &e) {
			wait = min(max(wait, e.RetryAfter), 5*time.Second)
		}
		retry.Report(ctx, began, err, wait)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
	}
}

// Pages calls use with each page of a listing. If a page fails and a retry may help, it starts
// again with a new list.
func Pages[T any](ctx context.Context, list func() iter.Seq2[[]T, error], use func(page []T)) error {
	return Retry(ctx, func() error {
		for page, err := range list() {
			if err != nil {
				return err
			}
			use(page)
		}
		return nil
	})
}

// Collect reads a listing to its end.
func Collect[T any](ctx context.Context, list func() iter.Seq2[[]T, error]) (all []T, err error) {
	err = Pages(ctx, func() iter.Seq2[[]T, error] {
		all = nil
		return list()
	}, func(page []T) { all = append(all, page...) })
	return all, err
}
