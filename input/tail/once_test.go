package tail_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/input"
	"logstow/input/tail"
)

// files is a small tree of logs.
func files(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	put(t, dir,
		"app.log", "1\n2\nlast",
		"b/app.log", "3\n",
		"b/c/app.log", "4\n",
		"b/c/other.txt", "5\n",
		"odd[1].log", "6\n",
		"empty.log", "",
	)
	if err := os.Symlink(filepath.Join(dir, "b", "c", "other.txt"), filepath.Join(dir, "link.txt")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestOnce(t *testing.T) {
	t.Parallel()
	dir := files(t)
	for _, c := range []struct {
		name  string
		paths []string
		want  []string
	}{
		{"a file", []string{"app.log"}, []string{"app.log: 1", "app.log: 2", "app.log: last"}},
		{"files in the order given", []string{"b/c/other.txt", "b/app.log"}, []string{"other.txt: 5", "app.log: 3"}},
		{"a file twice", []string{"b/app.log", "./b/app.log", "b/*.log"}, []string{"app.log: 3"}},
		{"a glob", []string{"b/*.log"}, []string{"app.log: 3"}},
		{"directories as wildcards", []string{"*/c/*"}, []string{"b/c/app.log: 4", "b/c/other.txt: 5"}},
		{"any depth", []string{"b/**/*.log"}, []string{"app.log: 3", "c/app.log: 4"}},
		{"alternatives", []string{"b/{c/other,app}.{log,txt}"}, []string{"app.log: 3", "c/other.txt: 5"}},
		{"a wildcard in a name", []string{"odd[1].log"}, []string{"odd[1].log: 6"}},
		{"a link", []string{"l*.txt"}, []string{"link.txt: 5"}},
		{"an empty file", []string{"empty.log"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSink()
			for i, p := range c.paths {
				c.paths[i] = filepath.Join(dir, p)
			}
			if err := newTailer(t, s, tail.Options{Paths: c.paths, Once: true}).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, s.take()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Unreadable files are reported; all others are read.
func TestOnceWithFailures(t *testing.T) {
	t.Parallel()
	dir := files(t)
	for _, c := range []struct{ path, want string }{
		{"missing.log", "missing.log: no such file or directory"},
		{"*.nope", "no file matches"},
		{"b", "is a directory"},
		{"missing/*.log", "no file matches"},
	} {
		s := newSink()
		err := newTailer(t, s, tail.Options{Paths: []string{filepath.Join(dir, c.path), filepath.Join(dir, "b/app.log")}, Once: true}).Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v", c.path, err)
		}
		if diff := cmp.Diff([]string{"app.log: 3"}, s.take()); diff != "" {
			t.Errorf("%s: %s", c.path, diff)
		}
		missing, unreadable := newTailer(t, s, tail.Options{Paths: []string{filepath.Join(dir, c.path), filepath.Join(dir, "b/app.log")}}).Check()
		if wrong := append(missing, unreadable...); len(wrong) != 1 || !strings.Contains(wrong[0].Error(), c.want) || (len(unreadable) > 0) != (c.path == "b") {
			t.Errorf("%s: missing %v, unreadable %v", c.path, missing, unreadable)
		}
	}
	if _, err := tail.New(tail.Options{Paths: []string{"a[.log"}}); err == nil {
		t.Error("a broken pattern: no error")
	}
}

// A second run resumes where the first one ended.
func TestOnceAgain(t *testing.T) {
	t.Parallel()
	dir := files(t)
	path := filepath.Join(dir, "b", "app.log")
	s := newSink()
	read := func(want ...string) {
		t.Helper()
		if err := newTailer(t, s, tail.Options{Paths: []string{path}, Once: true}).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, s.take()); diff != "" {
			t.Error(diff)
		}
	}
	read("app.log: 3")
	read()
	add(t, path, "more\n")
	read("app.log: more")
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	add(t, path, "anew\n")
	read("app.log: anew")
	// Another file of the same name and, likely, the same inode, longer than the position.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "b/app.log", "other content\n")
	read("app.log: other content")
}

// At the end all bytes of the files are counted as read, whatever was skipped or is compressed.
func TestOnceProgress(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "a.log", "one\ntwo\n")
	put(t, dir, "b.log", "three\n")
	stats := new(input.Stats)
	s := newSink()
	for n := range 2 { // the second run resumes
		opts := tail.Options{Options: input.Options{Stats: stats}, Paths: []string{filepath.Join(dir, "*.log"), filepath.Join(dir, "a.log")}, Once: true}
		if err := newTailer(t, s, opts).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if all, read := stats.FileBytes.Load(), stats.FileBytesRead.Load(); all != int64(14*(n+1)) || read != all {
			t.Errorf("run %d: %d of %d bytes", n, read, all)
		}
	}
}

func TestOnceInterrupted(t *testing.T) {
	t.Parallel()
	dir := files(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := newTailer(t, newSink(), tail.Options{Paths: []string{filepath.Join(dir, "app.log")}, Once: true}).Run(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// With FromEnd what is there is passed over, packed files too, and is not read later
// either; what comes then is read.
func TestOnceFromEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "app.log", "1\n2\n", "old.log.gz", zipped(t, "3\n"))
	opts := tail.Options{Paths: []string{filepath.Join(dir, "*")}, Once: true, FromEnd: true}
	s := newSink()
	run := func(want ...string) {
		t.Helper()
		if err := newTailer(t, s, opts).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, s.take()); diff != "" {
			t.Error(diff)
		}
	}
	run()
	opts.FromEnd = false
	run()
	add(t, filepath.Join(dir, "app.log"), "4\n")
	run("app.log: 4")
}

// Globs follow links to directories; ** does not, as they may form a cycle.
func TestLinksToDirectories(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "a/x.log", "1\n")
	for link, target := range map[string]string{"b": "a"} {
		if err := os.Symlink(filepath.Join(dir, target), filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, want := range map[string][]string{
		"b*/x.log":    {"b/x.log: 1"},
		"**/b*/x.log": nil,
		"**/*.log":    {"a/x.log: 1"},
	} {
		s := newSink()
		err := newTailer(t, s, tail.Options{Paths: []string{filepath.Join(dir, pattern)}, Once: true}).Run(t.Context())
		if (err != nil) != (want == nil) {
			t.Errorf("%s: %v", pattern, err)
		}
		if diff := cmp.Diff(want, s.take()); diff != "" {
			t.Errorf("%s: %s", pattern, diff)
		}
	}
}

// A file that is replaced before it is opened is reported; the next run reads the file at its path.
func TestOnceReplaced(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSink()
	put(t, dir, "a.log", "1\n", "b.log", "2\n")
	run := func(sink input.Sink) error {
		tailer, err := tail.New(tail.Options{
			Options: input.Options{Service: "x", Sink: sink}, Once: true,
			Paths: []string{filepath.Join(dir, "a.log"), filepath.Join(dir, "b.log")},
		})
		if err != nil {
			t.Fatal(err)
		}
		return tailer.Run(t.Context())
	}
	err := run(&hookSink{s, func() {
		rename(t, dir, "b.log", "b.log.1")
		put(t, dir, "b.log", "3\n")
	}})
	if err == nil || !strings.Contains(err.Error(), "b.log: it was replaced") {
		t.Errorf("error %v", err)
	}
	if err := run(s); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"a.log: 1", "b.log: 3"}, s.take()); diff != "" {
		t.Error(diff)
	}
}

// A file that was copied and truncated while the files before it were read: the rest of its
// former content is read from the copy in the same run.
func TestOnceCopiedMeanwhile(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSink()
	put(t, dir, "a.log", "1\n", "b.log", "2\n")
	run := func(sink input.Sink, want ...string) {
		t.Helper()
		tailer, err := tail.New(tail.Options{
			Options: input.Options{Service: "x", Sink: sink}, Once: true,
			Paths: []string{filepath.Join(dir, "a.log"), filepath.Join(dir, "b.log")},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := tailer.Run(t.Context()); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, s.take()); diff != "" {
			t.Error(diff)
		}
	}
	run(s, "a.log: 1", "b.log: 2")
	add(t, filepath.Join(dir, "a.log"), "3\n")
	run(&hookSink{s, func() { put(t, dir, "b.log.1", "2\n4\n", "b.log", "5\n") }}, "a.log: 3", "b.log: 5", "b.log: 4")
	run(s)
}
