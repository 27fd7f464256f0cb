//go:build unix

package agent

import (
	"context"
	"log/slog"
	"syscall"
	"testing"
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
