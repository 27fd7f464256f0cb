package source_test

import (
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"logstow/query/source"
	"logstow/store"
)

// busyBlobs is storage that takes 25 ms for an answer and throttles what exceeds its capacity.
type busyBlobs struct {
	capacity                         int64
	inFlight, most, throttled, total atomic.Int64
}

func (b *busyBlobs) request(ctx context.Context) error {
	b.total.Add(1)
	n := b.inFlight.Add(1)
	defer b.inFlight.Add(-1)
	for most := b.most.Load(); n > most && !b.most.CompareAndSwap(most, n); most = b.most.Load() {
	}
	if n > b.capacity {
		b.throttled.Add(1)
		return &store.Error{Class: store.ErrThrottled, Status: 503}
	}
	select {
	case <-time.After(25 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (b *busyBlobs) Read(ctx context.Context, _ store.BlobRef, _, n int64) ([]byte, error) {
	if err := b.request(ctx); err != nil {
		return nil, err
	}
	return make([]byte, n), nil
}

func (b *busyBlobs) List(ctx context.Context, _ string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) {
		for range 3 {
			if err := b.request(ctx); err != nil {
				yield(nil, err)
				return
			}
			if !yield(make([]store.Blob, 1), nil) {
				return
			}
		}
	}
}

func (b *busyBlobs) ListPrefixes(context.Context, string) iter.Seq2[[]string, error] {
	return func(func([]string, error) bool) {}
}

// The reads in flight grow to what storage allows, and reads succeed with few retries where it allows less.
func TestLimitAdapts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		capacity, mostThrottled int64
		took                    time.Duration
	}{
		{1000, 0, 1100 * time.Millisecond}, // 2,560 reads at 25 ms, 64 in flight, and the start
		{40, 400, 6 * time.Second},
		{10, 400, 12 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			blobs := &busyBlobs{capacity: c.capacity}
			s := source.NewMeter(nil, 0, 0).Store(source.Store{Blobs: blobs})
			began := time.Now()
			var wg sync.WaitGroup
			work := make(chan struct{}, 2560)
			for range cap(work) {
				work <- struct{}{}
			}
			close(work)
			for range source.MaxInFlight {
				wg.Go(func() {
					for range work {
						if err := source.Retry(t.Context(), func() error {
							_, err := s.Blobs.Read(t.Context(), store.BlobRef{Name: "x"}, 0, 1)
							return err
						}); err != nil {
							t.Errorf("capacity %d: %v", c.capacity, err)
						}
					}
				})
			}
			wg.Wait()
			if took := time.Since(began); took > c.took {
				t.Errorf("capacity %d: took %v, want at most %v", c.capacity, took, c.took)
			}
			if n := blobs.throttled.Load(); n > c.mostThrottled {
				t.Errorf("capacity %d: %d reads were throttled", c.capacity, n)
			}
			if most := blobs.most.Load(); most > source.MaxInFlight || c.capacity > source.MaxInFlight && most < source.MaxInFlight {
				t.Errorf("capacity %d: at most %d reads in flight", c.capacity, most)
			}
			t.Logf("capacity %d: %v, %d of %d reads throttled", c.capacity, time.Since(began), blobs.throttled.Load(), blobs.total.Load())
		})
	}
}

// A listing holds no slot while its pages are used: reads of blobs found by listings succeed
// however many listings there are. A store whose requests are free has no limit.
func TestLimitOfListings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		blobs := &busyBlobs{capacity: 1000}
		s := source.NewMeter(nil, 0, 0).Store(source.Store{Blobs: blobs})
		var wg sync.WaitGroup
		for range 200 {
			wg.Go(func() {
				for page, err := range s.Blobs.List(t.Context(), "") {
					if err == nil {
						_, err = s.Blobs.Read(t.Context(), store.BlobRef{Name: "x"}, 0, int64(len(page)))
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if most := blobs.most.Load(); most != source.MaxInFlight {
			t.Errorf("at most %d requests in flight", most)
		}
		free := source.NewMeter(nil, 0, 0).Store(source.Store{Blobs: blobs, Free: true})
		for range 100 {
			wg.Go(func() {
				if _, err := free.Blobs.Read(t.Context(), store.BlobRef{Name: "x"}, 0, 1); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if most := blobs.most.Load(); most != 100 {
			t.Errorf("at most %d requests in flight to a store without a limit", most)
		}
	})
}

// Requests that wait for others end with their context.
func TestLimitEndsWithContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := source.NewMeter(nil, 0, 0).Store(source.Store{Blobs: &busyBlobs{capacity: 1000}})
		cause := errors.New("stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Millisecond, func() { cancel(cause) })
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if _, err := s.Blobs.Read(ctx, store.BlobRef{Name: "x"}, 0, 1); !errors.Is(err, cause) {
					t.Error(err)
				}
				for _, err := range s.Blobs.List(ctx, "") {
					if !errors.Is(err, cause) {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	})
}

// Requests to the compacted container count as those to the other.
func TestMeterCompacted(t *testing.T) {
	t.Parallel()
	blobs := &busyBlobs{capacity: 1000}
	s := source.NewMeter(nil, 10, 0).Store(source.Store{Blobs: blobs, Compacted: blobs})
	if _, err := s.Compacted.Read(t.Context(), store.BlobRef{Name: "x"}, 0, 10); err != nil {
		t.Error(err)
	}
	for name, b := range map[string]store.BlobReader{"raw": s.Blobs, "compacted": s.Compacted} {
		if _, err := b.Read(t.Context(), store.BlobRef{Name: "x"}, 0, 1); !errors.Is(err, source.ErrBudget) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
