package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"logstow/store"
)

// classError is an error of a known class.
type classError struct{ class, err error }

func (e classError) Error() string   { return e.err.Error() }
func (e classError) Unwrap() []error { return []error{e.class, e.err} }

// classify alone decides the class of an error.
func classify(ctx context.Context, op, object string, err error) error {
	var known *store.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case ctx.Err() != nil:
		return contextError(ctx, op, object)
	}
	for _, class := range []error{store.ErrNotFound, store.ErrRange, store.ErrInvalid, store.ErrNoTable, store.ErrUnusable, store.ErrUnavailable} {
		if errors.Is(err, class) {
			return &store.Error{Op: op, Object: object, Class: class, Err: err}
		}
	}
	hint, class := classOfFile(err)
	if e := (*sqlite.Error)(nil); errors.As(err, &e) {
		hint, class = classOfDatabase(e.Code())
	}
	return &store.Error{Op: op, Object: object, Class: class, Hint: hint, Err: err}
}

const (
	hintPermission = "let this user write (to read: read and search) the store's directory, or run as its owner"
	hintReadOnly   = "the store's file system is mounted read-only: remount it, or choose another directory"
	hintPath       = "the store's path does not lead to a directory: correct it, or move away what is in its place"
	hintSpace      = "free space on the store's file system, or drop old days with shipper retain"
)

func classOfFile(err error) (hint string, class error) {
	switch {
	case errors.Is(err, fs.ErrExist):
		return "", store.ErrExists
	case errors.Is(err, fs.ErrNotExist):
		return "", store.ErrNotFound
	case errors.Is(err, syscall.EROFS):
		return hintReadOnly, store.ErrAccessDenied
	case errors.Is(err, fs.ErrPermission):
		return hintPermission, store.ErrAccessDenied
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return hintSpace, store.ErrUnavailable
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENAMETOOLONG):
		return hintPath, store.ErrUnusable // Names that cannot be files' are checked elsewhere.
	default:
		return "", store.ErrUnavailable
	}
}

func classOfDatabase(code int) (hint string, class error) {
	switch code & 0xFF {
	case sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_CANTOPEN:
		return hintPermission, store.ErrAccessDenied
	case sqlite3.SQLITE_FULL:
		return hintSpace, store.ErrUnavailable
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return "another process is writing to the store", store.ErrUnavailable
	default:
		return "", store.ErrUnavailable
	}
}

// invalid is a request that is rejected before anything is touched.
func invalid(op, object string, err error) error {
	return &store.Error{Op: op, Object: object, Class: store.ErrInvalid, Err: err}
}

// contextError is the error of an operation whose context ended, otherwise nil.
func contextError(ctx context.Context, op, object string) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", op, object, context.Cause(ctx))
}
