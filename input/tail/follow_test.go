package tail_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/tail"
)

// following runs a Tailer in a synctest bubble, by polling.
type following struct {
	t    *testing.T
	dir  string
	sink *sink
	stop func()
	// tailer may be used while it waits.
	tailer *tail.Tailer
}

func follow(t *testing.T, dir string, s *sink, opts tail.Options) *following {
	t.Helper()
	opts.Polling = true
	for i, p := range opts.Paths {
		opts.Paths[i] = filepath.Join(dir, p)
	}
	tailer := newTailer(t, s, opts)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- tailer.Run(ctx) }()
	f := &following{t: t, dir: dir, sink: s, tailer: tailer}
	f.stop = func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	synctest.Wait()
	return f
}

// expect lets time pass and compares the lines that were read.
func (f *following) expect(d time.Duration, want ...string) {
	f.t.Helper()
	time.Sleep(d)
	synctest.Wait()
	if diff := cmp.Diff(want, f.sink.take()); diff != "" {
		f.t.Error(diff)
	}
}

// expectByFile lets time pass and compares the lines of each file, whose names want is sorted by: files that wait until
// others are closed are read in any order.
func (f *following) expectByFile(d time.Duration, want ...string) {
	f.t.Helper()
	time.Sleep(d)
	synctest.Wait()
	got := f.sink.take()
	slices.SortStableFunc(got, func(a, b string) int {
		of, _, _ := strings.Cut(a, ":")
		other, _, _ := strings.Cut(b, ":")
		return strings.Compare(of, other)
	})
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Error(diff)
	}
}

func (f *following) path(name string) string { return filepath.Join(f.dir, name) }

func TestFollowGrowth(t *testing.T) {
	t.Parallel()
	for _, fromStart := range []bool{false, true} {
		dir := t.TempDir()
		put(t, dir, "a.log", "old\n")
		synctest.Test(t, func(t *testing.T) {
			f := follow(t, dir, newSink(), tail.Options{Paths: []string{"*.log"}, FromStart: fromStart})
			if fromStart {
				f.expect(0, "a.log: old")
			}
			f.expect(2 * time.Second)
			add(t, f.path("a.log"), "one\ntw")
			f.expect(2*time.Second, "a.log: one")
			add(t, f.path("a.log"), "o\n")
			f.expect(2*time.Second, "a.log: two")
			// A file that appears later is read from its start.
			put(t, dir, "b.log", "new\n")
			f.expect(6*time.Second, "b.log: new")
			// On shutdown the rest is read, including a last line without newline.
			add(t, f.path("a.log"), "three\nlast")
			f.stop()
			f.expect(0, "a.log: three", "a.log: last")
		})
	}
}

func TestFollowPartialLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "a.log", "")
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dir, newSink(), tail.Options{Paths: []string{"a.log"}, PartialWait: 5 * time.Second})
		defer f.stop()
		add(t, f.path("a.log"), "begun")
		f.expect(4 * time.Second)
		add(t, f.path("a.log"), " more") // restarts the wait
		f.expect(4 * time.Second)
		f.expect(3*time.Second, "a.log: begun more")
		add(t, f.path("a.log"), " rest\n")
		f.expect(2*time.Second, "a.log:  rest")
	})
}

func TestFollowRotation(t *testing.T) {
	t.Parallel()
	for _, paths := range [][]string{{"a.log"}, {"a.log*"}} {
		dir := t.TempDir()
		put(t, dir, "a.log", "")
		synctest.Test(t, func(t *testing.T) {
			f := follow(t, dir, newSink(), tail.Options{Paths: paths})
			defer f.stop()
			old, err := os.OpenFile(f.path("a.log"), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer old.Close()
			write := func(text string) {
				if _, err := old.WriteString(text); err != nil {
					t.Fatal(err)
				}
			}
			write("1\n")
			f.expect(2*time.Second, "a.log: 1")
			write("2\n")
			if err := os.Rename(f.path("a.log"), f.path("a.log.1")); err != nil {
				t.Fatal(err)
			}
			put(t, dir, "a.log", "3\n")
			f.expect(6*time.Second, "a.log: 2", "a.log: 3")
			// The writer has not reopened its file yet.
			write("late\n")
			f.expect(2*time.Second, "a.log: late")
			add(t, f.path("a.log"), "4\n")
			f.expect(2*time.Second, "a.log: 4")
			f.expect(time.Minute)
			if err := os.Rename(f.path("a.log.1"), f.path("a.log.2")); err != nil {
				t.Fatal(err)
			}
			f.expect(time.Minute)
		})
	}
}

func TestFollowTruncation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "a.log", "long old content\n")
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dir, newSink(), tail.Options{Paths: []string{"a.log"}})
		defer f.stop()
		add(t, f.path("a.log"), "held")
		f.expect(2 * time.Second)
		if err := os.Truncate(f.path("a.log"), 0); err != nil {
			t.Fatal(err)
		}
		add(t, f.path("a.log"), "anew\n")
		f.expect(2*time.Second, "a.log: held", "a.log: anew")
	})
}

func TestFollowDeletedAndMissing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dir, newSink(), tail.Options{Paths: []string{"a.log", "sub/**/*.log"}})
		defer f.stop()
		put(t, dir, "a.log", "1\n", "sub/x/b.log", "2\n")
		f.expect(6*time.Second, "a.log: 1", "x/b.log: 2")
		if err := os.Remove(f.path("a.log")); err != nil {
			t.Fatal(err)
		}
		f.expect(time.Minute)
		put(t, dir, "a.log", "3\n")
		f.expect(6*time.Second, "a.log: 3")
	})
}

// A second run resumes where the first one ended, also in a renamed file.
func TestFollowResumes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "a.log", "1\n")
	s := newSink()
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dir, s, tail.Options{Paths: []string{"a.log*"}, FromStart: true})
		f.expect(time.Second, "a.log: 1")
		f.stop()
		add(t, f.path("a.log"), "2\n")
		if err := os.Rename(f.path("a.log"), f.path("a.log.1")); err != nil {
			t.Fatal(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dir, s, tail.Options{Paths: []string{"a.log*"}})
		f.expect(time.Second, "a.log: 2")
		f.stop()
	})
}

// File system events suffice: polling would take an hour.
func TestFollowEvents(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSink()
	put(t, dir, "a.log", "1\n")
	tailer := newTailer(t, s, tail.Options{
		Paths: []string{filepath.Join(dir, "*.log")}, FromStart: true, PollInterval: time.Hour, ScanInterval: time.Hour,
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- tailer.Run(ctx) }()
	expect := func(want string) {
		t.Helper()
		select {
		case <-s.got:
			if diff := cmp.Diff([]string{want}, s.take()); diff != "" {
				t.Error(diff)
			}
		case <-time.After(time.Minute):
			t.Fatalf("no event for %q", want)
		}
	}
	expect("a.log: 1")
	add(t, filepath.Join(dir, "a.log"), "2\n")
	expect("a.log: 2")
	// Renamed, as the event of a creation may precede the content.
	put(t, dir, "tmp", "3\n")
	if err := os.Rename(filepath.Join(dir, "tmp"), filepath.Join(dir, "b.log")); err != nil {
		t.Fatal(err)
	}
	expect("b.log: 3")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// On shutdown files are read to their end, however much that is.
func TestFollowReadsAllAtShutdown(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSink()
	const lines = 3 << 15 // of 32 bytes: 3 MiB
	put(t, dir, "a.log", "")
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dir, s, tail.Options{Paths: []string{"a.log"}})
		add(t, f.path("a.log"), strings.Repeat("0123456789 0123456789 012345678\n", lines))
		f.stop()
	})
	if n := len(s.take()); n != lines {
		t.Errorf("%d of %d lines", n, lines)
	}
}

// A closed file that is rewritten in its old size while no more files can be opened is read once it can be.
func TestRewrittenAtOpenLimit(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSink()
	const busy = 6 // as many as are open with MaxOpen 8
	name := func(i int) string { return fmt.Sprintf("%d.log", i) }
	for i := range busy {
		put(t, dir, name(i), "")
	}
	put(t, dir, "last.log", "1\n")
	path := filepath.Join(dir, "last.log")
	setTime := func(at time.Time) { // the file is read behind the others
		t.Helper()
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	future := time.Now().Add(24 * time.Hour)
	setTime(future)
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dir, s, tail.Options{Paths: []string{"*.log"}, FromStart: true, MaxOpen: 8})
		f.expect(time.Second, "last.log: 1")
		for i := range busy { // opening one after the other closes last.log
			add(t, f.path(name(i)), "x\n")
			f.expect(2*time.Second, name(i)+": x")
		}
		for i := range busy {
			add(t, f.path(name(i)), strings.Repeat(strings.Repeat("y", 1<<10)+"\n", 1<<11)) // more than is read at a time
		}
		put(t, dir, "last.log", "2\n")
		setTime(future.Add(time.Second))
		time.Sleep(time.Minute)
		synctest.Wait()
		f.stop()
		if got := s.take(); !slices.Contains(got, "last.log: 2") {
			t.Errorf("%d lines, not that of the rewritten file", len(got))
		}
	})
}

// A file that cannot be read for a while, as on a network file system, is not taken for truncated.
func TestUnreadableForAWhile(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSink()
	put(t, dir, "a.log", "1\n")
	synctest.Test(t, func(t *testing.T) {
		var f *following
		var fails atomic.Bool
		opts := tail.Options{Paths: []string{"*.log"}, FromStart: true}
		opts.Now = func() time.Time { // in the goroutine that reads
			if fails.Swap(false) {
				if err := f.tailer.FailReads(); err != nil {
					t.Error(err)
				}
			}
			return time.Now()
		}
		f = follow(t, dir, s, opts)
		f.expect(2*time.Second, "a.log: 1")
		fails.Store(true)
		add(t, f.path("a.log"), "2\n")
		f.expect(10*time.Second, "a.log: 2")
		if fails.Load() {
			t.Error("no read failed")
		}
		f.stop()
	})
}

// A file that can be opened but not read is not identified: it has no position that is wrong later.
func TestUnreadableHasNoPosition(t *testing.T) {
	t.Parallel()
	const unreadable = "/proc/self/mem"
	if _, err := os.Stat(unreadable); err != nil {
		t.Skip("no /proc")
	}
	dir, s := t.TempDir(), newSink()
	put(t, dir, "a.log", "1\n")
	if err := os.Symlink(unreadable, filepath.Join(dir, "b.log")); err != nil {
		t.Fatal(err)
	}
	again(t, dir, s, tail.Options{Paths: []string{"*.log"}, FromStart: true}, "a.log: 1")
	if n := len(s.Positions("file:")); n != 1 {
		t.Errorf("%d positions", n)
	}
}

// failingSink fails to append records once it is told to.
type failingSink struct {
	*sink
	failure error
}

func (s *failingSink) Append(ctx context.Context, c buffer.Chunk) (buffer.LSN, error) {
	if s.failure != nil && len(c.Records) > 0 {
		return 0, s.failure
	}
	return s.sink.Append(ctx, c)
}

// What is written just before the end is read, and an error of appending it is that of the run.
func TestFollowFailsAtEnd(t *testing.T) {
	t.Parallel()
	for _, failure := range []error{nil, errors.New("the buffer failed")} {
		dir, s := t.TempDir(), &failingSink{sink: newSink()}
		put(t, dir, "a.log", "1\n")
		synctest.Test(t, func(t *testing.T) {
			tailer, err := tail.New(tail.Options{
				Options: input.Options{Service: "x", Sink: s}, Paths: []string{filepath.Join(dir, "a.log")}, Polling: true, FromStart: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- tailer.Run(ctx) }()
			time.Sleep(time.Minute + 250*time.Millisecond) // between two polls
			synctest.Wait()
			s.failure = failure
			add(t, filepath.Join(dir, "a.log"), "2\n")
			stop()
			if err := <-done; !errors.Is(err, failure) {
				t.Errorf("error %v, want %v", err, failure)
			}
			want := []string{"a.log: 1", "a.log: 2"}
			if failure != nil {
				want = want[:1]
			}
			if diff := cmp.Diff(want, s.take()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
