// Package hint attaches hints to errors: what to do about a failure, separate from what failed. A
// command prints the hint on its own line after the error.
package hint

import (
	"fmt"
	"slices"
)

// Error is an error with a hint.
type Error struct {
	// Err is the failure.
	Err error
	// Hint tells the user what to do: an imperative without a full stop.
	Hint string
}

// Error is the failure's text alone.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap is the failure.
func (e *Error) Unwrap() error { return e.Err }

// Wrap attaches a hint to an error; nil stays nil.
func Wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &Error{Err: err, Hint: fmt.Sprintf(format, args...)}
}

// Advice returns the hint.
func (e *Error) Advice() string { return e.Hint }

// Of returns the outermost hint of an error, the first of several joined ones; "" if there is none. An error provides a
// hint by a method Advice() string.
func Of(err error) string {
	if all := All(err); len(all) > 0 {
		return all[0]
	}
	return ""
}

// All are the outermost hints of an error and of the errors that it joins, each once.
func All(err error) []string {
	if e, ok := err.(interface{ Advice() string }); ok { //nolint:errorlint // the tree is walked here
		if advice := e.Advice(); advice != "" {
			return []string{advice}
		}
	}
	var all []string
	switch e := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() error }:
		return All(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			for _, advice := range All(err) {
				if !slices.Contains(all, advice) {
					all = append(all, advice)
				}
			}
		}
	}
	return all
}

// Text is an error with all its hints on one line, for contexts with a single string, such as a
// JSON report.
func Text(err error) string {
	text := err.Error()
	for _, advice := range All(err) {
		text += "; hint: " + advice
	}
	return text
}
