package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"logstow/internal/cli"
	"logstow/internal/test/await"
)

// liveRun is logq with pipes as its standard streams.
type liveRun struct {
	t      *testing.T
	in     *io.PipeWriter
	lines  *bufio.Scanner
	errs   messages
	cancel context.CancelFunc
	ended  chan int
}

// messages is standard error, which may be read meanwhile.
type messages struct {
	mu   sync.Mutex
	text strings.Builder
}

func (m *messages) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text.Write(p)
}

func (m *messages) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text.String()
}

// startLive starts logq.
func startLive(t *testing.T, args ...string) *liveRun {
	t.Helper()
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	l := &liveRun{t: t, in: in, lines: bufio.NewScanner(out), cancel: cancel, ended: make(chan int, 1)}
	env := environment{
		getenv: func(string) string { return "" }, stdin: stdin, stdout: stdout, stderr: &l.errs, now: time.Now, tempDir: t.TempDir(),
	}
	go func() {
		status := run(ctx, append([]string{"logq", "query", "--utc"}, args...), env)
		_ = stdout.Close()
		l.ended <- status
	}()
	t.Cleanup(func() {
		cancel()
		_, _ = in.Close(), out.Close()
	})
	return l
}

// write writes to standard input.
func (l *liveRun) write(text string) {
	l.t.Helper()
	if _, err := io.WriteString(l.in, text); err != nil {
		l.t.Error(err)
	}
}

// expect compares the next lines of standard output.
func (l *liveRun) expect(want ...string) {
	l.t.Helper()
	for _, one := range want {
		if !l.lines.Scan() {
			l.t.Fatalf("ended before %q: %d\n%s", one, <-l.ended, l.errs.String())
		}
		if got := l.lines.Text(); got != one {
			l.t.Errorf("%q, want %q", got, one)
		}
	}
}

// end waits for the end, before which nothing else is printed, and compares the exit status.
func (l *liveRun) end(status int) {
	l.t.Helper()
	for l.lines.Scan() {
		l.t.Errorf("also prints %q", l.lines.Text())
	}
	if got := <-l.ended; got != status {
		l.t.Errorf("status %d, want %d\n%s", got, status, l.errs.String())
	}
}

// Each line of standard input is printed before the next one is written; one that others may continue is printed after a second,
// with those that did.
func TestLiveStdin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := startLive(t, "--file", "-", "-o", "raw", "-x", "noise")
		for _, line := range []string{`{"n":1}`, `{"n":22}`, `{"time":"2000-01-01T00:00:00Z","n":3}`} {
			l.write("{\"noise\":1}\n" + line + "\n")
			l.expect(line)
		}
		const first, second = "2026-11-20 15:04:05 ERROR boom", "\tat a.b.C.d(C.java:1)"
		began := time.Now()
		l.write(first + "\n")
		time.Sleep(time.Second / 2)
		l.write(second + "\n")
		l.expect(first, second)
		if took := time.Since(began); took < 3*time.Second/2 || took > 2*time.Second {
			t.Errorf("printed after %v", took)
		}
		l.write("end without a newline")
		if err := l.in.Close(); err != nil {
			t.Error(err)
		}
		l.expect("end without a newline")
		l.end(cli.OK)
	})
}

// Reading standard input ends with the last record of the limit, with an interrupt, and with its end.
func TestLiveStdinEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, follow := range []string{"", "-f"} {
			args := strings.Fields("--file - -o raw a " + follow)
			l := startLive(t, append(args, "-n", "2")...)
			l.write("{\"a\":1}\n{\"b\":2}\n{\"a\":3}\n{\"a\":4}\n2026-11-20 15:04:05 a\n")
			l.expect(`{"a":1}`, `{"a":3}`)
			l.end(cli.OK)

			l = startLive(t, args...)
			l.write("{\"a\":1}\n2026-11-20 15:04:05 a may go on\n")
			l.expect(`{"a":1}`)
			l.cancel()
			l.expect("2026-11-20 15:04:05 a may go on")
			l.end(cli.Interrupted)

			l = startLive(t, args...)
			l.write("{\"b\":2}\n")
			if err := l.in.Close(); err != nil {
				t.Error(err)
			}
			l.end(cli.NoMatch)
			if errs := l.errs.String(); !strings.HasPrefix(errs, "logq: no records match\nhint: ") {
				t.Errorf("%q", errs)
			}
		}
	})
}

// A reader of the output that has ended is no failure.
func TestLiveOutputClosed(t *testing.T) {
	t.Parallel()
	stdin, in := io.Pipe()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }() // nothing else is written
	ended := make(chan int, 1)
	var errs bytes.Buffer
	go func() {
		ended <- run(t.Context(), []string{"logq", "query", "--file", "-"}, environment{
			getenv: func(string) string { return "" }, stdin: stdin, stdout: pipe{w}, stderr: &errs, now: time.Now, tempDir: t.TempDir(),
		})
		_ = stdin.Close()
	}()
	if _, err := io.WriteString(in, "{\"n\":1}\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	for err == nil {
		_, err = io.WriteString(in, "{\"n\":2}\n")
	}
	if status := <-ended; status != cli.OK || errs.Len() > 0 {
		t.Errorf("%d %q", status, errs.String())
	}
}

// appendLines appends lines to a file.
func appendLines(t *testing.T, path string, lines ...string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // WriteString has the error
	if _, err := f.WriteString(strings.Join(lines, "\n") + "\n"); err != nil {
		t.Fatal(err)
	}
}

// Files are followed as tail -F does: first what they have, in the order of time, then what is written, through rotation by name and by
// truncation, and files that come later.
func TestFollowFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b, c := filepath.Join(dir, "a.log"), filepath.Join(dir, "b.log"), filepath.Join(dir, "c1.log")
	appendLines(t, a, `{"time":"2026-11-20T10:00:01Z","n":2}`, `{"time":"2026-11-20T10:00:03Z","n":4}`)
	appendLines(t, b, `{"time":"2026-11-20T10:00:00Z","n":1}`, `{"time":"2026-11-20T10:00:02Z","n":3,"level":"debug"}`)
	l := startLive(t, "-f", "--file", a, "--file", b, "--file", filepath.Join(dir, "c*.log"), "--file", "-", "-o", "csv", "--fields", "n,source", "-x", "debug")
	l.expect("n,source,late", "1,"+b+",false", "2,"+a+",false", "4,"+a+",false")
	appendLines(t, a, `{"n":5}`, `{"n":6,"level":"debug"}`)
	l.expect("5," + a + ",false")
	l.write("{\"n\":7}\n")
	l.expect("7,stdin,false")
	appendLines(t, a, `{"time":"2026-11-20T09:00:00Z","n":"late"}`, `{"time":"2026-11-20T10:01:00Z","n":"not late"}`)
	l.expect("late,"+a+",true", "not late,"+a+",true") // standard input had the time of reading

	// What is written to the old file after the rotation is read first.
	if err := os.Rename(a, a+".1"); err != nil {
		t.Fatal(err)
	}
	appendLines(t, a+".1", `{"n":8}`)
	appendLines(t, a, `{"time":"2126-11-20T10:00:00Z","n":9}`)
	l.expect("8,"+a+",true", "9,"+a+",false")

	if err := os.WriteFile(b, []byte("{\"n\":10}\n"), 0o600); err != nil { // truncates it
		t.Fatal(err)
	}
	l.expect("10," + b + ",false")
	appendLines(t, c, `{"n":11}`)
	l.expect("11," + c + ",false")
	appendLines(t, c, `2026-11-20 15:04:05 n=12 may go on`)
	l.cancel()
	l.expect("12," + c + ",true")
	l.end(cli.Interrupted)
	glob := filepath.Join(filepath.Dir(b), "c*.log")
	want := "logq: " + glob + ": no file matches\nlogq: " + b + ": file was truncated: reading it from the start\nlogq: " + glob + ": files match\n"
	if errs := l.errs.String(); errs != want {
		t.Errorf("%q", errs)
	}
}

// The existing records are all, those since a time or the last; the limit counts them and new ones.
func TestFollowFilesFrom(t *testing.T) {
	t.Parallel()
	for args, want := range map[string][]string{
		"":                                     {"1", "4", "3", "2", "5"},
		"--tail 2":                             {"3", "2", "5"},
		"--from 2026-11-20T10:00:01Z":          {"3", "2", "5"},
		"--from 2026-11-20T10:00:01Z --tail 1": {"2", "5"},
		"-n 2":                                 {"1", "4"},
		"-n 4":                                 {"1", "4", "3", "2"},
		"-n 5":                                 {"1", "4", "3", "2", "5"},
		"-x T10:00":                            {"5"},
	} {
		path := filepath.Join(t.TempDir(), "app.log")
		appendLines(t, path, `{"time":"2026-11-20T10:00:00Z","n":1}`, `{"time":"2026-11-20T10:00:02Z","n":2}`, `{"time":"2026-11-20T10:00:01Z","n":3}`, `2026-11-20T10:00:00.5Z n=4`)
		l := startLive(t, append([]string{"-f", "--file", path, "-o", "raw", "--fields", "n"}, strings.Fields(args)...)...)
		if none := "logq: no records match yet\nhint: "; len(want) == 1 {
			await.Until(t, time.Minute, "the note that nothing matches", func() bool { return strings.HasPrefix(l.errs.String(), none) })
		}
		for _, n := range want {
			if n == "5" { // it is new
				appendLines(t, path, `{"time":"2026-11-20T11:00:00Z","n":5}`)
			}
			l.expect(n)
		}
		if strings.HasPrefix(args, "-n") {
			l.end(cli.OK)
			continue
		}
		l.cancel()
		l.end(cli.Interrupted)
		if errs := l.errs.String(); errs != "" && len(want) > 1 {
			t.Errorf("%q: %q", args, errs)
		}
	}
}

// The limit may be reached by standard input, which is read beside files; that it is damaged ends nothing else.
func TestFollowFilesAndStdin(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.log")
	appendLines(t, path, `{"n":1}`)
	l := startLive(t, "-f", "--file", path, "--file", "-", "-o", "raw", "-n", "2")
	l.expect(`{"n":1}`)
	in := l.in
	go func() { _, _ = io.WriteString(in, "{\"n\":2}\n{\"n\":3}\n") }() // its end may not be read
	l.expect(`{"n":2}`)
	l.end(cli.OK)

	l = startLive(t, "-f", "--file", path, "--file", "-", "-o", "raw", "-n", "2")
	l.expect(`{"n":1}`)
	damaged := l.in
	go func() { _, _ = io.WriteString(damaged, "PK\x03\x04 is no log") }()
	await.Until(t, time.Minute, "the message", func() bool {
		return strings.HasPrefix(l.errs.String(), "logq: cannot read -: compressed with zip, which is not supported\n")
	})
	appendLines(t, path, `{"n":4}`)
	l.expect(`{"n":4}`)
	l.end(cli.OK)
}

// A file that cannot be read is named, and read once it can be.
func TestFollowFilesLater(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.log")
	l := startLive(t, "-f", "--file", path, "-o", "raw", "-n", "1")
	const missing = "logq: cannot read file, retrying: cannot read "
	await.Until(t, time.Minute, "the message about the file", func() bool { return strings.HasPrefix(l.errs.String(), missing+path) })
	appendLines(t, path, `{"n":1}`)
	l.expect(`{"n":1}`)
	l.end(cli.OK)
}
