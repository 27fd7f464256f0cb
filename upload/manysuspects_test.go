package upload_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"logstow/store"
	"logstow/upload"
)

// Batches that storage rejects do not keep the senders from later ones that it accepts, however many they are.
func TestManyRejectedBeforeOthers(t *testing.T) {
	t.Parallel()
	for _, bad := range []int{60, 68, 200} {
		t.Run(fmt.Sprint(bad), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { testManyRejected(t, bad) })
		})
	}
}

func testManyRejected(t *testing.T, bad int) {
	b := openBuffer(t)
	var names []string
	f := &faulty{Store: nowhere{}, upsert: func(int, string, func() error) error { return nil }}
	f.create = func(_ int, name string, _ func() (string, error)) (string, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		if slices.Index(names, name) < bad {
			return "", failure(store.ErrInvalid)
		}
		return "etag", nil
	}
	for i := range bad {
		fill(t, b, fmt.Sprintf("bad %d", i))
	}
	ctx, cancel := context.WithCancel(t.Context())
	u := upload.New(upload.Options{Buffer: b, Store: f})
	done := make(chan error, 1)
	go func() { done <- u.Run(ctx) }()
	time.Sleep(time.Hour)
	for i := range 5 {
		fill(t, b, fmt.Sprintf("good %d", i))
	}
	time.Sleep(24 * time.Hour)
	if st := u.Stats(); st.Segments != 5 {
		t.Errorf("after a day %d of 5 are delivered, %d quarantined", st.Segments, st.Quarantined)
	}
	cancel()
	<-done
}
