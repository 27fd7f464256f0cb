// Package hint attaches advice to errors: what to do about a failure, apart from
// what failed. A command prints it on a line of its own behind the error.
package hint

import (
	"errors"
	"fmt"
)

// Error is an error with advice.
type Error struct {
	// Err is the failure.
	Err error
	// Hint is what to do about it: an imperative without a full stop.
	Hint string
}

// Error is the failure's text alone.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap is the failure.
func (e *Error) Unwrap() error { return e.Err }

// Wrap attaches advice to an error; nil stays nil.
func Wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &Error{Err: err, Hint: fmt.Sprintf(format, args...)}
}

// Of is the outermost advice that an error carries, "" if it carries none.
func Of(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}
