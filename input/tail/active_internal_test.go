package tail

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"logstow/buffer"
	"logstow/input"
)

// Of many files only those are polled that grew lately, hold a partial line or have no path.
func TestIsActive(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	tailer, err := New(Options{Options: input.Options{Service: "x", Sink: new(buffer.Buffer), Now: func() time.Time { return now }}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		idle     time.Duration
		gone     bool
		text     string
		isActive bool
	}{
		{"just read", 0, false, "", true},
		{"read ten polls ago", 10 * time.Second, false, "", true},
		{"read before", 10*time.Second + 1, false, "", false},
		{"gone", time.Hour, true, "", true},
		{"partial line", time.Hour, false, "begun", true},
	} {
		f := &file{service: "x"}
		tailer.readFrom(f, input.Point{})
		f.lastRead = now.Add(-c.idle)
		if c.gone {
			f.goneSince = now
		}
		if err := tailer.feed.Read(t.Context(), f.lines, strings.NewReader(c.text), now); err != nil {
			t.Fatal(err)
		}
		if got := tailer.isActive(f); got != c.isActive {
			t.Errorf("%s: active %v", c.name, got)
		}
	}
}

// The watcher opens a file when it is created, and not again when it is written to.
func TestWatcherOpensNewFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.log")
	tailer, err := New(Options{Options: input.Options{Service: "x", Sink: new(buffer.Buffer)}, Paths: []string{path}, Polling: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	w := watch(tailer.opts, &tailer.selection)
	defer w.close()
	for _, c := range []struct {
		op     fsnotify.Op
		opened int
	}{{fsnotify.Create, 1}, {fsnotify.Write, 0}, {fsnotify.Remove, 0}} {
		if !w.note(fsnotify.Event{Name: path, Op: c.op}) {
			t.Errorf("%s is not news", c.op)
		}
		events := w.drain()
		if len(events.opened) != c.opened {
			t.Errorf("%s: %d files were opened, want %d", c.op, len(events.opened), c.opened)
		}
		for _, opened := range events.opened {
			opened.close()
		}
	}
}
