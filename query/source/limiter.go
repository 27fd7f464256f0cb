package source

import (
	"context"
	"errors"
	"iter"
	"sync"

	"logstow/store"
)

const (
	// MaxInFlight is the maximum number of requests in flight to one store.
	MaxInFlight = 64
	// firstInFlight is the number with which a query starts.
	firstInFlight = 16
)

// limiter limits the requests in flight to one store: the limit grows by one with every answer until
// storage throttles, is halved then, and from there on grows by one with every round of answers. It is
// safe for concurrent use.
type limiter struct {
	slots chan struct{}

	mu       sync.Mutex
	limit    int
	excess   int // slots in use that are not given back: the limit was lowered
	answers  int // since the limit changed
	throttle int // how often storage throttled
}

func newLimiter() *limiter {
	l := &limiter{slots: make(chan struct{}, MaxInFlight), limit: firstInFlight}
	for range firstInFlight {
		l.slots <- struct{}{}
	}
	return l
}

// acquire waits until a request may be made. round is to be passed to release.
func (l *limiter) acquire(ctx context.Context) (round int, err error) {
	select {
	case <-l.slots:
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.throttle, nil
}

// release takes the result of a request. Those in flight when storage throttles for the first time
// lower the limit once.
func (l *limiter) release(round int, result error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers++
	switch {
	case errors.Is(result, store.ErrThrottled):
		if round == l.throttle {
			lowered := l.limit / 2
			l.limit -= lowered
			l.excess += lowered
			l.throttle++
			l.answers = 0
		}
	case l.limit < MaxInFlight && (l.throttle == 0 || l.answers >= l.limit):
		l.answers = 0
		l.limit++
		l.free()
	}
	l.free()
}

// free gives a slot back.
func (l *limiter) free() {
	if l.excess > 0 {
		l.excess--
		return
	}
	l.slots <- struct{}{}
}

// Limited is a store with a limit of the requests in flight that adapts to what storage allows.
func Limited(s Store) Store {
	if !s.Free {
		l := newLimiter()
		s.Blobs, s.Tables = limitedBlobs{s.Blobs, l}, limitedTables{s.Tables, l}
	}
	return s
}

type limitedBlobs struct {
	store.BlobReader
	*limiter
}

func (r limitedBlobs) Read(ctx context.Context, name string, off, n int64) ([]byte, error) {
	round, err := r.acquire(ctx)
	if err != nil {
		return nil, err
	}
	b, err := r.BlobReader.Read(ctx, name, off, n)
	r.release(round, err)
	return b, err
}

func (r limitedBlobs) List(ctx context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	return limitPages(ctx, r.limiter, r.BlobReader.List(ctx, prefix))
}

func (r limitedBlobs) ListPrefixes(ctx context.Context, prefix string) iter.Seq2[[]string, error] {
	return limitPages(ctx, r.limiter, r.BlobReader.ListPrefixes(ctx, prefix))
}

type limitedTables struct {
	store.TableReader
	*limiter
}

func (r limitedTables) Tables(ctx context.Context, prefix string) iter.Seq2[[]string, error] {
	return limitPages(ctx, r.limiter, r.TableReader.Tables(ctx, prefix))
}

func (r limitedTables) Query(ctx context.Context, table string, q store.Query) iter.Seq2[[]store.Entity, error] {
	return limitPages(ctx, r.limiter, r.TableReader.Query(ctx, table, q))
}

// limitPages holds a slot while a page is requested.
func limitPages[T any](ctx context.Context, l *limiter, pages iter.Seq2[[]T, error]) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		round, err := l.acquire(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		for page, pageErr := range pages {
			l.release(round, pageErr)
			if !yield(page, pageErr) {
				return
			}
			if round, err = l.acquire(ctx); err != nil {
				yield(nil, err)
				return
			}
		}
		l.release(round, nil)
	}
}
