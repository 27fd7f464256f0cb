//go:build unix

package agent

import (
	"context"
	"log/slog"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A configuration whose read hangs does not delay the end.
func TestReloadHangs(t *testing.T) { //nolint:paralleltest // the signal is for the process
	p := &pipeline{log: slog.New(slog.DiscardHandler), reloads: make(chan Settings)}
	reading, release := make(chan struct{}), make(chan struct{})
	stop := p.awaitReload(context.Background(), func() (Settings, error) {
		close(reading)
		<-release
		return Settings{}, nil
	})
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	<-reading
	stop()
	close(release)
}

// A second SIGHUP reads the configuration again while the first read hangs.
func TestReloadWhileReloadHangs(t *testing.T) { //nolint:paralleltest // the signal is for the process
	p := &pipeline{log: slog.New(slog.DiscardHandler), reloads: make(chan Settings)}
	reading, release := make(chan struct{}), make(chan struct{})
	var reads atomic.Int32
	stop := p.awaitReload(context.Background(), func() (Settings, error) {
		if reads.Add(1) == 1 {
			close(reading)
			<-release
		}
		return Settings{}, nil
	})
	defer close(release)
	defer stop()
	for range 2 {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		<-reading
	}
	select {
	case <-p.reloads:
	case <-time.After(10 * time.Second):
		t.Error("the second reload waits for the first")
	}
}
