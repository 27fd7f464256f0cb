package tail_test

import (
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
		f := follow(t, dir, s, tail.Options{Paths: []string{"*/*.log"}, Resume: true})
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
		f := follow(t, dir, s, tail.Options{Paths: []string{"*"}, FromStart: true, Resume: true})
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
