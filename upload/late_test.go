package upload_test

import (
	"testing"

	"logstow/store"
	"logstow/upload"
)

// A rejection that arrives after the first batch was delivered, of an attempt that began before, is not
// the batch's own: the cause is gone.
func TestRejectionArrivesLate(t *testing.T) {
	t.Parallel()
	s, b := openStore(t), openBuffer(t)
	faults := &faulty{Store: s}
	second, delivered := make(chan struct{}), make(chan struct{})
	faults.create = func(n int, _ string, call func() (string, error)) (string, error) {
		switch n {
		case 1, 2: // two batches are rejected
			return "", failure(store.ErrInvalid)
		case 3: // the second attempt of one of them, or the first of another
			close(second)
			<-delivered
			return "", failure(store.ErrInvalid)
		}
		<-second
		etag, err := call()
		if n == 4 {
			close(delivered)
		}
		return etag, err
	}
	fillMany(t, b, 2)
	stats, err := run(t.Context(), upload.Options{Buffer: b, Store: faults, Workers: 2})
	if err != nil || stats.Quarantined != 0 {
		t.Errorf("%+v, %v", stats, err)
	}
	exactlyOnce(t, s, 2)
}
