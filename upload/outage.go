package upload

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"logstow/store"
)

// logInterval is how often trouble is logged at most.
const logInterval = time.Minute

// outageLogger logs what does not work: at once when it begins, then at most once a
// minute, also where it comes and goes, and when it is over. Safe for
// concurrent use.
type outageLogger struct {
	log         *slog.Logger
	what, where string

	mu       sync.Mutex
	began    time.Time // zero while it works
	logged   time.Time // the last line about a failure
	failures int
	err      error
}

// failed notes a failure.
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
	if needsOperator(err) {
		t.log.Error(t.what+" failed: access denied; grant the role and it continues", attrs...)
		return
	}
	t.log.Warn(t.what+" failed, retrying", attrs...)
}

// recovered notes a success.
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

// lastError is the error of the last failure, nil while it works.
func (t *outageLogger) lastError() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// wrap adds to what ended a run what did not work at the time, if anything.
func (t *outageLogger) wrap(err error) error {
	if last := t.lastError(); last != nil {
		return fmt.Errorf("%w; %s failed: %w", err, t.what, last)
	}
	return err
}
