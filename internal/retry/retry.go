// Package retry retries requests to storage with backoff, for jobs that run for long and
// unattended.
package retry

import (
	"context"
	"errors"
	"iter"
	"time"

	"logstow/store"
)

// maxAttempts is how often in a row a retryable request may fail; with the delays in between, which
// double from minWait to maxWait, that takes two minutes and more.
const (
	maxAttempts = 8
	minWait     = time.Second
	maxWait     = 30 * time.Second
	// noResponseTimeout is how long a job's first request may go without any response.
	noResponseTimeout = 10 * time.Second
)

// Do calls f until it succeeds, fails permanently (see [store.Retryable]), has failed too often
// (after two minutes and more), or ctx ends. It returns f's last error.
func Do(ctx context.Context, f func() error) error {
	began := time.Now()
	for failures := 1; ; failures++ {
		err := f()
		if err == nil || !waitRetry(ctx, began, err, failures) {
			return err
		}
	}
}

// First is Do for the first request of a job, when it is unknown whether storage can be reached: a
// request without any response (connection refused, unknown host, no route) is only retried for ten
// seconds. Error responses, such as throttling, are retried as by Do.
func First(ctx context.Context, f func() error) error {
	began := time.Now()
	for failures := 1; ; failures++ {
		err := f()
		if err == nil || isNoResponse(err) && time.Since(began)+backoff(err, failures) > noResponseTimeout || !waitRetry(ctx, began, err, failures) {
			return err
		}
	}
}

// isNoResponse reports whether there was no response at all.
func isNoResponse(err error) bool {
	var e *store.Error
	return errors.Is(err, store.ErrUnavailable) && errors.As(err, &e) && e.Status == 0
}

// backoff is the delay after a number of consecutive failures.
func backoff(err error, failures int) time.Duration {
	return Backoff{Min: minWait, Max: maxWait, MaxRetryAfter: 4 * maxWait}.Delay(err, failures)
}

// waitRetry waits before the next attempt of a request that began at a time; false means that there
// is none.
func waitRetry(ctx context.Context, began time.Time, err error, failures int) bool {
	if !store.Retryable(err) || failures >= maxAttempts {
		return false
	}
	wait := backoff(err, failures)
	Report(ctx, began, err, wait)
	return Sleep(ctx, wait) == nil
}

// List lists blobs like [store.BlobReader]. A listing that fails temporarily is restarted, without
// the blobs already yielded; the last error is yielded and ends it.
func List(ctx context.Context, b store.BlobReader, prefix string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) {
		last, began := "", time.Now()
		for failures := 0; ; {
			var failed error
			for page, err := range b.List(ctx, prefix) {
				if err != nil {
					failed = err
					break
				}
				for len(page) > 0 && page[0].Name <= last {
					page = page[1:]
				}
				if len(page) == 0 {
					continue
				}
				last, failures = page[len(page)-1].Name, 0
				if !yield(page, nil) {
					return
				}
				began = time.Now()
			}
			failures++
			if failed == nil {
				return
			}
			if !waitRetry(ctx, began, failed, failures) {
				yield(nil, failed)
				return
			}
		}
	}
}
