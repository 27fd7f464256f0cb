package buffer_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"logstow/buffer"
	"logstow/buffer/spool"
)

// TestLockRemoved removes parts of the directory of an open buffer: no second buffer can be
// opened on the files that the first one writes, and the first one fails.
func TestLockRemoved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		remove func(dir string) error
		// other: the second one gets a new directory.
		other bool
	}{
		"lock file removed": {remove: func(dir string) error { return os.Remove(filepath.Join(dir, "lock")) }},
		"lock file replaced": {remove: func(dir string) error {
			path := filepath.Join(dir, "lock")
			return errors.Join(os.Remove(path), os.WriteFile(path, []byte("{}"), 0o600))
		}},
		"directory moved": {remove: func(dir string) error { return os.Rename(dir, dir+".moved") }, other: true},
		"all files removed": {remove: func(dir string) error {
			for _, name := range []string{"lock", "wal", "sealed", "quarantine"} {
				if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "b")
			first, err := buffer.Open(t.Context(), buffer.Options{Dir: dir, Instance: "first"})
			if err != nil {
				t.Fatal(err)
			}
			mustAppend(t, first, chunk(rec(noon, "x")))
			if err := c.remove(dir); err != nil {
				t.Fatal(err)
			}
			second, err := buffer.Open(t.Context(), buffer.Options{Dir: dir, Instance: "second"})
			if c.other {
				if err != nil {
					t.Fatal(err)
				}
				mustClose(t, second)
			} else if !errors.Is(err, buffer.ErrLocked) {
				t.Errorf("opened a second time: %v", err)
			}
			// The first one detects it and returns no more batches.
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := first.Next(ctx); err == nil || errors.Is(err, io.EOF) || errors.Is(err, buffer.ErrClosed) {
				t.Errorf("the first one goes on: %v", err)
			}
			if first.Err() == nil {
				t.Error("the first one does not report what is wrong")
			}
			if err := first.Close(); err == nil {
				t.Error("the first one closed without an error")
			}
			if !c.other { // now it is free
				again, err := buffer.Open(t.Context(), buffer.Options{Dir: dir, Instance: "third"})
				if err != nil {
					t.Fatal(err)
				}
				again.Drain(t.Context())
				if name != "all files removed" && again.Stats().Waiting != 1 {
					t.Errorf("%d batches wait, want that of the first", again.Stats().Waiting)
				}
				mustClose(t, again)
			}
		})
	}
}

// Inspect shows that a buffer is in use even if its lock file was removed or replaced, and it
// does not prevent others from opening the buffer.
func TestInspectWithoutLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, err := buffer.Open(t.Context(), buffer.Options{Dir: dir, Instance: "i"})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "lock")
	if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if s, err := spool.Inspect(t.Context(), dir); err != nil || s.Holder == "" {
		t.Errorf("inspect: %+v, %v", s, err)
	}
	_ = b.Close() // its lock is gone
	looking := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-looking:
				return
			default:
				_, _ = spool.Inspect(t.Context(), dir)
			}
		}
	}()
	for deadline := time.Now().Add(200 * time.Millisecond); time.Now().Before(deadline); {
		mustClose(t, reopen(t, dir))
	}
	close(looking)
	<-ended
}

func reopen(t *testing.T, dir string) *buffer.Buffer {
	t.Helper()
	b, err := buffer.Open(t.Context(), buffer.Options{Dir: dir, Instance: "i"})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// An error of locking is returned, with the reason.
func TestCannotLock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(path string) error
		want error
	}{
		"directory":       {func(path string) error { return os.Mkdir(path, 0o700) }, syscall.EISDIR},
		"link to nothing": {func(path string) error { return os.Symlink(filepath.Join("missing", "lock"), path) }, fs.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := c.make(filepath.Join(dir, "lock")); err != nil {
				t.Fatal(err)
			}
			_, err := buffer.Open(t.Context(), buffer.Options{Instance: "test", Dir: dir})
			if !errors.Is(err, c.want) || errors.Is(err, buffer.ErrLocked) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}
