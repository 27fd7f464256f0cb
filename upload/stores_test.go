package upload_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"logstow/buffer"
	"logstow/internal/test/await"
	"logstow/store"
	"logstow/upload"
)

// lostBatch returns a buffer with two batches, the first of which was stored in the store named
// "before" by a run that lost the response.
func lostBatch(t *testing.T, before store.Store) *buffer.Buffer {
	t.Helper()
	b := openBuffer(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	faults := &faulty{Store: before, create: func(_ int, _ string, call func() (string, error)) (string, error) {
		_, err := call()
		if err != nil {
			t.Error(err)
		}
		cancel()
		return "", failure(store.ErrUnavailable)
	}}
	fillMany(t, b, 2)
	if _, err := run(ctx, upload.Options{Buffer: b, Store: faults, StoreName: "before"}); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	return b
}

// A batch that may be in a store is finished there, whatever is configured now.
func TestUploadKeepsTheStore(t *testing.T) {
	t.Parallel()
	before, now := openStore(t), openStore(t)
	b := lostBatch(t, before)
	var asked []string
	_, err := run(t.Context(), upload.Options{
		Buffer: b, Store: now, StoreName: "now",
		Stores: func(_ context.Context, name string) (store.Store, error) {
			if asked = append(asked, name); len(asked) < 3 {
				return nil, failure(store.ErrInvalid) // not the batch's fault
			}
			return before, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(asked, []string{"before", "before", "before"}) {
		t.Errorf("requested %q", asked)
	}
	exactlyOnce(t, before, 1)
	exactlyOnce(t, now, 1)
}

// While that store cannot be opened, the batch waits, and others are delivered.
func TestUploadWithoutTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		before, now := openStore(t), openStore(t)
		b := lostBatch(t, before)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := run(ctx, upload.Options{Buffer: b, Store: now, StoreName: "now", IndexGroup: 1}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		exactlyOnce(t, now, 1)
		if st := b.Stats(); st.Waiting != 1 || st.Done != 1 {
			t.Errorf("buffer: %+v", st)
		}
		_, err := run(t.Context(), upload.Options{Buffer: b, Store: now, StoreName: "now", RetryFor: time.Hour})
		if err == nil || b.Stats().Waiting != 1 {
			t.Errorf("error %v, buffer %+v", err, b.Stats())
		}
	})
}

// A slow index does not stop the upload of blobs; Memory bounds how many are in flight.
func TestUploadWhileTheIndexHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := openBuffer(t)
		var mu sync.Mutex
		var busy, most, created int
		faults := &faulty{
			Store: nowhere{},
			create: func(int, string, func() (string, error)) (string, error) {
				mu.Lock()
				busy++
				most = max(most, busy)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				defer mu.Unlock()
				busy--
				created++
				return "etag", nil
			},
			upsert: func(int, string, func() error) error { time.Sleep(time.Hour); return nil },
		}
		fillMany(t, b, 300)
		batch, err := b.Next(t.Context())
		if err == nil {
			err = batch.Load(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		memory := 3*batch.Size + batch.Size/2
		batch.Return()
		done := make(chan error, 1)
		go func() {
			done <- upload.New(upload.Options{Buffer: b, Store: faults, Workers: 8, Memory: memory, IndexGroup: 1}).Run(t.Context())
		}()
		time.Sleep(10 * time.Minute)
		mu.Lock()
		if created != 300 || most != 3 {
			t.Errorf("%d created, %d at once", created, most)
		}
		mu.Unlock()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Buffers that were taken over are uploaded in parallel with the own one.
func TestUploadOtherBuffer(t *testing.T) {
	t.Parallel()
	s, own, other := openStore(t), openBuffer(t), openBuffer(t)
	fill(t, own, "batch 0")
	fill(t, other, "batch 1")
	own.Drain(t.Context())
	other.Drain(t.Context())
	shipper := upload.New(upload.Options{Buffer: own, Store: s})
	var all sync.WaitGroup
	all.Go(func() {
		if err := shipper.Run(t.Context()); err != nil {
			t.Error(err)
		}
	})
	all.Go(func() {
		if err := shipper.RunOther(t.Context(), other); err != nil {
			t.Error(err)
		}
	})
	all.Wait()
	exactlyOnce(t, s, 2)
}

// After SetStore, new batches go to the other store. A batch that may have been sent to the
// previous store is finished there, without opening that store again.
func TestUploadSetStore(t *testing.T) {
	t.Parallel()
	before, now := openStore(t), openStore(t)
	b := openBuffer(t)
	fillMany(t, b, 3)
	var s *upload.Uploader
	tries := 0
	faults := &faulty{Store: before, create: func(_ int, _ string, call func() (string, error)) (string, error) {
		if tries++; tries > 1 {
			return call()
		}
		s.SetStore(now, "now", nil)
		return "", failure(store.ErrUnavailable) // the same batch is tried again
	}}
	s = upload.New(upload.Options{Buffer: b, Store: faults, StoreName: "before", Workers: 1})
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	exactlyOnce(t, before, 1)
	exactlyOnce(t, now, 2)
}

// Batches go to the store of their route; a store that does not respond does not block the others.
func TestUploadRoute(t *testing.T) {
	t.Parallel()
	stores := map[string]store.Store{"a": openStore(t), "b": openStore(t), "dead": openStore(t)}
	var alive atomic.Bool
	dead := &faulty{Store: stores["dead"], create: func(_ int, _ string, call func() (string, error)) (string, error) {
		if alive.Load() {
			return call()
		}
		return "", failure(store.ErrUnavailable)
	}}
	b := openBuffer(t)
	names := []string{"dead", "a", "b"}
	const batches = 30
	fillMany(t, b, batches)
	next := 0
	var mu sync.Mutex
	s := upload.New(upload.Options{
		Buffer: b, Store: dead, StoreName: "dead",
		Route: func(service, instance string) string {
			mu.Lock()
			defer mu.Unlock()
			if service != "x" || instance != "pod-1" {
				t.Errorf("requested %s of %s", service, instance)
			}
			next++
			return names[next%len(names)]
		},
		Stores: func(_ context.Context, name string) (store.Store, error) {
			if name == "dead" {
				t.Error("the store that is open is opened again")
			}
			return stores[name], nil
		},
	})
	done := make(chan error, 1)
	go func() { done <- s.Run(t.Context()) }()
	await.Until(t, 2*time.Minute, "two of three stores have their batches", func() bool { return s.Stats().Segments >= batches*2/3 })
	await.Until(t, time.Minute, "a failure is reported", func() bool { return s.CurrentError() != nil })
	alive.Store(true)
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, st := range stores {
		exactlyOnce(t, st, batches/3)
	}
}

// A store that takes long to open, as one that is repaired, stops neither the batches of others nor the metrics.
func TestUploadSlowOpening(t *testing.T) {
	t.Parallel()
	quick, slow := openStore(t), openStore(t)
	b := openBuffer(t)
	const batches = 10
	fillMany(t, b, batches)
	var routed atomic.Int64
	opened := make(chan struct{})
	s := upload.New(upload.Options{
		Buffer: b, Store: quick, StoreName: "quick",
		Route: func(string, string) string { return []string{"slow", "quick"}[routed.Add(1)%2] },
		Stores: func(context.Context, string) (store.Store, error) {
			<-opened
			return slow, nil
		},
	})
	done := make(chan error, 1)
	go func() { done <- s.Run(t.Context()) }()
	await.Until(t, time.Minute, "the other store has its batches", func() bool { return s.Stats().Segments == batches/2 })
	close(opened)
	if err := <-done; err != nil {
		t.Error(err)
	}
	exactlyOnce(t, quick, batches/2)
	exactlyOnce(t, slow, batches/2)
}
