package store

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The classes of storage errors, matched with errors.Is. A backend decides the
// class in one place; nothing else reads codes or texts.
var (
	// ErrNotFound: the blob or entity does not exist.
	ErrNotFound = errors.New("not found")
	// ErrNoContainer: the container, or the local store's directory, does not exist.
	ErrNoContainer = errors.New("container not found")
	// ErrNoTable: the table does not exist.
	ErrNoTable = errors.New("table not found")
	// ErrTableBusy: a table of that name is being deleted; retry after a minute.
	ErrTableBusy = errors.New("table is being deleted")
	// ErrExists: the name already exists.
	ErrExists = errors.New("name already exists")
	// ErrRange: the blob does not have the requested range.
	ErrRange = errors.New("range not in blob")
	// ErrAccessDenied: the credential is missing, wrong, expired or lacks a permission.
	ErrAccessDenied = errors.New("access denied")
	// ErrThrottled: storage limits the request rate (429, 503).
	ErrThrottled = errors.New("throttled")
	// ErrUnavailable: no response, a 5xx response, or a full disk: retry.
	ErrUnavailable = errors.New("storage unavailable")
	// ErrUnusable: the store as a whole cannot be used until an operator acts: its path leads to a
	// file, or its database is damaged or of a newer version.
	ErrUnusable = errors.New("store is unusable")
	// ErrInvalid: storage rejects this request and would reject it again.
	ErrInvalid = errors.New("invalid request")
	// ErrHeld: a legal hold, lease or immutability policy keeps the blob.
	ErrHeld = errors.New("held by policy")
)

// Retryable reports whether the same request may succeed later without any change by an operator.
func Retryable(err error) bool {
	return errors.Is(err, ErrThrottled) || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrTableBusy)
}

// Error is a failed storage operation.
type Error struct {
	// Op is the operation as a verb: "create", "read", "list", …
	Op string
	// Object is the blob, table or prefix operated on.
	Object string
	// Class is one of the Err… classes of this package.
	Class error
	// Count is the number of objects that failed with this class, if Op is on several; otherwise 0.
	Count int
	// Code is the service's error code and Status its HTTP status, if there was a response.
	Code   string
	Status int
	// RequestID is the service's id of the request, for its support.
	RequestID string
	// RetryAfter is the delay that the service requested; 0 if none.
	RetryAfter time.Duration
	// Hint is what to do about it, if known. It is not part of the error's text: see
	// [logstow/internal/hint].
	Hint string
	// Err is the cause, free of secrets.
	Err error
}

// Error reads "cannot create x/…: access denied (403 AuthorizationFailure, request …): cause".
func (e *Error) Error() string {
	var b strings.Builder
	class := e.Class
	cause := e.Err
	if errors.Is(cause, class) { // its text begins with the class
		class, cause = cause, nil
	}
	fmt.Fprintf(&b, "cannot %s %s: %v", e.Op, e.Object, class)
	var parts []string
	if e.Status != 0 {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%d %s", e.Status, e.Code)))
	}
	if e.RequestID != "" {
		parts = append(parts, "request "+e.RequestID)
	}
	if len(parts) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(parts, ", "))
	}
	if cause != nil {
		fmt.Fprintf(&b, ": %v", cause)
	}
	return b.String()
}

// Failed returns how many objects failed with a class, by the error of an operation on several, such as Delete.
func Failed(err, class error) (n int) {
	switch e := err.(type) { //nolint:errorlint // unlike errors.As, it looks at all
	case *Error:
		if e.Class == class { //nolint:errorlint // a class is not wrapped
			n = max(1, e.Count)
		}
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			n += Failed(part, class)
		}
	case interface{ Unwrap() error }:
		n = Failed(e.Unwrap(), class)
	}
	return n
}

// Advice is the hint.
func (e *Error) Advice() string { return e.Hint }

// Unwrap gives errors.Is and errors.As the class and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Class}
	}
	return []error{e.Class, e.Err}
}
