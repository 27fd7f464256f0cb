//go:build unix

package tail_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/input/tail"
)

// A named pipe that a glob matches is not opened: that would release its writer, which nothing reads.
func TestPipeIsNotOpened(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSink()
	put(t, dir, "a.log", "1\n")
	path := filepath.Join(dir, "pipe.log")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		w, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			err = w.Close()
		}
		opened <- err
	}()
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dir, s, tail.Options{Paths: []string{"*.log"}, FromStart: true})
		f.expect(time.Hour, "a.log: 1")
		f.stop()
	})
	select {
	case <-opened:
		t.Error("the pipe was opened")
	default:
		r, err := os.OpenFile(path, os.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := <-opened; err != nil {
			t.Error(err)
		}
		_ = r.Close()
	}
}

// A named pipe is read to its end; waiting for it can be interrupted.
func TestOncePipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	// Opened for both, so that neither side waits for the other.
	w, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	s := newSink()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- newTailer(t, s, tail.Options{Paths: []string{path}, Once: true}).Run(ctx) }()
	if _, err := w.WriteString("one\n"); err != nil {
		t.Fatal(err)
	}
	<-s.got
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff([]string{"pipe: one"}, s.take()); diff != "" {
		t.Error(diff)
	}
}

// Waiting for the writer of a named pipe can be interrupted, too.
func TestOncePipeWithoutWriter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- newTailer(t, newSink(), tail.Options{Paths: []string{path}, Once: true}).Run(ctx) }()
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it still waits")
	}
}

// A file whose position cannot be decoded is read from its start, once.
func TestUndecodablePosition(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSink()
	put(t, dir, "a.log", "1\n", "b.log", "1\n")
	opts := tail.Options{Paths: []string{"*.log"}}
	again(t, dir, s, opts) // from the end
	info, err := os.Stat(filepath.Join(dir, "a.log"))
	if err != nil {
		t.Fatal(err)
	}
	for name := range s.positions {
		if strings.HasSuffix(name, fmt.Sprintf(":%x", info.Sys().(*syscall.Stat_t).Ino)) {
			s.positions[name] = []byte{255}
		}
	}
	add(t, filepath.Join(dir, "b.log"), "2\n")
	again(t, dir, s, opts, "a.log: 1", "b.log: 2")
	again(t, dir, s, opts)
}
