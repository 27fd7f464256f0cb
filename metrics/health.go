package metrics

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"logstow/internal/units"
)

const (
	// recentWrite is the age up to which a successful write shows that storage works.
	recentWrite = 5 * time.Minute
	// fullRatio is the share of its maximum size at which a buffer counts as full. It never fills
	// completely.
	fullRatio = 0.95
)

// ErrFull reports that the buffer has no space.
var ErrFull = errors.New("the buffer is full")

// Healthy returns an error if the buffer has failed, so that the shipper cannot continue and a restart may
// help.
func (m *Metrics) Healthy() error {
	if err := m.opts.Buffer.Err(); err != nil {
		return fmt.Errorf("the buffer failed: %w", err)
	}
	return nil
}

// Ready returns nil while records can be accepted: the buffer has space, or storage accepted a write in
// the last five minutes. Otherwise it returns [ErrFull] or the error of [Metrics.Healthy].
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

// Storing returns nil while records can be accepted and stored: the buffer has space, and the last
// attempt to store a batch succeeded. Otherwise it returns the error of that attempt, [ErrFull], or the error
// of [Metrics.Healthy].
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

// indexState returns a line about the index, which is optional and so never an error: how many entities wait for it, and how
// many were dropped. It is "" if there are none.
func (m *Metrics) indexState() string {
	waiting, dropped := m.opts.Buffer.Stats().Unindexed, m.unindexed()
	if waiting == 0 && dropped == 0 {
		return ""
	}
	return fmt.Sprintf("index: %s waiting, %d dropped\n", units.Count(waiting, "entity"), dropped)
}

// unindexed is how many segments were stored without an index entity since the start.
func (m *Metrics) unindexed() uint64 {
	return m.opts.Uploader.Stats().Unindexed + m.opts.Buffer.Stats().EntitiesDropped
}

// respond returns a handler that responds with 200 and "ok", or with 503 and the error of check, and then with more.
func respond(check func() error, more func() string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		text := "ok\n"
		if err := check(); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			text = err.Error() + "\n"
		}
		_, _ = io.WriteString(w, text+more()) // the client may have disconnected
	})
}
