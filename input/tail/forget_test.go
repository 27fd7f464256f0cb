package tail_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"logstow/input/tail"
)

// The positions of files whose directory was removed while nothing ran, as that of a pod is, are deleted
// after some days.
func TestForgetsWithDirectory(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSink()
	put(t, dir, "pod/0.log", "1\n", "other/0.log", "1\n")
	opts := tail.Options{Paths: []string{"*/*.log"}, FromStart: true}
	again(t, dir, s, opts, "pod/0.log: 1", "other/0.log: 1")
	if err := os.RemoveAll(filepath.Join(dir, "pod")); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dir, s, tail.Options{Paths: []string{"*/*.log"}, Resume: true, PollInterval: time.Minute, ScanInterval: time.Minute})
		for _, c := range []struct {
			wait time.Duration
			want int
		}{{2 * 24 * time.Hour, 2}, {2 * 24 * time.Hour, 1}} {
			f.expect(c.wait)
			if n := len(s.Positions("file:")); n != c.want {
				t.Errorf("%d positions are kept, want %d", n, c.want)
			}
		}
		f.stop()
	})
}

// The position of a compressed file that was read is kept for some days when the file is missing.
func TestKeepsMissingCompressed(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSink()
	put(t, dir, "a.gz", zipped(t, "1\n"))
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dir, s, tail.Options{Paths: []string{"*"}, FromStart: true, Resume: true, PollInterval: 20 * time.Second, ScanInterval: 20 * time.Second})
		f.expect(time.Minute, "a.gz: 1")
		if err := os.Remove(f.path("a.gz")); err != nil {
			t.Fatal(err)
		}
		for _, want := range []int{1, 0} {
			f.expect(2 * 24 * time.Hour)
			if n := len(s.Positions("file:")); n != want {
				t.Errorf("%d positions are kept, want %d", n, want)
			}
		}
		f.stop()
	})
}

// The position of a removed file waits for an incomplete compressed file, which may become its copy, but
// not longer than that one exists.
func TestForgetsAfterIncompleteCompressed(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSink()
	put(t, dir, "a.log", "1\n")
	text := zipped(t, "2\n")
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dir, s, tail.Options{Paths: []string{"a.log*"}, FromStart: true, Resume: true})
		f.expect(time.Minute, "a.log: 1")
		put(t, dir, "a.log.1.gz", text[:len(text)-4])
		f.expect(time.Minute)
		for _, c := range []struct {
			name string
			want int
		}{{"a.log", 1}, {"a.log.1.gz", 0}} {
			if err := os.Remove(f.path(c.name)); err != nil {
				t.Fatal(err)
			}
			f.expect(time.Minute)
			if n := len(s.Positions("file:")); n != c.want {
				t.Errorf("%s was removed: %d positions are kept, want %d", c.name, n, c.want)
			}
		}
		f.stop()
	})
}

// The position of an empty file that is closed and renamed is forgotten: its inode does not identify it.
func TestForgetsEmptyRenamed(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSink()
	const busy = 10
	put(t, dir, "a.log", "")
	for i := range busy {
		put(t, dir, fmt.Sprintf("%d.log", i), "1\n")
	}
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dir, s, tail.Options{Paths: []string{"*.log"}, Resume: true, MaxOpen: 8})
		f.expect(time.Minute)
		var want []string
		for i := range busy { // opened instead of a.log
			name := fmt.Sprintf("%d.log", i)
			add(t, f.path(name), "2\n")
			want = append(want, name+": 2")
		}
		f.expect(time.Minute, want...)
		rename(t, dir, "a.log", "a.log.1")
		f.expect(time.Minute)
		if n := len(s.Positions("file:")); n != busy {
			t.Errorf("%d positions are kept, want %d", n, busy)
		}
		f.stop()
	})
}
