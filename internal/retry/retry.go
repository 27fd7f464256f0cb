// Package retry retries requests to storage with backoff.
package retry

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"logstow/store"
)

const (
	// jobTimeout is how long a request of a job is repeated without any response, firstTimeout how long its first request is.
	jobTimeout   = 2 * time.Minute
	firstTimeout = 10 * time.Second
)

// Policy is how often, and after which delays, a request is attempted.
type Policy struct {
	Backoff
	// MaxAttempts is how often in a row a retryable request may fail.
	MaxAttempts int
	// NoResponse is the time from the beginning of a request that has no response at all (connection refused, unknown host, timeout)
	// until its last attempt may begin. 0 is no limit. Attempts may take minutes until they time out.
	NoResponse time.Duration
}

// Jobs is the policy of jobs that run for long and unattended: they give up after two minutes and
// more.
func Jobs() Policy {
	return Policy{
		Backoff:     Backoff{Min: time.Second, Max: 30 * time.Second, MaxRetryAfter: 2 * time.Minute},
		MaxAttempts: 8,
		NoResponse:  jobTimeout,
	}
}

// Do calls f until it succeeds, fails permanently (see [store.Retryable]), has failed MaxAttempts
// times, or ctx ends. It returns f's last error.
func (p Policy) Do(ctx context.Context, f func() error) error {
	began := time.Now()
	for failures := 1; ; failures++ {
		err := f()
		if err == nil || !p.wait(ctx, began, err, failures) {
			return err
		}
	}
}

// wait waits before the next attempt of a request that began at a time; false means that there is
// none.
func (p Policy) wait(ctx context.Context, began time.Time, err error, failures int) bool {
	if !store.Retryable(err) || failures >= p.MaxAttempts {
		return false
	}
	delay := p.Delay(err, failures)
	if p.NoResponse > 0 && isNoResponse(err) && time.Since(began)+delay > p.NoResponse {
		return false
	}
	Report(ctx, began, err, delay)
	return Sleep(ctx, delay) == nil
}

// Do is [Policy.Do] for jobs that run for long and unattended: they give up after two minutes and
// more.
func Do(ctx context.Context, f func() error) error { return Jobs().Do(ctx, f) }

// Range returns a function that reads ranges of a blob, in the version of ref if it has one; it is a Range of package segment.
func (p Policy) Range(b store.BlobReader, ref store.BlobRef) func(ctx context.Context, off, n int64) ([]byte, error) {
	return func(ctx context.Context, off, n int64) (data []byte, err error) {
		err = p.Do(ctx, func() error {
			data, err = b.Read(ctx, ref, off, n)
			return err
		})
		return data, err
	}
}

// Range is [Policy.Range] for jobs that run for long and unattended.
func Range(b store.BlobReader, ref store.BlobRef) func(ctx context.Context, off, n int64) ([]byte, error) {
	return Jobs().Range(b, ref)
}

// First is Do for the first request of a job, when it is unknown whether storage can be reached: a
// request without any response is only retried for ten seconds. Error responses, such as throttling,
// are retried as by Do.
func First(ctx context.Context, f func() error) error {
	p := Jobs()
	p.NoResponse = firstTimeout
	return p.Do(ctx, f)
}

// Now is the time of a store, of which it is the first request of a job.
func Now(ctx context.Context, s store.Store) (now time.Time, err error) {
	err = First(ctx, func() error {
		now, err = s.Now(ctx)
		return err
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("cannot get the time of %s: %w", s, err)
	}
	return now, nil
}

// isNoResponse reports whether there was no response at all.
func isNoResponse(err error) bool {
	var e *store.Error
	return errors.Is(err, store.ErrUnavailable) && errors.As(err, &e) && e.Status == 0
}

// List lists blobs like [store.BlobReader]. A listing that fails temporarily is restarted, without
// the blobs already yielded; the last error is yielded and ends it.
func (p Policy) List(ctx context.Context, b store.BlobReader, prefix string) iter.Seq2[[]store.Blob, error] {
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
			if !p.wait(ctx, began, failed, failures) {
				yield(nil, failed)
				return
			}
		}
	}
}
