package agent

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"logstow/internal/hint"
)

// A new run replaces the note of the run before: at no time is there none, so that a kill does not lose which stores were written to.
func TestNoteIsReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, noteFile)
	before := Note{Written: []string{"/logs"}, Drained: true}
	if err := before.write(dir); err != nil {
		t.Fatal(err)
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()
	if err := watcher.Add(dir); err != nil {
		t.Fatal(err)
	}
	w := &noteWriter{dir: dir, log: slog.New(slog.DiscardHandler), damaged: func() uint64 { return 0 }}
	if err := w.begin(func(n *Note) { n.Written = before.Written }); err != nil {
		t.Fatal(err)
	}
	timeout := time.After(time.Minute)
	for replaced := false; !replaced; {
		select {
		case e := <-watcher.Events:
			if e.Name == path && e.Has(fsnotify.Remove) {
				t.Error("the note was removed")
			}
			replaced = e.Name == path && e.Has(fsnotify.Create)
		case err := <-watcher.Errors:
			t.Fatal(err)
		case <-timeout:
			t.Fatal("the note was not replaced")
		}
	}
	if n, ok := ReadNote(dir); !ok || n.Drained || !slices.Equal(n.Written, before.Written) {
		t.Errorf("%+v, %v", n, ok)
	}
}

// If the note cannot be replaced, that of the run before does not stay.
func TestNoteIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, noteFile), 0o755); err != nil { // which a file cannot replace
		t.Fatal(err)
	}
	w := &noteWriter{dir: dir, log: slog.New(slog.DiscardHandler), damaged: func() uint64 { return 0 }}
	if err := w.begin(func(*Note) {}); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if err := os.MkdirAll(filepath.Join(dir, noteFile, "sub"), 0o755); err != nil { // which cannot be removed either
		t.Fatal(err)
	}
	if err := w.begin(func(*Note) {}); err == nil || !strings.Contains(err.Error(), "cannot replace the note of the run before") || hint.Of(err) == "" {
		t.Errorf("%v, want what was attempted and a hint", err)
	}
}
