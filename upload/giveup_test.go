package upload_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
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
			if n == 2 {
				<-refused
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
