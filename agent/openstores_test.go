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

// A name that is written down with a batch is the same from every directory, and
// with whatever credential it is opened.
func TestAbsoluteName(t *testing.T) {
	t.Setenv("AZURE_STORAGE_ACCOUNT", "one")
	t.Setenv("AZURE_STORAGE_KEY", "a2V5")
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for spec, want := range map[string]string{
		"logs":                     filepath.Join(wd, "logs"),
		"/logs":                    "/logs",
		"file:///logs":             "file:///logs",
		"grant://api.grant":        "grant://" + filepath.Join(wd, "api.grant"),
		"grant:///run/api.grant":   "grant:///run/api.grant",
		"azblob://logs":            "azblob://logs?account=one",
		"azblob://logs/":           "azblob://logs?account=one",
		"azblob://logs?account=b2": "azblob://logs?account=b2",
	} {
		if got, err := absoluteName(spec, os.Getenv); got != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", spec, got, err, want)
		}
		again, err := absoluteName(want, os.Getenv)
		if again != want || err != nil {
			t.Errorf("%s: %s, %v, want no change", want, again, err)
		}
	}
	if name, err := absoluteName("azblob://logs?sig=CANARY", os.Getenv); err == nil {
		t.Errorf("a signature for a store: %s", name)
	}
}

// A store that takes long to open does not delay the opening of another, also if it fails in the end.
func TestOpenWhileAnotherOpens(t *testing.T) {
	t.Parallel()
	slow := filepath.Join(t.TempDir(), "slow.grant") // reading it waits for a writer
	if err := syscall.Mkfifo(slow, 0o600); err != nil {
		t.Fatal(err)
	}
	s := newStores(slog.New(slog.DiscardHandler), os.Getenv)
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
