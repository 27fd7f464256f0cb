package tail_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/tail"
)

// zipped is a compressed text.
func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A file was compressed between two runs, its inode is another file's now, and the
// compressed file is incomplete: once it is complete it is resumed at the position of the
// file. Another restart does not change that.
func TestCompressedIncomplete(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		for _, pattern := range []string{"a.log", "a.log*"} {
			t.Run(fmt.Sprintf("restart %v, %s", restart, pattern), func(t *testing.T) {
				t.Parallel()
				dir, s := t.TempDir(), newSink()
				opts := tail.Options{Paths: []string{pattern}, FromStart: true}
				put(t, dir, "a.log", "1\n2\n")
				again(t, dir, s, opts, "a.log: 1", "a.log: 2")
				known := len(s.Positions("file:"))
				text := zipped(t, "1\n2\n3\n")
				put(t, dir, "a.log.1.gz", text[:len(text)-4], "a.log", "another\n") // in its inode
				if restart {
					again(t, dir, s, opts, "a.log: another")
				}
				synctest.Test(t, func(t *testing.T) {
					f := follow(t, dir, s, tail.Options{Paths: []string{pattern}, Resume: true})
					if !restart {
						f.expect(time.Minute, "a.log: another")
					}
					add(t, f.path("a.log.1.gz"), text[len(text)-4:])
					f.expect(time.Minute, "a.log: 3")
					f.stop()
				})
				again(t, dir, s, opts)
				if now := len(s.Positions("file:")); now > known+1 { // that of the compressed one
					t.Errorf("%d positions are kept, %d before", now, known)
				}
			})
		}
	}
}

// The same with a complete compressed file while the limit of open files is reached.
func TestCompressedAtOpenLimit(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSink()
	const busy = 10
	opts := tail.Options{Paths: []string{"*.log"}, FromStart: true, MaxOpen: 8}
	var want []string
	for i := range busy {
		put(t, dir, fmt.Sprintf("%02d.log", i), "1\n")
		want = append(want, fmt.Sprintf("%02d.log: 1", i))
	}
	put(t, dir, "a.log", "1\n2\n")
	againByFile(t, dir, s, opts, append(want, "a.log: 1", "a.log: 2")...)
	want = nil
	for i := range busy {
		add(t, filepath.Join(dir, fmt.Sprintf("%02d.log", i)), "2\n")
		want = append(want, fmt.Sprintf("%02d.log: 2", i))
	}
	put(t, dir, "a.log.1.gz", zipped(t, "1\n2\n3\n"), "a.log", "another\n")
	againByFile(t, dir, s, opts, append(want, "a.log: 3", "a.log: another")...)
	again(t, dir, s, opts)
}

// Repeated truncation without a copy leaves no positions behind.
func TestTruncatedForgetsOrphans(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSink()
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dir, s, tail.Options{Paths: []string{"a.log"}, FromStart: true, Resume: true})
		for i := range 10 {
			put(t, dir, "a.log", fmt.Sprintf("%d\n", i))
			f.expect(6*time.Second, fmt.Sprintf("a.log: %d", i))
			if err := os.Truncate(f.path("a.log"), 0); err != nil {
				t.Fatal(err)
			}
			f.expect(6 * time.Second)
		}
		if n := len(s.Positions("file:")); n != 1 {
			t.Errorf("%d positions are kept", n)
		}
		f.stop()
	})
}

// A file that was written, copied and truncated between two polls: the copy is found by
// the modification time of the directory.
func TestCopiedBetweenPolls(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSink()
	put(t, dir, "a.log", "")
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dir, s, tail.Options{Paths: []string{"a.log"}, Resume: true})
		f.expect(10 * time.Second)
		put(t, dir, "a.log.1", "1\n2\n", "a.log", "3\n")
		f.expect(10*time.Second, "a.log: 3", "a.log: 1", "a.log: 2")
		f.stop()
	})
	again(t, dir, s, tail.Options{Paths: []string{"a.log"}})
}

// hookSink calls a function at the first Append, which ends the first scan.
type hookSink struct {
	*sink
	onFirst func()
}

func (s *hookSink) Append(ctx context.Context, c buffer.Chunk) (buffer.LSN, error) {
	if s.onFirst != nil {
		s.onFirst()
		s.onFirst = nil
	}
	return s.sink.Append(ctx, c)
}

// A copy is skipped because the file itself will be read; then the file is truncated
// before it is read: the copy is read.
func TestCopiedThenTruncated(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSink()
	put(t, dir, "a.log", "1\n", "a.log.1", "1\n")
	synctest.Test(t, func(t *testing.T) {
		tailer, err := tail.New(tail.Options{
			Options: input.Options{Service: "x", Sink: &hookSink{s, func() { put(t, dir, "a.log", "2\n") }}},
			Paths:   []string{filepath.Join(dir, "a.log")}, FromStart: true, Polling: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		if err := tailer.Run(ctx); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"a.log: 1", "a.log: 2"}, s.take()); diff != "" {
			t.Error(diff)
		}
	})
}

// A file that was skipped is identified again if it grew, even within one tick of the clock of the files.
func TestSkippedGrowsWithinATick(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"a.log", "a.log*"} {
		dir, s := t.TempDir(), newSink()
		put(t, dir, "a.log", "1\n")
		synctest.Test(t, func(t *testing.T) {
			f := follow(t, dir, s, tail.Options{Paths: []string{pattern}, FromStart: true})
			f.expect(time.Second, "a.log: 1")
			path, text := f.path("a.log.1.gz"), zipped(t, "2\n")
			put(t, dir, "a.log.1.gz", text[:2])
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			f.expect(time.Minute)
			add(t, path, text[2:])
			if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
			put(t, dir, "other", "") // so that the directory is searched
			f.expect(time.Minute, "a.log: 2")
			f.stop()
		})
	}
}

// Of two files of the first scan, the one with the rotated name is taken for the copy, whichever of
// the names is the first.
func TestCopyAtFirstScan(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a-20261121.log", "a.log-20261121.log"} {
		dir, s := t.TempDir(), newSink()
		put(t, dir, name, "1\n2\n", "a.log", "1\n2\n")
		again(t, dir, s, tail.Options{Paths: []string{"*.log"}, FromStart: true}, "a.log: 1", "a.log: 2")
	}
}
