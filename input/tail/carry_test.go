package tail_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/multiline"
	"logstow/input/tail"
)

// snapshots is a sink that keeps what a crash after each Append leaves.
type snapshots struct {
	*sink
	all []snapshot
}

type snapshot struct {
	lines     []string
	positions map[string][]byte
}

func (s *snapshots) Append(ctx context.Context, c buffer.Chunk) (buffer.LSN, error) {
	lsn, err := s.sink.Append(ctx, c)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, snapshot{slices.Clone(s.lines), maps.Clone(s.positions)})
	return lsn, err
}

// rotation is a log that is rotated within a record.
type rotation struct {
	name string
	// before is in the file when it is rotated. Each text of after is written when all that was written before was read.
	start, before string
	after         []string
	want          []string
	// each is set if the file is rotated before each text of after, otherwise before the first.
	each bool
}

func rotations() []rotation {
	const at = "2026-11-20T15:04:05.1Z "
	return []rotation{
		{
			"stack trace", "2026-11-20 15:04:04 INFO start\n", "2026-11-20 15:04:05 ERROR boom\njava.lang.Error: y\n\tat a.b.C.d(C.java:1)\n",
			[]string{"\tat a.b.C.e(C.java:2)\n2026-11-20 15:04:06 INFO next\n", "2026-11-20 15:04:07 INFO last\n"},
			[]string{
				"x: 2026-11-20 15:04:04 INFO start", "x: 2026-11-20 15:04:05 ERROR boom\njava.lang.Error: y\n\tat a.b.C.d(C.java:1)\n\tat a.b.C.e(C.java:2)",
				"x: 2026-11-20 15:04:06 INFO next", "x: 2026-11-20 15:04:07 INFO last",
			},
			false,
		},
		{
			"waiting lines", "2026-11-20 15:04:04 INFO start\n", "2026-11-20 15:04:05 ERROR boom\njava.lang.Error: y\nsecond line\n",
			[]string{"\tat a.b.C.e(C.java:2)\n2026-11-20 15:04:06 INFO next\n"},
			[]string{
				"x: 2026-11-20 15:04:04 INFO start", "x: 2026-11-20 15:04:05 ERROR boom\njava.lang.Error: y\nsecond line\n\tat a.b.C.e(C.java:2)",
				"x: 2026-11-20 15:04:06 INFO next",
			},
			false,
		},
		{
			"end of a record", "2026-11-20 15:04:04 INFO start\n", "2026-11-20 15:04:05 ERROR boom\n",
			[]string{"2026-11-20 15:04:06 INFO next\n"},
			[]string{"x: 2026-11-20 15:04:04 INFO start", "x: 2026-11-20 15:04:05 ERROR boom", "x: 2026-11-20 15:04:06 INFO next"},
			false,
		},
		{
			"parts of two streams", at + "stdout F start\n", at + "stdout P one, \n" + at + "stderr F first\n",
			[]string{at + "stderr F second\n", at + "stderr F third\n" + at + "stdout P two, \n", at + "stdout F three\n" + at + "stdout F {}\n"},
			[]string{"x/stderr: first", "x/stderr: second", "x/stderr: third", "x/stdout: one, two, three", "x/stdout: start", "x/stdout: {}"},
			false,
		},
		{
			"parts of both streams", at + "stdout F start\n", at + "stdout P one, \n" + at + "stderr P first, \n",
			[]string{at + "stderr F second\n" + at + "stdout F two\n"},
			[]string{"x/stderr: first, second", "x/stdout: one, two", "x/stdout: start"},
			false,
		},
		{
			"Docker", `{"log":"start\n","stream":"stdout","time":"2026-11-20T15:04:05.1Z"}` + "\n", `{"log":"{\"a\":\"one, ","stream":"stdout","time":"2026-11-20T15:04:05.1Z"}` + "\n",
			[]string{`{"log":"two\"}\n","stream":"stdout","time":"2026-11-20T15:04:05.1Z"}` + "\n"},
			[]string{"x/stdout: start", `x/stdout: {"a":"one, two"}`},
			false,
		},
		{
			"nothing follows", at + "stdout F start\n", at + "stdout P one\n", []string{""}, []string{"x/stdout: one", "x/stdout: start"}, false,
		},
		{
			"rotated again", at + "stdout F start\n", at + "stdout P one, \n" + at + "stderr P first, \n",
			[]string{at + "stdout P two, \n", at + "stderr F second\n" + at + "stdout P three, \n", at + "stdout F four\n"},
			[]string{"x/stderr: first, second", "x/stdout: one, two, three, four", "x/stdout: start"},
			true,
		},
	}
}

// rotate renames the file at a path, and those that were renamed before.
func rotate(t *testing.T, path string) {
	t.Helper()
	for i := 3; i >= 0; i-- {
		from := fmt.Sprintf("%s.%d", path, i)
		if i == 0 {
			from = path
		}
		if err := os.Rename(from, fmt.Sprintf("%s.%d", path, i+1)); err != nil && (i == 0 || !os.IsNotExist(err)) {
			t.Fatal(err)
		}
	}
}

func carryOptions(dir string, s input.Sink) tail.Options {
	return tail.Options{
		Options:   input.Options{Service: "x", Sink: s, Lines: input.Lines{Multiline: multiline.Options{Auto: true}}},
		Paths:     []string{filepath.Join(dir, "x")},
		FromStart: true, Resume: true, Polling: true, PollInterval: 200 * time.Millisecond, ScanInterval: 200 * time.Millisecond,
	}
}

// run runs a Tailer while during runs, in a synctest bubble.
func run(t *testing.T, dir string, s input.Sink, during func()) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tailer, err := tail.New(carryOptions(dir, s))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- tailer.Run(ctx) }()
		synctest.Wait()
		during()
		time.Sleep(time.Minute)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A record that a rotation splits is one record, also if the shipper is killed after any Append and started again.
func TestRecordSplitByRotation(t *testing.T) {
	t.Parallel()
	for _, c := range rotations() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "x")
			put(t, dir, "x", c.start)
			s := &snapshots{sink: newSink()}
			run(t, dir, s, func() {
				time.Sleep(3 * time.Second)
				add(t, path, c.before)
				time.Sleep(500 * time.Millisecond)
				for i, text := range c.after {
					if i == 0 || c.each {
						rotate(t, path)
					}
					add(t, path, text)
					time.Sleep(900 * time.Millisecond)
				}
			})
			got := s.take()
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Fatal(diff)
			}
			for i, before := range s.all {
				after := newSink()
				after.positions = maps.Clone(before.positions)
				run(t, dir, after, func() {})
				all := append(slices.Clone(before.lines), after.take()...)
				slices.Sort(all)
				if diff := cmp.Diff(c.want, all); diff != "" {
					t.Errorf("killed after append %d of %d: %s", i+1, len(s.all), diff)
				}
			}
		})
	}
}

// Lines that are appended to the former file after the new one was begun are neither lost nor stored twice.
func TestRotatedFileGrowsOn(t *testing.T) {
	t.Parallel()
	const at = "2026-11-20T15:04:05.1Z "
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	put(t, dir, "x", at+"stdout F start\n"+at+"stdout P one, \n")
	s := &snapshots{sink: newSink()}
	run(t, dir, s, func() {
		time.Sleep(time.Second)
		if err := os.Rename(path, path+".1"); err != nil {
			t.Fatal(err)
		}
		add(t, path, at+"stdout P two, \n")
		time.Sleep(time.Second)
		add(t, path+".1", at+"stdout F late\n")
		time.Sleep(time.Second)
		add(t, path, at+"stdout F three\n")
	})
	want := []string{"x/stdout: late", "x/stdout: one, two, ", "x/stdout: start", "x/stdout: three"}
	got := s.take()
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Fatalf("got %q", got)
	}
	for i, before := range s.all {
		after := newSink()
		after.positions = maps.Clone(before.positions)
		run(t, dir, after, func() {})
		var words []string
		for _, line := range append(slices.Clone(before.lines), after.take()...) {
			words = append(words, strings.Fields(line)[1:]...)
		}
		slices.Sort(words)
		if diff := cmp.Diff("[late one, start three two,]", fmt.Sprint(words)); diff != "" {
			t.Errorf("killed after append %d: %s", i+1, diff)
		}
	}
}

// When a run stops, it stores the last records, and the next one reads an unfinished one again if there was no time to wait
// for its rest.
func TestStopWithWaitingLines(t *testing.T) {
	t.Parallel()
	const line, trace = "2026-11-20 15:04:05 ERROR boom\n", "java.lang.Error: y\n\tat a.b.C.d(C.java:1)\n"
	for _, c := range []struct {
		name, text  string
		stopWait    time.Duration
		first, next []string
	}{
		{"line", line, time.Minute, []string{"x: " + line}, nil},
		{"trace", line + trace, time.Minute, []string{"x: " + line + trace}, nil},
		{"line, no time", line, time.Millisecond, []string{"x: " + line}, nil},
		{"trace, no time", line + trace, time.Millisecond, nil, []string{"x: " + line + trace}},
	} {
		dir, s := t.TempDir(), newSink()
		put(t, dir, "x", c.text)
		for i, want := range [][]string{c.first, c.next} {
			stopWait := c.stopWait
			if i > 0 {
				stopWait = time.Minute
			}
			synctest.Test(t, func(t *testing.T) {
				opts := carryOptions(dir, s)
				opts.StopWait = stopWait
				tailer, err := tail.New(opts)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				if err := tailer.Run(ctx); err != nil {
					t.Error(err)
				}
			})
			got := s.take()
			for k := range got {
				got[k] += "\n"
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, run %d: %s", c.name, i+1, diff)
			}
		}
	}
}
