package retry_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/retry"
	"logstow/store"
)

// flaky lists ten blobs on pages of three, and fails with the next of errs after each second page.
type flaky struct {
	store.BlobReader
	errs []error
}

func (f *flaky) List(context.Context, string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) {
		var page []store.Blob
		for i := range 10 {
			page = append(page, store.Blob{Name: fmt.Sprintf("b%d", i)})
			if len(page) < 3 && i < 9 {
				continue
			}
			if !yield(page, nil) {
				return
			}
			page = nil
			if i >= 5 && len(f.errs) > 0 {
				err := f.errs[0]
				f.errs = f.errs[1:]
				yield(nil, err)
				return
			}
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	throttled := &store.Error{Class: store.ErrThrottled, RetryAfter: 40 * time.Second}
	for name, c := range map[string]struct {
		errs []error
		want int
		err  error
		took time.Duration
	}{
		"whole":         {nil, 10, nil, 0},
		"begun anew":    {[]error{store.ErrUnavailable, throttled}, 10, nil, time.Second + 40*time.Second},
		"for good":      {[]error{store.ErrAccessDenied}, 6, store.ErrAccessDenied, 0},
		"without cease": {slices.Repeat([]error{throttled}, 20), 6, store.ErrThrottled, 7 * 40 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var got, want []string
			var failed error
			for page, err := range retry.Jobs().List(t.Context(), &flaky{errs: c.errs}, "") {
				for _, b := range page {
					got = append(got, b.Name)
				}
				failed = err
			}
			for i := range c.want {
				want = append(want, fmt.Sprintf("b%d", i))
			}
			if diff := cmp.Diff(want, got); diff != "" || !errors.Is(failed, c.err) {
				t.Errorf("%s: %v, %s", name, failed, diff)
			}
			if took := time.Since(began); took != c.took {
				t.Errorf("%s: took %v, want %v", name, took, c.took)
			}
		})
	}
}

func TestDo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		err := retry.Do(t.Context(), func() error {
			calls++
			return store.ErrTableBusy
		})
		if !errors.Is(err, store.ErrTableBusy) || calls != 8 {
			t.Errorf("%d calls, %v", calls, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		calls = 0
		err = retry.Do(ctx, func() error {
			calls++
			return store.ErrUnavailable
		})
		if !errors.Is(err, store.ErrUnavailable) || calls != 2 {
			t.Errorf("%d calls, %v", calls, err)
		}
	})
}

// What a job begins with is not waited for when nothing answers, and is when storage does.
func TestFirst(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		after int // failures before it succeeds
		calls int
		took  time.Duration
	}{
		"nothing listens":       {&store.Error{Class: store.ErrUnavailable}, 100, 4, (1 + 2 + 4) * time.Second},
		"slow to come up":       {&store.Error{Class: store.ErrUnavailable}, 3, 4, (1 + 2 + 4) * time.Second},
		"an answer, though bad": {&store.Error{Class: store.ErrUnavailable, Status: 500}, 100, 8, (1 + 2 + 4 + 8 + 16 + 30 + 30) * time.Second},
		"throttled":             {&store.Error{Class: store.ErrThrottled, Status: 503}, 100, 8, (1 + 2 + 4 + 8 + 16 + 30 + 30) * time.Second},
		"refused":               {&store.Error{Class: store.ErrAccessDenied, Status: 403}, 100, 1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			began, calls := time.Now(), 0
			err := retry.First(t.Context(), func() error {
				if calls++; calls > c.after {
					return nil
				}
				return c.err
			})
			if want := c.calls <= c.after; calls != c.calls || (err != nil) != want {
				t.Errorf("%s: %d calls, %v", name, calls, err)
			}
			if took := time.Since(began); took != c.took {
				t.Errorf("%s: took %v, want %v", name, took, c.took)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // each try takes long by itself
		calls := 0
		_ = retry.First(t.Context(), func() error {
			calls++
			time.Sleep(30 * time.Second)
			return &store.Error{Class: store.ErrUnavailable}
		})
		if calls != 1 {
			t.Errorf("%d calls that took 30 s each", calls)
		}
	})
}

// A request without any response, whose attempts take as long as they may, is not repeated for much longer than its policy says.
func TestNoResponse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do       func(context.Context, func() error) error
		attempt  time.Duration
		err      store.Error
		attempts int
	}{
		"job, response times out":            {retry.Do, 2 * time.Minute, store.Error{Class: store.ErrUnavailable}, 1},
		"job, connection times out":          {retry.Do, 10 * time.Second, store.Error{Class: store.ErrUnavailable}, 6},
		"first request, connection":          {retry.First, 10 * time.Second, store.Error{Class: store.ErrUnavailable}, 1},
		"job, responses are slow":            {retry.Do, time.Minute, store.Error{Class: store.ErrUnavailable, Status: 503}, 8},
		"first request, responses are slow":  {retry.First, time.Minute, store.Error{Class: store.ErrUnavailable, Status: 503}, 8},
		"no limit, connection takes minutes": {retry.Policy{MaxAttempts: 5}.Do, time.Minute, store.Error{Class: store.ErrUnavailable}, 5},
	} {
		synctest.Test(t, func(t *testing.T) {
			attempts := 0
			err := c.do(t.Context(), func() error {
				attempts++
				time.Sleep(c.attempt)
				return &c.err
			})
			if !errors.Is(err, store.ErrUnavailable) || attempts != c.attempts {
				t.Errorf("%s: %v after %d attempts, want %d", name, err, attempts, c.attempts)
			}
		})
	}
}

// A long wait is reported: not in the first two seconds, then every ten, whatever
// the number of requests that fail.
func TestReport(t *testing.T) {
	t.Parallel()
	busy := &store.Error{Op: "list", Object: "x", Class: store.ErrUnavailable, Status: 503}
	for name, do := range map[string]func(ctx context.Context) error{
		"do":    func(ctx context.Context) error { return retry.Do(ctx, func() error { return busy }) },
		"first": func(ctx context.Context) error { return retry.First(ctx, func() error { return busy }) },
		"list": func(ctx context.Context) (failed error) {
			for _, err := range retry.Jobs().List(ctx, &flaky{errs: slices.Repeat([]error{busy}, 20)}, "") {
				failed = err
			}
			return failed
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var said []time.Duration
			began := time.Now()
			ctx := retry.WithReporter(t.Context(), func(r retry.Attempt) {
				if !errors.Is(r.Err, busy) || r.Next <= 0 || r.For != time.Since(began) {
					t.Errorf("%s: after %v: %+v", name, time.Since(began), r)
				}
				said = append(said, r.For)
			})
			var all sync.WaitGroup
			for range 5 {
				all.Go(func() {
					if err := do(ctx); !errors.Is(err, busy) {
						t.Errorf("%s: %v", name, err)
					}
				})
			}
			all.Wait()
			want := []time.Duration{3 * time.Second, 15 * time.Second, 31 * time.Second, 61 * time.Second}
			if !slices.Equal(said, want) {
				t.Errorf("%s: reported after %v, want %v", name, said, want)
			}
		})
	}
}

// What fails for good is not retried, and not reported.
func TestFinalErrors(t *testing.T) {
	t.Parallel()
	for _, class := range []error{store.ErrUnusable, store.ErrAccessDenied, store.ErrInvalid, store.ErrNoContainer} {
		tries := 0
		ctx := retry.WithReporter(t.Context(), func(r retry.Attempt) { t.Errorf("%v: %+v", class, r) })
		err := retry.Do(ctx, func() error {
			tries++
			return &store.Error{Class: class}
		})
		if tries != 1 || !errors.Is(err, class) {
			t.Errorf("%v: %d tries, %v", class, tries, err)
		}
	}
}

func TestAttemptString(t *testing.T) {
	t.Parallel()
	a := retry.Attempt{Err: store.ErrUnavailable, For: 2049 * time.Millisecond, Next: 399 * time.Millisecond}
	if got, want := a.String(), "retrying for 2s, next in 400ms: storage unavailable"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
