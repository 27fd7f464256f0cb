//go:build unix

package journald_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/journald"
	"logstow/internal/test/testrand"
)

// journal writes real files of a journal.
type journal struct{ dir, writer string }

// newJournal needs systemd's own programs; without them the test is skipped, or
// fails where senders are required.
func newJournal(t testing.TB) journal {
	t.Helper()
	path := "/usr/lib/systemd:/lib/systemd"
	var writer string
	_, err := exec.LookPath("journalctl")
	for _, dir := range strings.Split(path, ":") {
		if found, lookErr := exec.LookPath(filepath.Join(dir, "systemd-journal-remote")); lookErr == nil {
			writer = found
		}
	}
	if err == nil && writer != "" {
		return journal{t.TempDir(), writer}
	}
	const want = "no journalctl or systemd-journal-remote here: the Debian packages systemd and systemd-journal-remote have them"
	if os.Getenv("LOGSTOW_REQUIRE_SENDERS") == "1" {
		t.Fatal(want)
	}
	t.Skip(want)
	return journal{}
}

// add writes entries in the export format into the journal.
func (j journal) add(t testing.TB, entries string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), j.writer, "--output="+filepath.Join(j.dir, "test.journal"), "-")
	c.Stdin = strings.NewReader(entries)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func (j journal) options(s input.Sink) journald.Options {
	return journald.Options{Options: input.Options{Service: "test", Sink: s, Now: now}, Spec: journald.Spec{Directory: j.dir}}
}

// withoutPosition waits for n lines, whatever the position: cursors of a real journal are its own.
func (s *sink) withoutPosition(t testing.TB, n int) []string {
	t.Helper()
	late := time.After(2 * time.Minute)
	for {
		s.mu.Lock()
		lines, change := s.lines, s.change
		s.mu.Unlock()
		if len(lines) >= n {
			return lines
		}
		select {
		case <-change:
		case <-late:
			t.Fatalf("%d records came, want %d", len(lines), n)
		}
	}
}

func TestRealOnce(t *testing.T) {
	t.Parallel()
	j := newJournal(t)
	j.add(t, lines(0, 2000))
	s := newSink()
	opts := j.options(s)
	opts.Once = true
	for _, n := range []int{2000, 2000, 2300} {
		if n > 2000 {
			j.add(t, lines(2000, 2300))
		}
		if err := newInput(t, opts).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		check(t, wantLines(0, n), s.withoutPosition(t, 0))
	}
}

// Long, binary and many-line messages come as they are.
func TestRealMessages(t *testing.T) {
	t.Parallel()
	j := newJournal(t)
	messages := []string{"a", "a\n  b\n\tc", "\xff\x00\x01", strings.Repeat("long ", 20_000), "é\r", "=", "-- x"}
	var all strings.Builder
	for i, m := range messages {
		all.WriteString(export(i, "MESSAGE", m, "PRIORITY", "3", "OTHER", m))
	}
	j.add(t, all.String())
	s := newSink()
	opts := j.options(s)
	opts.Once = true
	if err := newInput(t, opts).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, line := range s.withoutPosition(t, 0) {
		if _, got, _ := strings.Cut(line, " ERROR - "); got != messages[i] {
			t.Errorf("%.100q, want %.100q", got, messages[i])
		}
	}
	if len(s.lines) != len(messages) {
		t.Errorf("%d messages came of %d", len(s.lines), len(messages))
	}
}

// All selected entries come, also after the selection has changed: the
// cursor is then of an entry that does not fit.
func TestRealMatches(t *testing.T) {
	t.Parallel()
	j := newJournal(t)
	var all strings.Builder
	for i := range 10 {
		all.WriteString(export(i, "MESSAGE", fmt.Sprintf("line %d", i), "_SYSTEMD_UNIT", fmt.Sprintf("u%d.service", i%2), "PRIORITY", fmt.Sprint(i%8)))
	}
	j.add(t, all.String())
	s := newSink()
	opts := j.options(s)
	opts.Once = true
	read := func(want string) {
		t.Helper()
		s.mu.Lock()
		s.lines = nil
		s.mu.Unlock()
		if err := newInput(t, opts).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range s.withoutPosition(t, 0) {
			got = append(got, l[strings.LastIndexByte(l, ' ')+1:])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	opts.Matches = []string{"PRIORITY=1", "PRIORITY=4"}
	read("1 4 9")
	s.positions = map[string][]byte{}
	opts.Matches = []string{"PRIORITY=4"}
	read("4")
	opts.Matches, opts.Units = nil, []string{"u1.service"}
	read("5 7 9")
}

// A unit that never logged is looked for until it does; then nothing of it is missed.
func TestRealNewUnit(t *testing.T) {
	t.Parallel()
	j := newJournal(t)
	j.add(t, export(0, "MESSAGE", "before", "_SYSTEMD_UNIT", "other.service"))
	s := newSink()
	opts := j.options(s)
	opts.Units = []string{"app*"}
	stop := start(t, opts)
	s.passed(t)
	j.add(t, lines(1, 3))
	check(t, wantLines(1, 3), s.withoutPosition(t, 2))
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// passed waits until what is there is passed over.
func (s *sink) passed(t testing.TB) {
	t.Helper()
	late := time.After(2 * time.Minute)
	for {
		s.mu.Lock()
		n, change := len(s.positions), s.change
		s.mu.Unlock()
		if n > 0 {
			return
		}
		select {
		case <-change:
		case <-late:
			t.Fatal("nothing was passed over")
		}
	}
}

func TestRealFollow(t *testing.T) {
	t.Parallel()
	j := newJournal(t)
	j.add(t, lines(0, 100))
	s := newSink()
	stop := start(t, j.options(s))
	s.passed(t)
	for i := 100; i < 200; i += 20 {
		j.add(t, lines(i, i+20))
		s.withoutPosition(t, i-80)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	j.add(t, lines(200, 250))
	stop = start(t, j.options(s))
	check(t, wantLines(100, 250), s.withoutPosition(t, 150))
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// stopping is a buffer that takes some chunks and then no more, as if the process had ended.
type stopping struct {
	*buffer.Buffer
	left int
}

func (s *stopping) Append(ctx context.Context, c buffer.Chunk) (buffer.LSN, error) {
	if s.left == 0 {
		return 0, errFull
	}
	s.left--
	return s.Buffer.Append(ctx, c)
}

// Ended again and again, with a durable buffer: each entry is in it once.
func TestRealResume(t *testing.T) {
	t.Parallel()
	j := newJournal(t)
	const count = 20_000
	j.add(t, lines(0, count))
	dir := t.TempDir()
	random := testrand.New(t)
	for ended := false; !ended; {
		b, err := buffer.Open(t.Context(), buffer.Options{Dir: dir, Instance: "test"})
		if err != nil {
			t.Fatal(err)
		}
		opts := j.options(&stopping{b, random.IntN(30)})
		opts.Once = true
		err = newInput(t, opts).Run(t.Context())
		ended = err == nil
		if err != nil && !errors.Is(err, errFull) {
			t.Fatal(err)
		}
		if ended {
			b.Drain(t.Context())
			check(t, wantLines(0, count), contents(t, b))
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// contents are all records that a drained buffer holds, as the lines of sink.
func contents(t testing.TB, b *buffer.Buffer) (lines []string) {
	t.Helper()
	var all []string
	for {
		batch, err := b.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := batch.Body()
		if err != nil {
			t.Fatal(err)
		}
		zr, err := zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(zr)
		zr.Close()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")...)
		if err := batch.Done(); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(all) // they begin with their times
	for _, line := range all {
		at, rest, _ := strings.Cut(line, "\t")
		when, err := time.Parse(time.RFC3339Nano, at)
		if err != nil {
			t.Fatal(err)
		}
		const boot = "\t" + `{"_BOOT_ID":"0123456789abcdef0123456789abcdef"}` // the only attribute that every entry has
		if !strings.Contains(rest, boot) {
			t.Errorf("%q has no attribute of the boot", line)
		}
		lines = append(lines, when.Format(time.RFC3339Nano)+" "+strings.ReplaceAll(strings.Replace(rest, boot, "", 1), "\t", " "))
	}
	return lines
}
