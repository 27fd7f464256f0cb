package tail_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"logstow/input"
	"logstow/input/tail"
)

// A glob that matches no file is logged at the start and each hour, until a file appears; one that becomes empty after an hour.
func TestEmptyGlob(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "b/1.log", "line\n")
	synctest.Test(t, func(t *testing.T) {
		var log lockedText
		stop := startTail(t, tail.Options{
			Options: input.Options{Service: "x", Sink: newSink(), Log: slog.New(slog.NewTextHandler(&log, nil))},
			Paths:   []string{filepath.Join(dir, "a", "*.log"), filepath.Join(dir, "b", "*.log")}, Exclude: []string{"2.log"},
			Polling: true, Resume: true, PollInterval: time.Minute, ScanInterval: time.Minute,
		})
		defer stop()
		after := func(d time.Duration, warnings, infos int) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			text := log.take()
			if w, i := strings.Count(text, `msg="no file matches"`), strings.Count(text, `msg="files match"`); w != warnings || i != infos || strings.Contains(text, "b/") {
				t.Errorf("%d warnings, %d infos, want %d and %d: %s", w, i, warnings, infos, text)
			}
		}
		after(5*time.Minute, 1, 0)
		put(t, dir, "a/2.log", "excluded\n")
		after(150*time.Minute, 2, 0)
		put(t, dir, "a/1.log", "line\n")
		after(5*time.Minute, 0, 1)
		if err := os.Remove(filepath.Join(dir, "a", "1.log")); err != nil {
			t.Fatal(err)
		}
		after(55*time.Minute, 0, 0)
		after(15*time.Minute, 1, 0)
	})
}

// lockedText is a text that several goroutines write.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// take returns the text and clears it.
func (l *lockedText) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()
	return l.text.String()
}

// startTail runs a Tailer until the function returned is called.
func startTail(tb testing.TB, opts tail.Options) (stop func()) {
	tb.Helper()
	tailer, err := tail.New(opts)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- tailer.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			tb.Error(err)
		}
	}
}
