//go:build unix

package agent

import (
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"logstow/internal/test/await"
)

// A store that takes long to open does not delay the opening of another, also if it fails in the end.
func TestOpenWhileAnotherOpens(t *testing.T) {
	t.Parallel()
	slow := filepath.Join(t.TempDir(), "slow.grant") // reading it waits for a writer
	if err := syscall.Mkfifo(slow, 0o600); err != nil {
		t.Fatal(err)
	}
	s := newStores(slog.New(slog.DiscardHandler), os.Getenv, nil)
	failed := make(chan error, 1)
	go func() {
		_, err := s.open(t.Context(), "grant://"+slow)
		failed <- err
	}()
	var writer *os.File
	await.Until(t, time.Minute, "the slow store is being opened", func() (opened bool) {
		var err error
		writer, err = os.OpenFile(slow, os.O_WRONLY|syscall.O_NONBLOCK, 0) // fails without a reader
		return err == nil
	})
	other := make(chan error, 1)
	go func() {
		_, err := s.open(t.Context(), t.TempDir())
		other <- err
	}()
	select {
	case err := <-other:
		if err != nil {
			t.Error(err)
		}
	case err := <-failed:
		t.Fatalf("the slow one ended first: %v", err)
	case <-time.After(time.Minute):
		t.Error("another store waits for the slow one")
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err == nil {
		t.Error("an empty file is a grant")
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}
