package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"logstow/store"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	path := func(err error) error { return &fs.PathError{Op: "open", Path: "x", Err: err} }
	for _, c := range []struct {
		err, class error
		hint       bool
	}{
		{path(syscall.ENOSPC), store.ErrUnavailable, true},
		{path(syscall.EDQUOT), store.ErrUnavailable, true},
		{path(syscall.EIO), store.ErrUnavailable, false},
		{path(syscall.EMFILE), store.ErrUnavailable, false},
		{path(syscall.EACCES), store.ErrAccessDenied, true},
		{path(syscall.EPERM), store.ErrAccessDenied, true},
		{path(syscall.EROFS), store.ErrAccessDenied, true},
		{path(syscall.ENOENT), store.ErrNotFound, false},
		{&os.LinkError{Op: "link", Err: syscall.EEXIST}, store.ErrExists, false},
		{path(syscall.ENAMETOOLONG), store.ErrUnusable, true},
		{path(syscall.ENOTDIR), store.ErrUnusable, true},
		{path(syscall.EISDIR), store.ErrUnusable, true},
		{path(syscall.ELOOP), store.ErrUnusable, true},
		{errNoTable, store.ErrNoTable, false},
		{errors.New("unknown"), store.ErrUnavailable, false},
	} {
		err := classify(context.Background(), "create", "x", c.err)
		var e *store.Error
		if !errors.As(err, &e) || !errors.Is(e.Class, c.class) || !errors.Is(err, c.err) || (e.Hint != "") != c.hint {
			t.Errorf("%v gives %v, want class %v, hint %t", c.err, err, c.class, c.hint)
		}
		if again := classify(context.Background(), "read", "y", err); !errors.Is(again, err) || again.Error() != err.Error() {
			t.Errorf("%v, classified again: %v", err, again)
		}
	}
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	if err := classify(ctx, "create", "x", path(syscall.EIO)); !errors.Is(err, cause) || store.Retryable(err) {
		t.Errorf("after the end: %v", err)
	}
	if err := classify(ctx, "create", "x", nil); err != nil {
		t.Error(err)
	}
}
