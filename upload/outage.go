package upload

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"logstow/store"
)

// logInterval is the minimum time between two log lines about one outage.
const logInterval = time.Minute

// outageLogger logs failures of one operation: at once at the start, then at most once per minute,
// even if it fails intermittently, and on recovery. Safe for concurrent use.
type outageLogger struct {
	log         *slog.Logger
	what, where string

	mu       sync.Mutex
	began    time.Time // zero while it works
	logged   time.Time // time of the last log line
	failures int
	err      error
}

// failed records a failure.
func (t *outageLogger) failed(err error, wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	t.err = err
	t.failures++
	if t.began.IsZero() {
		t.began = now
	}
	if !t.logged.IsZero() && now.Sub(t.logged) < logInterval {
		return
	}
	t.logged = now
	attrs := []any{"store", t.where, "error", err, "failures", t.failures, "since", t.began.UTC(), "retry_in", wait.Round(time.Millisecond)}
	var e *store.Error
	if errors.As(err, &e) && e.Status != 0 {
		attrs = append(attrs, "status", e.Status, "code", e.Code, "request_id", e.RequestID)
	}
	switch {
	case errors.Is(err, store.ErrAccessDenied):
		t.log.Error(t.what+" failed: access denied; grant the role and it continues", attrs...)
	case needsOperator(err):
		t.log.Error(t.what+" failed; correct the cause and it continues", attrs...)
	default:
		t.log.Warn(t.what+" failed, retrying", attrs...)
	}
}

// recovered records a success.
func (t *outageLogger) recovered() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.began.IsZero() {
		return
	}
	if !t.logged.Before(t.began) {
		t.log.Info(t.what+" recovered", "store", t.where, "failures", t.failures, "after", time.Since(t.began).Round(time.Millisecond))
	}
	t.began, t.failures, t.err = time.Time{}, 0, nil
}

// lastError is the last error, nil after a success.
func (t *outageLogger) lastError() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// wrap adds the current failure, if any, to the error that ended a run.
func (t *outageLogger) wrap(err error) error {
	if last := t.lastError(); last != nil {
		return fmt.Errorf("%w; %s failed: %w", err, t.what, last)
	}
	return err
}
