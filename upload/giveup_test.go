package upload_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

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
	if st := b.Stats(); st.Done != 0 || st.Waiting != 5 {
		t.Errorf("buffer: %+v", st)
	}
}
