package tail_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/input/tail"
)

// rename gives a file another name.
func rename(t *testing.T, dir, from, to string) {
	t.Helper()
	if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
		t.Fatal(err)
	}
}

// Whatever happens to files between two runs, the next run reads each of their bytes
// once, those of renamed files first.
func TestFollowBetweenRuns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		paths     []string
		meanwhile func(t *testing.T, dir string)
		want      []string
	}{
		{"nothing", []string{"a.log"}, func(*testing.T, string) {}, nil},
		{"growth", []string{"a.log"}, func(t *testing.T, dir string) {
			add(t, filepath.Join(dir, "a.log"), "3\n")
		}, []string{"a.log: 3"}},
		{"a new file", []string{"*.log"}, func(t *testing.T, dir string) {
			put(t, dir, "b.log", "new\n")
		}, []string{"b.log: new"}},
		{"renamed", []string{"a.log"}, func(t *testing.T, dir string) {
			add(t, filepath.Join(dir, "a.log"), "3\n")
			rename(t, dir, "a.log", "a.log.1")
		}, []string{"a.log: 3"}},
		{"rotated", []string{"a.log"}, func(t *testing.T, dir string) {
			add(t, filepath.Join(dir, "a.log"), "3\n")
			rename(t, dir, "a.log", "a.log.1")
			put(t, dir, "a.log", "4\n")
		}, []string{"a.log: 3", "a.log: 4"}},
		{"rotated to a name that matches", []string{"*.log*"}, func(t *testing.T, dir string) {
			add(t, filepath.Join(dir, "a.log"), "3\n")
			rename(t, dir, "a.log", "a.log.1")
			put(t, dir, "a.log", "4\n")
		}, []string{"a.log: 3", "a.log: 4"}},
		{"rotated twice", []string{"*.log"}, func(t *testing.T, dir string) {
			add(t, filepath.Join(dir, "a.log"), "3\n")
			rename(t, dir, "a.log", "x.2")
			put(t, dir, "a.log", "4\n")
			rename(t, dir, "a.log", "x.1")
			put(t, dir, "a.log", "5\n")
		}, []string{"a.log: 3", "a.log: 5"}}, // the one between was never seen at a path that a pattern matches
		{"truncated", []string{"a.log"}, func(t *testing.T, dir string) {
			put(t, dir, "a.log", "3\n")
		}, []string{"a.log: 3"}},
		{"another file in the same inode", []string{"a.log"}, func(t *testing.T, dir string) {
			put(t, dir, "a.log", "longer than it was before\n")
		}, []string{"a.log: longer than it was before"}},
		{"another file in the same inode, elsewhere", []string{"a.log"}, func(t *testing.T, dir string) {
			put(t, dir, "a.log", "longer than it was before\n")
			rename(t, dir, "a.log", "other")
			put(t, dir, "a.log", "4\n")
		}, []string{"a.log: 4"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, s := t.TempDir(), newSink()
			put(t, dir, "a.log", "1\n")
			run := func(want ...string) {
				synctest.Test(t, func(t *testing.T) {
					paths := append([]string(nil), c.paths...)
					f := follow(t, dir, s, tail.Options{Paths: paths, Resume: true})
					f.expect(time.Second, want...)
					f.stop()
					f.expect(0)
				})
			}
			run() // from the end
			add(t, filepath.Join(dir, "a.log"), "2\n")
			run("a.log: 2")
			c.meanwhile(t, dir)
			run(c.want...)
			run()
		})
	}
}

// A renamed target of a link is found in the target's directory.
func TestFollowRenamedBehindALink(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSink()
	put(t, dir, "pods/0.log", "1\n", "logs/x", "")
	if err := os.Symlink(filepath.Join(dir, "pods", "0.log"), filepath.Join(dir, "logs", "a.log")); err != nil {
		t.Fatal(err)
	}
	run := func(want ...string) {
		synctest.Test(t, func(t *testing.T) {
			f := follow(t, dir, s, tail.Options{Paths: []string{"logs/*.log"}, FromStart: true, Resume: true})
			f.expect(time.Second, want...)
			f.stop()
		})
	}
	run("a.log: 1")
	add(t, filepath.Join(dir, "pods/0.log"), "2\n")
	rename(t, dir, "pods/0.log", "pods/0.log.old")
	put(t, dir, "pods/0.log", "3\n")
	run("a.log: 2", "a.log: 3")
}

// A last line without newline is left for the next run, which reads it whole.
func TestFollowHoldsPartialLines(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSink()
	put(t, dir, "a.log", "1\nbeg")
	for i, want := range [][]string{{"a.log: 1"}, nil, {"a.log: begun"}} {
		if i == 2 {
			add(t, filepath.Join(dir, "a.log"), "un\n")
		}
		synctest.Test(t, func(t *testing.T) {
			f := follow(t, dir, s, tail.Options{Paths: []string{"a.log"}, FromStart: true, Resume: true})
			f.expect(time.Second, want...)
			f.stop()
			f.expect(0)
		})
	}
}

// Positions of missing files are deleted: at once if the file was deleted, otherwise after
// some days.
func TestFollowForgets(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSink()
	put(t, dir, "a.log", "1\n", "b.log", "1\n", "c.log", "1\n")
	known := func() int { return len(s.Positions("file:")) }
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dir, s, tail.Options{Paths: []string{"*.log"}, Resume: true, PollInterval: 20 * time.Second, ScanInterval: 20 * time.Second})
		if known() != 3 {
			t.Errorf("%d positions", known())
		}
		if err := os.Remove(f.path("a.log")); err != nil {
			t.Fatal(err)
		}
		rename(t, dir, "b.log", "b.old")
		f.expect(time.Minute)
		if known() != 2 { // a.log was deleted
			t.Errorf("%d positions", known())
		}
		if err := os.Remove(f.path("b.old")); err != nil {
			t.Fatal(err)
		}
		f.expect(2 * 24 * time.Hour)
		if known() != 2 {
			t.Errorf("%d positions", known())
		}
		f.expect(2 * 24 * time.Hour)
		if known() != 1 { // and b.log
			t.Errorf("%d positions", known())
		}
		f.stop()
	})
}

// Nothing is read twice, and renamed files are read first.
func TestOnceAfterRenaming(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSink()
	run := func(name string, want ...string) {
		t.Helper()
		if err := newTailer(t, s, tail.Options{Paths: []string{filepath.Join(dir, name)}, Once: true, Resume: true}).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, s.take()); diff != "" {
			t.Error(diff)
		}
	}
	put(t, dir, "a.log", "1\nlast", "b.log", "b\n")
	run("a.log", "a.log: 1", "a.log: last")
	run("a.log")
	add(t, filepath.Join(dir, "a.log"), " more\n2\n")
	run("b.log", "b.log: b") // not a.log: no pattern matches it
	rename(t, dir, "a.log", "a.log.1")
	put(t, dir, "a.log", "3\n")
	run("a.log", "a.log:  more", "a.log: 2", "a.log: 3")
	run("*.log")
	// A renamed file whose new path a pattern matches is found twice.
	run("*.log*")
	rename(t, dir, "a.log", "a.log.2")
	put(t, dir, "a.log", "4\n")
	run("*.log*", "a.log: 4")
}
