package metrics

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	// recentWrite is how long a successful write counts as evidence that storage works.
	recentWrite = 5 * time.Minute
	// fullRatio is the share of its size at which a buffer counts as full: it never fills to the
	// last byte.
	fullRatio = 0.95
)

// ErrFull reports that the buffer has no space.
var ErrFull = errors.New("the buffer is full")

// Healthy is nil as long as the shipper can continue by itself; otherwise a restart may help.
func (m *Metrics) Healthy() error {
	if err := m.opts.Buffer.Err(); err != nil {
		return fmt.Errorf("the buffer failed: %w", err)
	}
	return nil
}

// Ready is nil while records can be accepted: the buffer has space, or storage accepted a write in
// the last five minutes. It is [ErrFull] otherwise.
func (m *Metrics) Ready() error {
	if err := m.Healthy(); err != nil {
		return err
	}
	if !m.full() {
		return nil
	}
	if r := m.opts.Requests; r != nil && m.opts.Now().Sub(r.LastCreate()) < recentWrite {
		return nil
	}
	return ErrFull
}

// Storing is nil while records can be accepted and stored: the buffer has space, and the last
// attempt to store a batch did not fail. Otherwise it is the error of that attempt, or that of
// [Metrics.Ready].
func (m *Metrics) Storing() error {
	if err := m.Healthy(); err != nil {
		return err
	}
	if err := m.opts.Uploader.Outage(); err != nil {
		return fmt.Errorf("cannot store batches: %w", err)
	}
	if m.full() {
		return ErrFull
	}
	return nil
}

// full reports whether the buffer has no space.
func (m *Metrics) full() bool {
	s := m.opts.Buffer.Stats()
	return s.Full || s.Limit > 0 && float64(max(s.Disk, s.Bytes)) >= fullRatio*float64(s.Limit)
}

// respond responds 200 and "ok", or 503 and the error.
func respond(check func() error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		text := "ok\n"
		if err := check(); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			text = err.Error() + "\n"
		}
		_, _ = io.WriteString(w, text) // the client may be gone
	})
}
