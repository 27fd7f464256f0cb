package local_test

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"syscall"
	"testing"

	"logstow/internal/test/effort"
	"logstow/store"
	"logstow/store/local"
)

// TestFullFileSystem creates and uses stores on file systems that become full, at
// each of many sizes. With space they go on: nothing was damaged.
func TestFullFileSystem(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "fills a disk")
	mount := t.TempDir()
	if err := syscall.Mount("none", mount, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("cannot mount a file system of its own: %v", err)
	}
	if err := syscall.Unmount(mount, 0); err != nil {
		t.Fatal(err)
	}
	pages := 90
	for size := 1; size <= pages; size += (effort.Cases{Test: 4, Full: 1}).N() {
		fullFileSystem(t, mount, size*4096)
		if t.Failed() {
			return
		}
	}
}

func fullFileSystem(t *testing.T, mount string, size int) {
	t.Helper()
	resize := func(flags uintptr, size int) {
		t.Helper()
		if err := syscall.Mount("none", mount, "tmpfs", flags, fmt.Sprintf("size=%d", size)); err != nil {
			t.Fatal(err)
		}
	}
	resize(0, size)
	defer func() {
		// Not 0: a process that another test is just starting has the same files open until it runs its program.
		if err := syscall.Unmount(mount, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	dir := filepath.Join(mount, "store")
	what := fmt.Sprintf("%d bytes", size)
	var full []error
	c := newScript(nil, func(err error) bool {
		full = append(full, err)
		return len(full) < 3
	})
	// Twice, for a process that starts on a full disk, and one that goes on with it.
	for round := range 2 {
		s, err := local.Open(t.Context(), dir, local.Adopt(adoptSelf), local.Repair(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		c.s, full = s, nil
		c.run(t, 30*round, 30*round+30)
		for _, err := range full {
			if !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("%s: full: %v", what, err)
			}
		}
		if round == 1 { // there is space now, and the same store goes on
			resize(syscall.MS_REMOUNT, 4<<20)
			full = nil
			if !c.run(t, 60, 80) {
				t.Errorf("%s: with space: %v", what, full)
			}
		}
		if err := s.Close(); err != nil {
			t.Logf("%s: close: %v", what, err)
		}
	}
	c.check(t, what, dir)
}
