package upload_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"logstow/buffer"
	"logstow/record"
	"logstow/store"
	"logstow/upload"
)

// With RetryFor, an index that refuses ends the run also while blobs are being sent.
func TestUploadGivesUpWhileSending(t *testing.T) {
	t.Parallel()
	s, b := openStore(t), openBuffer(t)
	refused := make(chan struct{})
	refuse := sync.OnceFunc(func() { close(refused) })
	faults := &faulty{
		Store: s,
		create: func(n int, _ string, call func() (string, error)) (string, error) {
			switch {
			case n == 2:
				<-refused
			case n > 2: // or all could be stored before the run ends
				return "", failure(store.ErrUnavailable)
			}
			return call()
		},
		upsert: func(int, string, func() error) error { defer refuse(); return failure(store.ErrAccessDenied) },
	}
	fillMany(t, b, 5)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := run(ctx, upload.Options{Buffer: b, Store: faults, RetryFor: time.Hour, IndexGroup: 1}); !errors.Is(err, store.ErrAccessDenied) || ctx.Err() != nil {
		t.Errorf("error %v", err)
	}
	if st := b.Stats(); st.Done == 0 || st.Done == 5 || st.Waiting != 5-int(st.Done) || st.Unindexed != int(st.Done) {
		t.Errorf("buffer: %+v, want some stored and none indexed", st)
	}
}

// endingBlobs deny creates, of which the second takes until the run ends.
type endingBlobs struct {
	store.Blobs
	creates atomic.Int64
	second  chan struct{}
	ended   func()
}

func (e *endingBlobs) Create(ctx context.Context, _ string, _ []byte, _ store.CreateOptions) (string, error) {
	if e.creates.Add(1) == 1 {
		<-e.second
	} else {
		close(e.second)
		<-ctx.Done()
		e.ended()
	}
	return "", failure(store.ErrAccessDenied)
}

type endingStore struct {
	store.Store
	blobs *endingBlobs
}

func (e endingStore) Blobs() store.Blobs { return e.blobs }

// A batch whose failure ends the run returns to the buffer when no worker can take it again.
func TestUploadReturnsAtTheEnd(t *testing.T) {
	t.Parallel()
	b := openBuffer(t)
	for _, service := range []string{"a", "b"} { // the first creates of one would wait for each other
		at := start.UnixNano()
		if _, err := b.Append(t.Context(), buffer.Chunk{Service: service, Read: at, Records: []record.Record{{Time: at, Source: "s", Message: []byte("line")}}}); err != nil {
			t.Fatal(err)
		}
	}
	b.Drain(t.Context())
	s := endingStore{openStore(t), &endingBlobs{second: make(chan struct{}), ended: func() {
		if st := b.Stats(); st.Waiting != 0 || st.Sending != 2 {
			t.Errorf("when the run ends: %+v", st)
		}
	}}}
	stats, err := run(t.Context(), upload.Options{Buffer: b, Store: s, RetryFor: time.Hour, Workers: 2})
	if !errors.Is(err, store.ErrAccessDenied) || stats.Creates != 2 {
		t.Errorf("%d attempts, %v", stats.Creates, err)
	}
	if st := b.Stats(); st.Waiting != 2 || st.Sending != 0 {
		t.Errorf("afterwards: %+v", st)
	}
}

// routed appends a sealed batch of each of the services, n times.
func routed(t *testing.T, b *buffer.Buffer, n int, services ...string) {
	t.Helper()
	for range n {
		for _, service := range services {
			at := start.UnixNano()
			c := buffer.Chunk{Service: service, Read: at, Records: []record.Record{{Time: at, Source: "s", Message: []byte("line")}}}
			if _, err := b.Append(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			b.Flush(t.Context())
		}
	}
}

// byService are options of two stores that are named as the services; each request to the one named dead takes a second and fails.
func byService(t *testing.T, b *buffer.Buffer, err error) upload.Options {
	t.Helper()
	dead := &faulty{Store: nowhere{}, create: func(int, string, func() (string, error)) (string, error) {
		time.Sleep(time.Second)
		return "", err
	}}
	alive := openStore(t)
	return upload.Options{
		Buffer: b, Store: dead, StoreName: "dead", RetryFor: 30 * time.Second, Workers: 2,
		Backoff: upload.Backoff{Min: time.Second, Max: time.Second},
		Route:   func(service, _ string) string { return service },
		Stores:  func(context.Context, string) (store.Store, error) { return alive, nil },
	}
}

// With several stores and RetryFor, a store that fails keeps no batch of the others back: they are delivered, then the run fails.
func TestUploadGivesUpOneStore(t *testing.T) {
	t.Parallel()
	for _, class := range []error{store.ErrUnavailable, store.ErrUnusable} {
		synctest.Test(t, func(t *testing.T) {
			b := openBuffer(t)
			routed(t, b, 10, "dead", "alive")
			b.Drain(t.Context())
			_, err := run(t.Context(), byService(t, b, failure(class)))
			if !errors.Is(err, class) {
				t.Errorf("%v: error %v", class, err)
			}
			if st := b.Stats(); st.Done != 10 || st.Waiting != 10 || st.Sending != 0 {
				t.Errorf("%v: buffer %+v", class, st)
			}
		})
	}
}

// An attempt that takes longer than RetryFor is the last one.
func TestUploadGivesUpAfterLongAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := openBuffer(t)
		routed(t, b, 1, "dead")
		b.Drain(t.Context())
		opts := byService(t, b, failure(store.ErrUnavailable))
		attempts := 0
		opts.Store = &faulty{Store: nowhere{}, create: func(int, string, func() (string, error)) (string, error) {
			attempts++
			time.Sleep(2 * time.Minute)
			return "", failure(store.ErrUnavailable)
		}}
		began := time.Now()
		_, err := run(t.Context(), opts)
		if took := time.Since(began); !errors.Is(err, store.ErrUnavailable) || attempts != 1 || took > 121*time.Second {
			t.Errorf("%v after %v and %d attempts", err, took, attempts)
		}
	})
}

// A run that has given up a store ends although its input does not, when no other store gets anything: the buffer may be full.
func TestUploadEndsAfterGivingUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := openBuffer(t)
		routed(t, b, 1, "dead", "alive")
		began := time.Now()
		opts := byService(t, b, failure(store.ErrUnusable))
		var more sync.WaitGroup
		more.Go(func() {
			for range 4 { // each postpones the end
				time.Sleep(20 * time.Second)
				routed(t, b, 1, "alive")
			}
		})
		_, err := run(t.Context(), opts)
		if took := time.Since(began); !errors.Is(err, store.ErrUnusable) || took < 110*time.Second || took > 115*time.Second {
			t.Errorf("error %v after %v", err, took)
		}
		more.Wait()
		if st := b.Stats(); st.Done != 5 || st.Waiting != 1 {
			t.Errorf("buffer: %+v", st)
		}
	})
}

// A batch that an earlier run may have stored elsewhere does not keep a run of another store waiting.
func TestUploadEarlierStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		before, now := openStore(t), openStore(t)
		b := lostBatch(t, before)
		began := time.Now()
		_, err := run(t.Context(), upload.Options{
			Buffer: b, Store: now, StoreName: "now", RetryFor: 30 * time.Second, IndexGroup: 1,
			Backoff: upload.Backoff{Min: 500 * time.Millisecond, Max: time.Minute},
			Stores: func(context.Context, string) (store.Store, error) {
				return &faulty{Store: before, create: func(int, string, func() (string, error)) (string, error) {
					return "", failure(store.ErrUnavailable)
				}}, nil
			},
		})
		if took := time.Since(began); !errors.Is(err, store.ErrUnavailable) || took > 2*time.Second {
			t.Errorf("error %v after %v", err, took)
		}
		exactlyOnce(t, now, 1)
		if st := b.Stats(); st.Waiting != 1 || st.Done != 1 {
			t.Errorf("buffer: %+v", st)
		}
	})
}
