package tail_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/tail"
	"logstow/internal/test/await"
	"logstow/internal/test/effort"
)

// recorder is a durable buffer that counts the lines appended to it.
type recorder struct {
	*buffer.Buffer
	ledger *ledger
}

// ledger counts lines over any number of runs.
type ledger struct {
	mu    sync.Mutex
	lines map[string]int
	total int
	// changed is closed when more was read.
	changed chan struct{}
}

func newLedger() *ledger { return &ledger{lines: make(map[string]int), changed: make(chan struct{})} }

func (r recorder) Append(ctx context.Context, c buffer.Chunk) (buffer.LSN, error) {
	lsn, err := r.Buffer.Append(ctx, c)
	if err == nil {
		r.ledger.mu.Lock()
		defer r.ledger.mu.Unlock()
		for _, rec := range c.Records {
			r.ledger.lines[string(rec.Message)]++
			r.ledger.total++
		}
		close(r.ledger.changed)
		r.ledger.changed = make(chan struct{})
	}
	return lsn, err
}

func (l *ledger) count() int {
	n, _ := l.next()
	return n
}

// next returns how many lines were read, and a channel that is closed when there are more.
func (l *ledger) next() (n int, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total, l.changed
}

// lacks returns how many of the lines with numbers from first to end-1 were not read yet.
func (l *ledger) lacks(first, end int) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := first; i < end; i++ {
		if l.lines[line(i)] == 0 {
			n++
		}
	}
	return n
}

// compare returns which of the first n lines were lost and which were read more than once.
func (l *ledger) compare(n int) (lost, doubled []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range n {
		switch c := l.lines[line(i)]; {
		case c == 0:
			lost = append(lost, i)
		case c > 1:
			doubled = append(doubled, i)
		}
	}
	return lost, doubled
}

func line(i int) string { return fmt.Sprintf("%08d some text that is logged", i) }

// runner runs a Tailer with a durable buffer, any number of times.
type runner struct {
	t      *testing.T
	opts   tail.Options
	dir    string
	ledger *ledger
	stop   func()
}

func (r *runner) start() {
	r.t.Helper()
	b, err := buffer.Open(r.t.Context(), buffer.Options{Instance: "i", Dir: r.dir, Sync: buffer.SyncNever})
	if err != nil {
		r.t.Fatal(err)
	}
	opts := r.opts
	opts.Paths = append([]string(nil), opts.Paths...)
	log := slog.New(slog.DiscardHandler)
	if testing.Verbose() {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	opts.Options = input.Options{Service: "x", Sink: recorder{b, r.ledger}, Log: log}
	opts.Resume = true
	tailer, err := tail.New(opts)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- tailer.Run(ctx) }()
	r.stop = func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Error(err)
		}
		if err := b.Close(); err != nil {
			r.t.Error(err)
		}
	}
}

// longest is how long reading may take: on a busy machine, a search takes seconds, and the next one
// begins ten times as long after it.
const longest = 2 * time.Minute

// await waits until n lines were read, at most for timeout.
func (r *runner) await(n int, timeout time.Duration) {
	late := time.After(timeout)
	for read, more := r.ledger.next(); read < n; read, more = r.ledger.next() {
		select {
		case <-more:
		case <-late:
			return
		}
	}
}

// writer is a program that logs, and the rotation of its file.
type writer struct {
	t    *testing.T
	path string
	f    *os.File
	// lines and rotations count what was written and rotated.
	lines, rotations int
	// kept are the rotated files that still exist.
	kept []string
	// read waits until all lines before one were read.
	read func(end int)
	// starts are the first lines of the files.
	starts []int
}

func newWriter(t *testing.T, path string) *writer {
	w := &writer{t: t, path: path}
	w.reopen()
	return w
}

func (w *writer) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// tick waits until the clock of files moves on.
func (w *writer) tick() {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), "now")
	now := func() time.Time {
		w.check(os.WriteFile(path, []byte("x"), 0o644))
		info, err := os.Stat(path)
		w.check(err)
		return info.ModTime()
	}
	began := now()
	await.Until(w.t, longest, "the clock of files moves on", func() bool { return now().After(began) })
}

func (w *writer) reopen() {
	if w.f != nil {
		w.check(w.f.Close())
	}
	var err error
	w.starts = append(w.starts, w.lines)
	w.f, err = os.OpenFile(w.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	w.check(err)
}

func (w *writer) write(n int) {
	for range n {
		_, err := w.f.WriteString(line(w.lines) + "\n")
		w.check(err)
		w.lines++
	}
}

// shift increments the numbers of the rotated files, as logrotate does.
func (w *writer) shift(suffix string) {
	for i := len(w.kept); i > 0; i-- {
		w.check(os.Rename(w.numbered(i)+suffix, w.numbered(i+1)+suffix))
	}
	w.kept = append(w.kept, "")
	w.rotations++
}

func (w *writer) numbered(i int) string { return fmt.Sprintf("%s.%d", w.path, i) }

func (w *writer) dated() string {
	w.rotations++
	return fmt.Sprintf("%s.20261121-%06d", w.path, w.rotations)
}

func (w *writer) rename() {
	w.check(os.Rename(w.path, w.dated()))
	w.reopen()
}

// renameLate writes to the renamed file before it creates the new one.
func (w *writer) renameLate() {
	w.check(os.Rename(w.path, w.dated()))
	w.write(2)
	w.reopen()
}

func (w *writer) renameShift() {
	w.shift("")
	w.check(os.Rename(w.path, w.numbered(1)))
	w.reopen()
}

func (w *writer) remove() {
	w.check(os.Remove(w.path))
	w.reopen()
}

// renameRemove keeps the last fifty, and more while they are not read: on a busy machine that takes a while.
func (w *writer) renameRemove() {
	name := w.dated()
	w.check(os.Rename(w.path, name))
	w.reopen()
	if w.kept = append(w.kept, name); len(w.kept) > 50 {
		w.read(w.starts[len(w.starts)-1-50])
		w.check(os.Remove(w.kept[0]))
		w.kept = w.kept[1:]
	}
}

func (w *writer) gzip() {
	name := w.dated()
	w.check(os.Rename(w.path, name))
	w.reopen()
	w.compress(name)
}

// compress does what gzip does: it keeps the modification time.
func (w *writer) compress(name string) {
	in, err := os.Open(name)
	w.check(err)
	defer in.Close()
	info, err := in.Stat()
	w.check(err)
	out, err := os.Create(name + ".gz")
	w.check(err)
	z := gzip.NewWriter(out)
	_, err = io.Copy(z, in)
	w.check(err)
	w.check(z.Close())
	w.check(out.Close())
	w.check(os.Chtimes(name+".gz", info.ModTime(), info.ModTime()))
	w.check(os.Remove(name))
}

// copyTruncate copies and truncates the file while nothing is written.
func (w *writer) copyTruncate() {
	text, err := os.ReadFile(w.path)
	w.check(err)
	w.check(os.WriteFile(w.dated(), text, 0o644))
	w.check(os.Truncate(w.path, 0))
}

// files returns the number of files whose lines were all lost, -1 if a file was lost in part.
func (w *writer) files(lost []int) (n int) {
	missing := make(map[int]bool)
	for _, i := range lost {
		missing[i] = true
	}
	for i, first := range w.starts {
		end := w.lines
		if i+1 < len(w.starts) {
			end = w.starts[i+1]
		}
		gone := 0
		for at := first; at < end; at++ {
			if missing[at] {
				gone++
			}
		}
		switch {
		case gone > 0 && gone < end-first:
			return -1
		case gone > 0:
			n++
		}
	}
	return n
}

// Every line is read once at a hundred rotations a second, also with restarts.
func TestFastRotation(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "rotates many times")
	sample := effort.NewSample(t, 5)
	for _, c := range []struct {
		name     string
		paths    []string
		rotate   func(*writer)
		restarts bool
	}{
		{"rename", []string{"a.log"}, (*writer).rename, true},
		{"rename to names that match", []string{"a.log*"}, (*writer).rename, true},
		{"rename, then written to", []string{"a.log"}, (*writer).renameLate, true},
		{"rename, numbers shifted", []string{"a.log"}, (*writer).renameShift, true},
		{"rename, numbers shifted, matching", []string{"a.log*"}, (*writer).renameShift, true},
		{"gzip", []string{"a.log"}, (*writer).gzip, true},
		{"gzip to names that match", []string{"a.log*"}, (*writer).gzip, true},
		{"copytruncate", []string{"a.log"}, (*writer).copyTruncate, true},
		{"copytruncate to names that match", []string{"a.log*"}, (*writer).copyTruncate, true},
		{"delete", []string{"a.log"}, (*writer).remove, false},
		{"rename, the oldest deleted", []string{"a.log"}, (*writer).renameRemove, false},
	} {
		for _, restarts := range []bool{false, true} {
			if restarts && !c.restarts || !sample.Has() {
				continue
			}
			t.Run(fmt.Sprintf("%s, restarts %v", c.name, restarts), func(t *testing.T) {
				rotateFast(t, c.paths, c.rotate, restarts, c.name == "delete")
			})
		}
	}
}

// rotateFast rotates. Deleted files may be gone before they can be opened: they are read completely or not at all.
// Every other one is deleted once it is read.
func rotateFast(t *testing.T, paths []string, rotate func(*writer), restarts, deleted bool) {
	t.Helper()
	logs := t.TempDir()
	r := &runner{t: t, dir: t.TempDir(), ledger: newLedger(), opts: tail.Options{FromStart: true, StopWait: time.Second}}
	if deleted { // the next run could not read what is left
		r.opts.StopWait = longest
	}
	for _, p := range paths {
		r.opts.Paths = append(r.opts.Paths, filepath.Join(logs, p))
	}
	w := newWriter(t, filepath.Join(logs, "a.log"))
	last := func(w *writer) {
		await.Until(t, longest, "the last line is read", func() bool { return r.ledger.lacks(w.lines-1, w.lines) == 0 })
	}
	w.read = func(end int) {
		await.Until(t, longest, "the file is read", func() bool { return r.ledger.lacks(0, end) == 0 })
	}
	r.start()
	w.write(3) // so that the file was seen before the first rotation
	r.await(3, longest)
	const rotations = 120
	for i := range rotations {
		began := time.Now()
		w.write(4)
		time.Sleep(2 * time.Millisecond) // a program does not write all its lines at once
		w.write(3)
		if deleted && i%2 == 1 {
			last(w)
		}
		rotate(w)
		w.write(3)
		if restarts && i%20 == 10 {
			r.stop()
			for range 3 {
				w.write(2)
				rotate(w)
			}
			r.start()
		}
		time.Sleep(10*time.Millisecond - time.Since(began)) // a hundred rotations a second
	}
	w.write(1)
	if deleted {
		last(w)
	} else {
		r.await(w.lines, longest)
	}
	r.stop()
	lost, doubled := r.ledger.compare(w.lines)
	missing := len(lost)
	if gone := w.files(lost); deleted && gone >= 0 && gone <= rotations/2 {
		t.Logf("%d of %d files were deleted before they could be opened", gone, rotations)
		missing = 0
	}
	if missing+len(doubled) > 0 || r.ledger.count() != w.lines-len(lost) {
		t.Errorf("of %d lines %d were lost, %d doubled: %v, %v", w.lines, len(lost), len(doubled), head(lost), head(doubled))
	}
}

func head(all []int) []int { return all[:min(len(all), 40)] }
