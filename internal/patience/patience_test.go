package patience_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/patience"
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
		"for good":      {[]error{store.ErrRefused}, 6, store.ErrRefused, 0},
		"without cease": {slices.Repeat([]error{throttled}, 20), 6, store.ErrThrottled, 7 * 40 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var got, want []string
			var failed error
			for page, err := range patience.List(t.Context(), &flaky{errs: c.errs}, "") {
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
		err := patience.Do(t.Context(), func() error {
			calls++
			return store.ErrTableBusy
		})
		if !errors.Is(err, store.ErrTableBusy) || calls != 8 {
			t.Errorf("%d calls, %v", calls, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		calls = 0
		err = patience.Do(ctx, func() error {
			calls++
			return store.ErrUnavailable
		})
		if !errors.Is(err, store.ErrUnavailable) || calls != 2 {
			t.Errorf("%d calls, %v", calls, err)
		}
	})
}
