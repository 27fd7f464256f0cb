// Package problems collects the errors of a job that goes on in spite of them.
package problems

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"logstow/internal/hint"
)

// Max is the maximum number of errors kept; all are logged.
const Max = 100

// List has the first [Max] different errors of a job, and the number of others. Methods may be called concurrently; those that read may
// be called on a nil List.
type List struct {
	mu     sync.Mutex
	errs   []error
	others int
}

// Log logs an error under the name of the job, and keeps it.
func (l *List) Log(log *slog.Logger, job string, err error) {
	log.Error(job, "error", err)
	l.Add(err)
}

// Add keeps an error, unless one with the same text is kept.
func (l *List) Add(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case slices.ContainsFunc(l.errs, func(other error) bool { return other.Error() == err.Error() }):
	case len(l.errs) < Max:
		l.errs = append(l.errs, err)
	default:
		l.others++
	}
}

// Err joins the errors; it is nil if there are none.
func (l *List) Err() error { return errors.Join(l.all()...) }

// Texts are the errors with their hints, for a report; never nil.
func (l *List) Texts() []string {
	texts := []string{}
	for _, err := range l.all() {
		texts = append(texts, hint.Text(err))
	}
	return texts
}

func (l *List) all() []error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	errs := slices.Clone(l.errs)
	if l.others > 0 {
		errs = append(errs, fmt.Errorf("and %d more", l.others))
	}
	return errs
}
