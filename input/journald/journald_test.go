//go:build unix

package journald_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/journald"
	"logstow/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sink keeps what it gets.
type sink struct {
	mu        sync.Mutex
	change    chan struct{} // closed when something came
	lines     []string
	positions map[string][]byte
	// left is how many more appends are taken, where it is not negative.
	left int
}

var errFull = errors.New("the sink takes no more")

func newSink() *sink {
	return &sink{change: make(chan struct{}), positions: make(map[string][]byte), left: -1}
}

func (s *sink) Append(_ context.Context, c buffer.Chunk) (buffer.LSN, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 {
		return 0, errFull
	}
	s.left--
	for _, r := range c.Records {
		s.lines = append(s.lines, fmt.Sprintf("%s %s %s %s", time.Unix(0, r.Time).UTC().Format(time.RFC3339Nano), r.Level, r.Source, r.Message))
	}
	for _, p := range c.Positions {
		s.positions[p.Input] = slices.Clone(p.Value)
	}
	close(s.change)
	s.change = make(chan struct{})
	return 0, nil
}

func (s *sink) Position(name string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.positions[name]
	return v, ok
}
func (s *sink) Positions(string) []buffer.Position       { return nil }
func (s *sink) Synced(context.Context, buffer.LSN) error { return nil }

// wait returns the lines when there are n and the position is that of entry i.
func (s *sink) wait(t testing.TB, n, i int) []string {
	t.Helper()
	late := time.After(time.Minute)
	for {
		s.mu.Lock()
		lines, at, change := slices.Clone(s.lines), s.positions["journald:"], s.change
		s.mu.Unlock()
		if len(lines) >= n && string(at) == "\x01"+cursor(i) {
			return lines
		}
		select {
		case <-change:
		case <-late:
			t.Fatalf("%d records came, want %d; position %q; the last: %.500q", len(lines), n, at, lines[max(0, len(lines)-3):])
		}
	}
}

// wantLines are those of the entries from, from+1, … to-1.
func wantLines(from, to int) (want []string) {
	for i := from; i < to; i++ {
		at := time.UnixMicro(second*1_000_000 + int64(i)).UTC().Format(time.RFC3339Nano)
		want = append(want, fmt.Sprintf("%s WARN app.service/app line %d", at, i))
	}
	return want
}

func check(t testing.TB, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%.3000s", diff)
	}
}

// now is a little after the time of the entries.
func now() time.Time { return time.Unix(second+100, 0) }

// fake is a directory with what stands for journalctl.
type fake struct {
	t   testing.TB
	dir string
}

func newFake(t testing.TB, files map[string]string) fake {
	t.Helper()
	f := fake{t, t.TempDir()}
	path, err := filepath.Abs("testdata/journalctl.sh")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, f.command()); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func (f fake) command() string { return filepath.Join(f.dir, "journalctl") }

// pipe makes what entries come from while following, open for writing until the test ends.
func (f fake) pipe() *os.File {
	f.t.Helper()
	path := filepath.Join(f.dir, "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		f.t.Fatal(err)
	}
	w, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = w.Close() })
	return w
}

// args are the arguments of a run, without those that are always there.
func (f fake) args(run int) []string {
	f.t.Helper()
	b, err := os.ReadFile(filepath.Join(f.dir, fmt.Sprint("args.", run)))
	if err != nil {
		f.t.Fatal(err)
	}
	args := strings.Split(strings.TrimSpace(string(b)), "\n")
	return slices.DeleteFunc(args, func(a string) bool {
		return a == "--output=export" || a == "--no-pager" || strings.HasPrefix(a, "--output-fields=")
	})
}

func (f fake) options(s *sink) journald.Options {
	return journald.Options{
		Options: input.Options{Service: "test", Sink: s, Now: now, Stats: new(input.Stats)},
		Command: f.command(),
	}
}

func newInput(t testing.TB, opts journald.Options) *journald.Input {
	t.Helper()
	in, err := journald.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// start runs an input until the test ends; stop ends it sooner and returns Run's error.
func start(t testing.TB, opts journald.Options) (stop func() error) {
	t.Helper()
	in := newInput(t, opts)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- in.Run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = stop() })
	return stop
}

func TestOnce(t *testing.T) {
	t.Parallel()
	s := newSink()
	f := newFake(t, map[string]string{"out.1": lines(0, 3000), "out.2": lines(2999, 3010), "out.3": lines(3009, 3010)})
	opts := f.options(s)
	opts.Once, opts.Directory, opts.Units, opts.Matches = true, "/j", []string{"a.service", "b*"}, []string{"_UID=0", "+", "_UID=1"}
	for range 3 {
		if err := newInput(t, opts).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	check(t, wantLines(0, 3010), s.wait(t, 3010, 3009))
	same := []string{"--directory=/j", "--no-tail"}
	matches := []string{"--unit=a.service", "--unit=b*", "--", "_UID=0", "+", "_UID=1"}
	check(t, slices.Concat(same, matches), f.args(1))
	check(t, slices.Concat(same, []string{"--cursor=" + cursor(2999)}, matches), f.args(2))
	check(t, slices.Concat(same, []string{"--cursor=" + cursor(3009)}, matches), f.args(3))
	if n := opts.Stats.Records.Load(); n != 3010 {
		t.Errorf("%d records are counted", n)
	}
}

// With FromEnd what is in the journal is skipped, and is not read by a later run either.
func TestOnceFromEnd(t *testing.T) {
	t.Parallel()
	s := newSink()
	f := newFake(t, map[string]string{"out.1": line(7), "out.2": lines(7, 9), "out.3": lines(8, 10)})
	opts := f.options(s)
	opts.Once, opts.FromStart, opts.FromEnd = true, true, true
	if err := newInput(t, opts).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	opts.FromEnd = false
	if err := newInput(t, opts).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(t, wantLines(8, 10), s.wait(t, 2, 9))
	check(t, []string{"--lines=1"}, f.args(1))
	check(t, []string{"--no-tail", "--cursor=" + cursor(7), "--"}, f.args(2))
	check(t, []string{"--no-tail", "--cursor=" + cursor(8), "--"}, f.args(3))
}

func TestOnceFails(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"No journal":    {"fail.1": "No journal for you\n"},
		"within":        {"out.1": lines(0, 1) + "MESS"},
		"export format": {"out.1": "__CURSOR=a\n\n"},
		"cut short":     {"out.1": lines(0, 1) + "MESS", "fail.1": "cut short\n"},
	} {
		s := newSink()
		opts := newFake(t, files).options(s)
		opts.Once = true
		want := map[string]string{"within": "unexpected EOF"}[name]
		if want == "" {
			want = name
		}
		if err := newInput(t, opts).Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	opts := newFake(t, nil).options(newSink())
	opts.Once = true
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newInput(t, opts).Run(ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The first time what is there is passed over, and its end noted at once.
func TestFollow(t *testing.T) {
	t.Parallel()
	s := newSink()
	f := newFake(t, map[string]string{"out.1": line(7)})
	pipe := f.pipe()
	stop := start(t, f.options(s))
	s.wait(t, 0, 7)
	for i := 8; i < 100; i++ {
		if _, err := pipe.WriteString(line(i)); err != nil {
			t.Fatal(err)
		}
		if i%10 == 0 {
			s.wait(t, i-7, i) // each comes without another behind it
		}
	}
	check(t, wantLines(8, 100), s.wait(t, 92, 99))
	if err := stop(); err != nil {
		t.Error(err)
	}
	check(t, []string{"--lines=1"}, f.args(1))
	check(t, []string{"--no-tail", "--follow", "--cursor=" + cursor(7), "--"}, f.args(2))
	// The next time it goes on where it was.
	stop = start(t, f.options(s))
	if _, err := pipe.WriteString(lines(99, 103)); err != nil {
		t.Fatal(err)
	}
	check(t, wantLines(8, 103), s.wait(t, 95, 102))
	if err := stop(); err != nil {
		t.Error(err)
	}
	check(t, []string{"--no-tail", "--follow", "--cursor=" + cursor(99), "--"}, f.args(3))
}

// An empty journal has no end to be noted: all that comes is new.
func TestFollowEmpty(t *testing.T) {
	t.Parallel()
	s := newSink()
	f := newFake(t, nil)
	pipe := f.pipe()
	stop := start(t, f.options(s))
	if _, err := pipe.WriteString(lines(0, 3)); err != nil {
		t.Fatal(err)
	}
	check(t, wantLines(0, 3), s.wait(t, 3, 2))
	if err := stop(); err != nil {
		t.Error(err)
	}
	check(t, []string{"--no-tail", "--follow", "--"}, f.args(2))
}

// journalctl that ends is started again and goes on; what it did not finish is read again.
func TestRestart(t *testing.T) {
	t.Parallel()
	s := newSink()
	var log strings.Builder
	f := newFake(t, map[string]string{"out.1": lines(0, 5) + line(5)[:100], "fail.1": "out of luck\n", "out.2": lines(4, 8), "out.3": line(7)})
	opts := f.options(s)
	opts.FromStart = true
	opts.Log = slog.New(slog.NewTextHandler(&log, nil))
	stop := start(t, opts)
	check(t, wantLines(0, 8), s.wait(t, 8, 7))
	if err := stop(); err != nil {
		t.Error(err)
	}
	check(t, []string{"--no-tail", "--follow", "--"}, f.args(1))
	check(t, []string{"--no-tail", "--follow", "--cursor=" + cursor(4), "--"}, f.args(2))
	if text := log.String(); !strings.Contains(text, "out of luck") || !strings.Contains(text, "after=1s") {
		t.Error(text)
	}
}

// An error of the sink ends it; what was not taken comes the next time.
func TestSinkError(t *testing.T) {
	t.Parallel()
	s := newSink()
	s.left = 2
	f := newFake(t, map[string]string{"out.1": lines(0, 5000)})
	f.pipe()
	opts := f.options(s)
	opts.FromStart = true
	if err := newInput(t, opts).Run(t.Context()); !errors.Is(err, errFull) {
		t.Fatal(err)
	}
	n := len(s.lines)
	if n == 0 || n >= 5000 {
		t.Fatalf("%d records", n)
	}
	check(t, wantLines(0, n), s.wait(t, n, n-1))
}

func TestOptions(t *testing.T) {
	t.Parallel()
	f := newFake(t, nil)
	for want, change := range map[string]func(*journald.Options){
		"not on this machine":  func(o *journald.Options) { o.Command = "no-such-journalctl" },
		"name \"a b\"":         func(o *journald.Options) { o.Name = "a b" },
		"FIELD=VALUE":          func(o *journald.Options) { o.Matches = []string{"--file=/etc/passwd"} },
		"without a name":       func(o *journald.Options) { o.Units = []string{""} },
		"version":              func(o *journald.Options) { o.Sink.(*sink).positions["journald:"] = []byte{9, 'a'} },
		"not a journal cursor": func(o *journald.Options) { o.Sink.(*sink).positions["journald:"] = []byte{1, 'a', '\n'} },
	} {
		opts := f.options(newSink())
		change(&opts)
		if _, err := journald.New(opts); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "journald input: ") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// process drops marked records and changes the rest.
type process struct{}

func (process) Process(_ string, r *record.Record) bool {
	if string(r.Message) == "drop" {
		return false
	}
	r.Message = append([]byte("> "), r.Message...)
	return true
}

func TestRecords(t *testing.T) {
	t.Parallel()
	const at = "2026-11-18T11:06:40"
	entries := []string{
		export(1, "MESSAGE", "drop", "PRIORITY", "3"),
		export(2, "MESSAGE", "a\n  b", "PRIORITY", "3", "_SYSTEMD_UNIT", "u.service", "SYSLOG_IDENTIFIER", "i", "_COMM", "c"),
		export(3, "MESSAGE", "ERROR x", "PRIORITY", "6", "_SYSTEMD_UNIT", "u.service", "_COMM", "c", "_TRANSPORT", "stdout"),
		export(4, "MESSAGE", "ERROR x", "PRIORITY", "6", "SYSLOG_IDENTIFIER", "i", "_TRANSPORT", "syslog"),
		export(5, "MESSAGE", "plain", "PRIORITY", "6", "_SYSTEMD_UNIT", "u.service", "_TRANSPORT", "stdout"),
		export(6, "MESSAGE", "2026-11-18T10:00:00Z WARN x"),
		export(7, "MESSAGE", "", "PRIORITY", "2", "SYSLOG_IDENTIFIER", "a\tb"),
		export(8, "_COMM", "says nothing"),
		export(9, "MESSAGE", strings.Repeat("x", 2000), "PRIORITY", "7"),
		strings.Replace(export(10, "MESSAGE", "old", "PRIORITY", "5"), "=1795000000000010\n", "=7\n", 1),
		export(11, "MESSAGE", "\xff\x00", "PRIORITY", "1"),
		export(12, "MESSAGE", "drop", "PRIORITY", "3"),
	}
	want := []string{
		at + ".000002Z ERROR u.service/i > a\n  b",
		at + ".000003Z ERROR u.service/c > ERROR x",
		at + ".000004Z INFO i > ERROR x",
		at + ".000005Z INFO u.service > plain",
		at + ".000006Z WARN - > 2026-11-18T10:00:00Z WARN x",
		at + ".000007Z FATAL a_b > ",
		at + ".000009Z DEBUG - > " + strings.Repeat("x", 980) + " …[logstow: cut 1020 bytes]",
		"2026-11-18T11:08:20Z INFO - > old",
		at + ".000011Z FATAL - > \xff\x00",
	}
	s := newSink()
	opts := newFake(t, map[string]string{"out.1": strings.Join(entries, "")}).options(s)
	opts.Once, opts.Process, opts.MaxRecord = true, process{}, 1024
	if err := newInput(t, opts).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(t, want, s.wait(t, len(want), 12))
	if opts.Stats.Cut.Load() != 1 || opts.Stats.TimesRejected.Load() != 1 {
		t.Errorf("%d cut, %d refused", opts.Stats.Cut.Load(), opts.Stats.TimesRejected.Load())
	}
}
