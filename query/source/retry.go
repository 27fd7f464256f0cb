package source

import (
	"context"
	"iter"
	"time"

	"logstow/internal/retry"
)

// Retry calls f until it succeeds, fails permanently, or has failed three times. It respects a delay requested by storage up to five
// seconds.
func Retry(ctx context.Context, f func() error) error {
	p := retry.Policy{Backoff: retry.Backoff{Min: 200 * time.Millisecond, Max: time.Second, MaxRetryAfter: 5 * time.Second}, MaxAttempts: 3}
	return p.Do(ctx, f)
}

// Pages calls use with each page of a listing. If a page fails and a retry may help, it calls list and starts again: list must then
// discard what use has collected.
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
