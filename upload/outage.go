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

// outageLogger logs failures of one operation: the first one at once, then at most one per logInterval,
// even if the operation fails intermittently, and the recovery. Safe for concurrent use.
type outageLogger struct {
	log         *slog.Logger
	what, where string

	mu       sync.Mutex
	began    time.Time // zero while the operation succeeds
	logged   time.Time // time of the last log line
	failures int
	err      error
}

// failed records a failure.
func (o *outageLogger) failed(err error, wait time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	o.err = err
	o.failures++
	if o.began.IsZero() {
		o.began = now
	}
	if !o.logged.IsZero() && now.Sub(o.logged) < logInterval {
		return
	}
	o.logged = now
	attrs := []any{"store", o.where, "error", err, "failures", o.failures, "since", o.began.UTC(), "retry_in", wait.Round(time.Millisecond)}
	var e *store.Error
	if errors.As(err, &e) && e.Status != 0 {
		attrs = append(attrs, "status", e.Status, "code", e.Code, "request_id", e.RequestID)
	}
	switch {
	case errors.Is(err, store.ErrAccessDenied):
		o.log.Error(o.what+" failed: access denied; grant the role and it continues", attrs...)
	case needsOperator(err):
		o.log.Error(o.what+" failed; correct the cause and it continues", attrs...)
	default:
		o.log.Warn(o.what+" failed, retrying", attrs...)
	}
}

// recovered records a success.
func (o *outageLogger) recovered() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.began.IsZero() {
		return
	}
	if !o.logged.Before(o.began) {
		o.log.Info(o.what+" recovered", "store", o.where, "failures", o.failures, "after", time.Since(o.began).Round(time.Millisecond))
	}
	o.began, o.failures, o.err = time.Time{}, 0, nil
}

// lastError returns the last error; nil after a success.
func (o *outageLogger) lastError() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// wrap adds the current failure, if any, to the error that ended a run.
func (o *outageLogger) wrap(err error) error {
	if last := o.lastError(); last != nil {
		return fmt.Errorf("%w; %s failed: %w", err, o.what, last)
	}
	return err
}
