package source_test

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"logstow/query/source"
	"logstow/store"
	"logstow/store/listcache"
)

// throttled answers listings after a while, the first of them with an error of throttling.
type throttled struct {
	store.BlobReader
	left atomic.Int64
}

func (b *throttled) List(context.Context, string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) {
		for range 2 {
			time.Sleep(20 * time.Millisecond)
			if b.left.Add(-1) >= 0 {
				yield(nil, &store.Error{Class: store.ErrThrottled, Status: 503})
				return
			}
			if !yield(make([]store.Blob, 1), nil) {
				return
			}
		}
	}
}

// Queries that list the same hours in another order, and each hour many times, wait for each other's listings, not for each
// other: all their requests may be such that wait.
func TestSharedListings(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{0, 1, 4, 16, 40} {
		synctest.Test(t, func(t *testing.T) {
			blobs := &throttled{}
			blobs.left.Store(n)
			shared, _ := listcache.New(blobs, blobs, time.Now)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			var all sync.WaitGroup
			for _, order := range [][2]string{{"api", "web"}, {"web", "api"}} {
				s := source.NewMeter(nil, 0, 0).Store(source.Store{Blobs: shared})
				all.Go(func() {
					var group errgroup.Group
					group.SetLimit(source.MaxInFlight)
					for _, service := range order {
						for request := range 24 * 20 {
							prefix := fmt.Sprintf("%s/2026/11/20/%02d", service, request/20)
							group.Go(func() error {
								for _, err := range s.Catalog().Retry.List(ctx, s.Blobs, prefix) {
									if err != nil {
										return err
									}
								}
								return nil
							})
						}
					}
					if err := group.Wait(); err != nil {
						t.Errorf("%d throttled: %v", n, err)
					}
				})
			}
			all.Wait()
		})
	}
}
