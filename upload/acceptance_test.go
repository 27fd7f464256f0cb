package upload_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"logstow/store"
	"logstow/upload"
)

// An acceptance that arrives after the rejections began, of an attempt from before, does not show that storage accepts others.
func TestAcceptanceArrivesLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, b := openStore(t), openBuffer(t)
		faults := &faulty{Store: s}
		accepted, rejected := make(chan struct{}), make(chan struct{})
		faults.create = func(n int, _ string, call func() (string, error)) (string, error) {
			switch {
			case n == 1: // storage is fine
				return call()
			case n == 2: // stored, and the response is late
				etag, err := call()
				close(accepted)
				<-rejected
				return etag, err
			case n == 3:
				<-accepted
				time.AfterFunc(20*time.Millisecond, func() { close(rejected) }) // once the sender knows, and waits
				return "", failure(store.ErrInvalid)                            // from here on storage rejects everything
			case n < 100:
				return "", failure(store.ErrInvalid)
			}
			return call()
		}
		fillMany(t, b, 5)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		stats, err := run(ctx, upload.Options{Buffer: b, Store: faults, Workers: 2, Backoff: upload.Backoff{Min: 100 * time.Millisecond, Max: 100 * time.Millisecond}})
		if err != nil || stats.Quarantined != 0 {
			t.Errorf("%+v, %v", stats, err)
		}
	})
}
