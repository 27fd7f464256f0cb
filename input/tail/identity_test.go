package tail_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/tail"
)

// again runs a Tailer for a second and compares the lines that it read.
func again(t *testing.T, dir string, s *sink, opts tail.Options, want ...string) {
	t.Helper()
	runAgain(t, dir, s, opts, func(f *following) { f.expect(time.Second, want...) })
}

// againByFile is again for files that are read in any order.
func againByFile(t *testing.T, dir string, s *sink, opts tail.Options, want ...string) {
	t.Helper()
	runAgain(t, dir, s, opts, func(f *following) { f.expectByFile(time.Second, want...) })
}

func runAgain(t *testing.T, dir string, s *sink, opts tail.Options, check func(*following)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		opts.Resume = true
		opts.Paths = append([]string(nil), opts.Paths...)
		f := follow(t, dir, s, opts)
		check(f)
		f.stop()
		f.expect(0)
	})
}

// Files that were rotated, copied or compressed between two runs are resumed at their
// position, once.
func TestRotatedWhileStopped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		rotate func(*writer)
	}{
		{"rename", (*writer).rename},
		{"numbers shifted", (*writer).renameShift},
		{"gzip", (*writer).gzip},
		{"copytruncate", (*writer).copyTruncate},
		{"copytruncate and gzip", func(w *writer) {
			w.copyTruncate()
			w.compress(fmt.Sprintf("%s.20261121-%06d", w.path, w.rotations))
		}},
	} {
		for _, pattern := range []string{"a.log", "a.log*"} {
			t.Run(c.name+", "+pattern, func(t *testing.T) {
				t.Parallel()
				dir, s := t.TempDir(), newSink()
				opts := tail.Options{Paths: []string{pattern}, FromStart: true}
				w := newWriter(t, filepath.Join(dir, "a.log"))
				read := func(from int) {
					t.Helper()
					var want []string
					for i := from; i < w.lines; i++ {
						want = append(want, line(i))
					}
					synctest.Test(t, func(t *testing.T) {
						opts := opts
						opts.Resume, opts.Paths = true, []string{pattern}
						f := follow(t, dir, s, opts)
						time.Sleep(2 * time.Second)
						f.stop()
					})
					var got []string
					for _, l := range s.take() {
						_, message, _ := strings.Cut(l, ": ")
						got = append(got, message)
					}
					if strings.Join(got, "\n") != strings.Join(want, "\n") {
						t.Errorf("from %d: got\n%s\nwant\n%s", from, strings.Join(got, "\n"), strings.Join(want, "\n"))
					}
				}
				w.write(5)
				read(0)
				w.write(2)
				for range 3 {
					w.tick()
					c.rotate(w)
					w.tick()
					w.write(2)
				}
				read(5)
				read(w.lines)
				c.rotate(w)
				read(w.lines)
			})
		}
	}
}

// A file that was written and rotated just after the first scan, by a clock that lags, is read.
func TestLaggingFileClock(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSink()
	put(t, dir, "a.log", "1\n")
	opts := tail.Options{Paths: []string{"a.log"}, FromStart: true}
	again(t, dir, s, opts, "a.log: 1")
	put(t, dir, "a.log.1", "2\n")
	firstScan := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // when the clock of a bubble starts
	modified := firstScan.Add(-5 * time.Millisecond)
	if err := os.Chtimes(filepath.Join(dir, "a.log.1"), modified, modified); err != nil {
		t.Fatal(err)
	}
	again(t, dir, s, opts, "a.log: 2")
}

// Files are not read again when device numbers change, as after a mount.
func TestDeviceChanges(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSink()
	put(t, dir, "a.log", "1\n", "b.log", "other\n")
	opts := tail.Options{Paths: []string{"*.log"}, FromStart: true}
	again(t, dir, s, opts, "a.log: 1", "b.log: other")
	for range 2 {
		known := len(s.Positions("file:"))
		s.remount()
		add(t, filepath.Join(dir, "a.log"), "2\n")
		again(t, dir, s, opts, "a.log: 2")
		if now := len(s.Positions("file:")); now != known {
			t.Errorf("%d positions were kept, %d are", known, now)
		}
	}
	// Renamed as well.
	s.remount()
	add(t, filepath.Join(dir, "a.log"), "3\n")
	rename(t, dir, "a.log", "a.log.1")
	put(t, dir, "a.log", "4\n")
	again(t, dir, s, opts, "a.log: 3", "a.log: 4")
	// The same inode on another device, but another file.
	s.remount()
	put(t, dir, "b.log", "new, and longer\n")
	again(t, dir, s, opts, "b.log: new, and longer")
}

// remount changes the device number in all positions.
func (s *sink) remount() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for input, value := range s.positions {
		if kept, ok := strings.CutPrefix(input, "file:"); ok {
			_, inode, _ := strings.Cut(kept, ":")
			delete(s.positions, input)
			s.positions["file:77:"+inode] = tail.OnDevice(value, 0x77)
		}
	}
}

// The symbolic links of a container runtime: the target is rotated, then the link is replaced.
func TestContainerLinks(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSink()
	put(t, dir, "pods/p/0.log", "1\n", "containers/x", "")
	link := filepath.Join(dir, "containers", "c.log")
	if err := os.Symlink(filepath.Join(dir, "pods/p/0.log"), link); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dir, s, tail.Options{Paths: []string{"containers/*.log"}, FromStart: true, Resume: true})
		f.expect(time.Second, "c.log: 1")
		add(t, f.path("pods/p/0.log"), "2\n")
		rename(t, dir, "pods/p/0.log", "pods/p/0.log.20261121-150405")
		put(t, dir, "pods/p/0.log", "3\n")
		f.expect(6*time.Second, "c.log: 2", "c.log: 3")
		// The container restarts: the link gets another target.
		put(t, dir, "pods/p/1.log", "4\n")
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
		add(t, f.path("pods/p/0.log"), "last\n")
		if err := os.Symlink(f.path("pods/p/1.log"), link); err != nil {
			t.Fatal(err)
		}
		f.expect(6*time.Second, "c.log: last", "c.log: 4")
		f.expect(time.Minute)
		f.stop()
	})
}

// More files than may be open are read, also if they are renamed while closed.
func TestFewDescriptors(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSink()
	const files = 100
	for i := range files {
		put(t, dir, fmt.Sprintf("%03d.log", i), "1\n")
	}
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dir, s, tail.Options{Paths: []string{"*.log"}, FromStart: true, MaxOpen: 8})
		for round := 1; round <= 3; round++ {
			var want []string
			for i := range files {
				want = append(want, fmt.Sprintf("%03d.log: %d", i, round))
			}
			f.expect(3*time.Second, want...)
			if n := openBelow(t, dir); n > 8 {
				t.Errorf("%d files are open", n)
			}
			for i := range files {
				add(t, f.path(fmt.Sprintf("%03d.log", i)), fmt.Sprintf("%d\n", round+1))
				if round == 3 && i%2 == 1 { // renamed while it was closed
					rename(t, dir, fmt.Sprintf("%03d.log", i), fmt.Sprintf("%03d.old", i))
				}
			}
		}
		var last []string
		for i := range files {
			last = append(last, fmt.Sprintf("%03d.log: 4", i))
		}
		time.Sleep(10 * time.Second)
		got := s.take()
		if len(got) != len(last) {
			t.Errorf("%d lines of %d", len(got), len(last))
		}
		f.stop()
	})
}

// openBelow counts the open files of this process in a directory.
func openBelow(t *testing.T, dir string) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc")
	}
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(to, dir) {
			n++
		}
	}
	return n
}

// Compressed files are read once with Once.
func TestOnceCompressed(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSink()
	w := newWriter(t, filepath.Join(dir, "a.log"))
	w.write(1)
	w.gzip()
	w.write(1)
	for _, want := range [][]string{{"a.log: " + line(1), "a.log.20261121-000001.gz: " + line(0)}, nil} {
		if err := newTailer(t, s, tail.Options{Paths: []string{filepath.Join(dir, "*")}, Once: true, Resume: true}).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := s.take(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	put(t, dir, "cut.gz", "\x1f\x8b\x08\x00")
	err := newTailer(t, s, tail.Options{Paths: []string{filepath.Join(dir, "cut.gz")}, Once: true}).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "unexpected end of file") {
		t.Errorf("a truncated compressed file: %v", err)
	}
}

// Two Tailers with different names have separate positions.
func TestNames(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSink()
	put(t, dir, "a.log", "1\n", "b.tmp", "no\n", "x/c.log", "no\n")
	opts := tail.Options{Paths: []string{"**/*"}, Exclude: []string{"*.tmp", filepath.Join(dir, "x", "**")}, FromStart: true}
	opts.Name = "one"
	again(t, dir, s, opts, "a.log: 1")
	opts.Name = "two"
	again(t, dir, s, opts, "a.log: 1")
	add(t, filepath.Join(dir, "a.log"), "2\n")
	again(t, dir, s, opts, "a.log: 2")
	opts.Name = "one"
	again(t, dir, s, opts, "a.log: 2")
	for _, bad := range []tail.Options{{Name: "a:b"}, {MaxOpen: 1}, {Exclude: []string{"a["}}} {
		bad.Options = input.Options{Service: "x", Sink: s}
		if _, err := tail.New(bad); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}

var _ input.Sink = (*buffer.Buffer)(nil)
