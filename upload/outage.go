package upload

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"logstow/store"
)

// sayEvery is how often trouble is logged at most.
const sayEvery = time.Minute

// trouble logs what does not work: at once when it begins, then at most once a
// minute, also where it comes and goes, and when it is over. Safe for
// concurrent use.
type trouble struct {
	log         *slog.Logger
	what, where string

	mu       sync.Mutex
	began    time.Time // zero while it works
	said     time.Time // the last line about a failure
	failures int
	err      error
}

// met notes a failure.
func (t *trouble) met(err error, wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	t.err = err
	t.failures++
	if t.began.IsZero() {
		t.began = now
	}
	if !t.said.IsZero() && now.Sub(t.said) < sayEvery {
		return
	}
	t.said = now
	attrs := []any{"store", t.where, "error", err, "failures", t.failures, "since", t.began.UTC(), "retry_in", wait.Round(time.Millisecond)}
	var e *store.Error
	if errors.As(err, &e) && e.Status != 0 {
		attrs = append(attrs, "status", e.Status, "code", e.Code, "request_id", e.RequestID)
	}
	if needsOperator(err) {
		t.log.Error(t.what+" is refused; nothing is lost, but somebody must allow it", attrs...)
		return
	}
	t.log.Warn(t.what+" does not work; trying again", attrs...)
}

// over notes a success.
func (t *trouble) over() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.began.IsZero() {
		return
	}
	if !t.said.Before(t.began) {
		t.log.Info(t.what+" works again", "store", t.where, "failures", t.failures, "after", time.Since(t.began).Round(time.Millisecond))
	}
	t.began, t.failures, t.err = time.Time{}, 0, nil
}

// last is the error of the last failure, nil while it works.
func (t *trouble) last() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// explain adds to what ended a run what did not work at the time, if anything.
func (t *trouble) explain(err error) error {
	if last := t.last(); last != nil {
		return fmt.Errorf("%w; %s did not work: %w", err, t.what, last)
	}
	return err
}
