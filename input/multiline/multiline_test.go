package multiline_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"logstow/input/multiline"
)

func texts(events []multiline.Event) []string {
	var out []string
	for _, e := range events {
		out = append(out, string(e.Text))
	}
	return out
}

func TestStartExpression(t *testing.T) {
	t.Parallel()
	opts := multiline.Options{Start: regexp.MustCompile(`^\d{4}-`)}
	got := texts(join(t, opts, []string{"rest of something", "more", "2026-11-20 a", "", " b", "2026-11-20 c", "2026-11-20 d", "e"}))
	want := []string{"rest of something\nmore", "2026-11-20 a\n\n b", "2026-11-20 c", "2026-11-20 d\ne"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOffJoinsNothing(t *testing.T) {
	t.Parallel()
	lines := []string{"java.lang.Error: x", "\tat a.b.C(D.java:1)", ""}
	if diff := cmp.Diff(lines, texts(join(t, multiline.Options{}, lines))); diff != "" {
		t.Error(diff)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	start := regexp.MustCompile("^-")
	frame := "\tat a.b.C(D.java:1)"
	for name, c := range map[string]struct {
		opts  multiline.Options
		lines []string
		want  []string
	}{
		"lines": {
			multiline.Options{Start: start, MaxLines: 2},
			[]string{"-", "a", "b", "c", "d", "-"},
			[]string{"-\na" + multiline.Mark, "b\nc" + multiline.Mark, "d", "-"},
		},
		"lines, auto": {
			multiline.Options{Auto: true, MaxLines: 2},
			[]string{"x", frame, frame, "Caused by: x", frame},
			[]string{"x\n" + frame + multiline.Mark, frame + "\nCaused by: x" + multiline.Mark, frame},
		},
		"bytes": {
			multiline.Options{Start: start, MaxBytes: len(multiline.Mark) + 7},
			[]string{"-23", "567", "b", "-2", "4567", "-"},
			[]string{"-23\n567" + multiline.Mark, "b", "-2\n4567", "-"},
		},
		"bytes, no room for the mark": {
			multiline.Options{Start: start, MaxBytes: 10},
			[]string{"-", "0123456789", "-"},
			[]string{"-", "0123456789", "-"},
		},
	} {
		events := join(t, c.opts, c.lines)
		if diff := cmp.Diff(c.want, texts(events)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for i, e := range events {
			if c.opts.MaxBytes > 0 && len(e.Text) > c.opts.MaxBytes {
				t.Errorf("%s: event %d of %d bytes", name, i, len(e.Text))
			}
			if marked := strings.HasSuffix(string(e.Text), multiline.Mark); marked && !e.More {
				t.Errorf("%s: event %d has the mark, but not More", name, i)
			}
		}
	}
}

func TestFlush(t *testing.T) {
	t.Parallel()
	var got []string
	j, err := multiline.New(multiline.Options{Auto: true}, func(e multiline.Event) { got = append(got, string(e.Text)) })
	if err != nil {
		t.Fatal(err)
	}
	line := func(text string) multiline.Line { return multiline.Line{Text: []byte(text)} }
	j.Flush(0, 0) // nothing is held
	j.Add(line("ERROR x"), 100)
	j.Add(line("java.lang.Error: y"), 200)
	if _, _, held := j.Held(); !held || len(got) != 0 {
		t.Errorf("got %q too early", got)
	}
	j.Flush(299, 100)
	if len(got) != 0 {
		t.Errorf("got %q before the time", got)
	}
	j.Flush(300, 100)
	if _, _, held := j.Held(); held || !cmp.Equal(got, []string{"ERROR x", "java.lang.Error: y"}) {
		t.Errorf("got %q", got)
	}
	j.Add(line(`{"level":"error"}`), 300)
	if _, _, held := j.Held(); held || len(got) != 3 {
		t.Errorf("an object is held: %q", got)
	}
	got = got[:2]
	j.Add(line("\tat a.b(C)"), 300)
	j.Add(line("z"), 300)
	j.End()
	j.End()
	if !cmp.Equal(got[2:], []string{"\tat a.b(C)", "z"}) {
		t.Errorf("got %q", got[2:])
	}
}

func TestEndSingle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		opts  multiline.Options
		lines []string
		held  bool
	}{
		{multiline.Options{Auto: true}, []string{"a line"}, false},
		{multiline.Options{Auto: true}, []string{"ERROR x", "java.lang.Error: y"}, true},
		{multiline.Options{Auto: true}, []string{"x", "\tat a.b.C(D.java:1)"}, true},
		{multiline.Options{Auto: true}, []string{"Traceback (most recent call last):"}, true},
		{multiline.Options{Start: regexp.MustCompile("^-")}, []string{"- x"}, true},
	} {
		j, err := multiline.New(c.opts, func(multiline.Event) {})
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range c.lines {
			j.Add(multiline.Line{Text: []byte(line)}, 0)
		}
		j.EndSingle()
		if _, _, held := j.Held(); held != c.held {
			t.Errorf("%q: held %v", c.lines, held)
		}
	}
}

// A line is single if nothing is held, and no line can join it.
func TestSingle(t *testing.T) {
	t.Parallel()
	j, err := multiline.New(multiline.Options{Auto: true}, func(multiline.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	const at, then = "2026-11-20 15:04:05 ", "2026-11-20 15:04:06 "
	for _, c := range []struct {
		line, next string
		single     bool
	}{
		{`{"a":1}`, "", true},
		{`{"a":1}`, "\tat a.B", true},
		{"{", "", false},
		{"{\r", "", false},
		{"text", "text", false},
		{at + "a", "", false},
		{at + "a", then + "b\n", true},
		{at + "a", at + "b\n", true},
		{at + "java.lang.Error: a", then + "b\n", true},
		{at + "java.lang.Error: a", "12 is not a number\n\tat a.B\n", false},
		{at + "a", "\tat a.B\n", false},
		{at + "[1] ERROR:  a", at + "[1] DETAIL:  b\n", false},
		{at + "[1] ERROR:  a", then + "[1] DETAIL:  b\n", true},
		{"10.0.0.1 - - [20/Nov/2026:15:04:05 +0000] a", "10.0.0.1 - - [20/Nov/2026:15:04:05 +0000] b\n", true},
	} {
		if got := j.Single([]byte(c.line), []byte(c.next)); got != c.single {
			t.Errorf("%q before %q: %v", c.line, c.next, got)
		}
	}
	j.Add(multiline.Line{Text: []byte("text")}, 0)
	if j.Single([]byte(`{"a":1}`), nil) {
		t.Error("a line is held")
	}
}

// A line of which Single says that it is an event of its own is one if it is added.
func TestSingleAgreesWithAdd(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := [][]byte{
		[]byte("2026-11-20-15.04.05.123456+060 I1234E567  LEVEL: Error"), []byte("10 goroutine 7 [running]:"), []byte("10 goroutine 7 [running]:\r"),
		[]byte("2026-11-20 15:04:05 [1] ERROR:  a"), []byte("2026-11-20 15:04:05 [1] HINT:  b"), []byte("2026-11-20 15:04:05 java.lang.Error: a"), []byte("7: x"),
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, bytes.Split(text, []byte("\n"))...)
	}
	single := 0
	for _, line := range lines {
		for _, next := range lines {
			var events []string
			emit := func(e multiline.Event) { events = append(events, string(e.Text)) }
			j, err := multiline.New(multiline.Options{Auto: true}, emit)
			if err != nil {
				t.Fatal(err)
			}
			if len(line) == 0 || line[0] > '9' || !j.Single(line, next) {
				continue
			}
			single++
			j.Add(multiline.Line{Text: line}, 0)
			j.Add(multiline.Line{Text: next}, 0)
			if j.End(); events[0] != string(line) {
				t.Errorf("%q before %q is in %q", line, next, events[0])
			}
		}
	}
	if single < 1000 {
		t.Errorf("%d lines are single", single)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, opts := range []multiline.Options{
		{Auto: true, Start: regexp.MustCompile("x")},
		{Timeout: -time.Second},
		{MaxLines: -1},
		{MaxBytes: -1},
	} {
		if _, err := multiline.New(opts, func(multiline.Event) {}); err == nil {
			t.Errorf("%+v: no error", opts)
		}
	}
}

// realLogs are the lines of logs of other people's programs.
func realLogs(t testing.TB) map[string][]string {
	dir := os.Getenv("LOGSTOW_LOGHUB")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "data", "loghub")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(files) == 0 {
		t.Skip("the real logs are not here (LOGSTOW_LOGHUB names their folder)")
	}
	logs := make(map[string][]string)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		logs[filepath.Base(file)] = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
	return logs
}

// Lines of real logs without traces are left alone.
func TestAutoLeavesRealLogsAlone(t *testing.T) {
	t.Parallel()
	for name, lines := range realLogs(t) {
		if diff := cmp.Diff(lines, texts(join(t, multiline.Options{Auto: true}, lines))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Whatever the lines: events are made of all of them, in order, whether or not
// bytes are overwritten, and resuming at what is held leads to the same events.
func FuzzJoiner(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, uint8(i), uint16(i*7), i%3 == 0)
	}
	f.Add([]byte("\n\n\t0"), uint8(3), uint16(21), true)
	f.Add([]byte("web-1  | \nweb-1  |   a\nweb-1  |\nweb-1  | \ta.B"), uint8(3), uint16(2), true)
	start := regexp.MustCompile(`^[^ \t]`)
	f.Fuzz(func(t *testing.T, text []byte, maxLines uint8, stop uint16, auto bool) {
		opts := multiline.Options{Auto: auto, MaxLines: int(maxLines)}
		if !auto {
			opts.Start = start
		}
		lines := strings.Split(string(text), "\n")
		all := join(t, opts, lines)
		var back strings.Builder
		for i, e := range all {
			if i > 0 {
				back.WriteByte('\n')
			}
			if e.More {
				e.Text = bytes.TrimSuffix(e.Text, []byte(multiline.Mark))
			}
			back.Write(e.Text)
		}
		if back.String() != string(text) {
			t.Fatalf("%q came back as %q", text, back.String())
		}
		// Stop after some lines, and go on in another Joiner from what was held.
		var events []multiline.Event
		emit := func(e multiline.Event) { events = append(events, e) }
		j, err := multiline.New(opts, emit)
		if err != nil {
			t.Fatal(err)
		}
		at := min(int(stop), len(lines))
		for i, line := range lines[:at] {
			j.Add(multiline.Line{Text: []byte(line), Start: int64(i), Time: int64(-i)}, 0)
		}
		if from, state, held := j.Held(); held {
			at = int(from)
			j, err = multiline.New(opts, emit)
			if err != nil {
				t.Fatal(err)
			}
			j.Resume(state)
		}
		for i, line := range lines[at:] {
			j.Add(multiline.Line{Text: []byte(line), Start: int64(at + i), Time: int64(-at - i)}, 0)
		}
		j.End()
		if !slices.EqualFunc(all, events, func(a, b multiline.Event) bool {
			return bytes.Equal(a.Text, b.Text) && a.Start == b.Start && a.Time == b.Time && a.Lines == b.Lines && a.More == b.More
		}) {
			t.Fatalf("stopped after line %d: %s", stop, cmp.Diff(all, events, cmpopts.EquateEmpty()))
		}
	})
}

func BenchmarkJoiner(b *testing.B) {
	json := strings.Repeat(`{"time":"2026-11-20T15:04:05.123Z","level":"info","service":"checkout","msg":"order accepted","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","status":200}`+"\n", 1000)
	syslog := strings.Repeat("Jun 14 15:16:01 combo sshd(pam_unix)[19939]: authentication failure; logname= uid=0 euid=0 tty=NODEVssh ruser= rhost=218.188.2.4\n", 1000)
	java, err := os.ReadFile("testdata/java.txt")
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name, text string
		opts       multiline.Options
	}{
		{"auto/json", json, multiline.Options{Auto: true}},
		{"auto/syslog", syslog, multiline.Options{Auto: true}},
		{"auto/java", string(java), multiline.Options{Auto: true}},
		{"start/json", json, multiline.Options{Start: regexp.MustCompile(`^\{"time":"\d{4}-`)}},
		{"start/syslog", syslog, multiline.Options{Start: regexp.MustCompile(`^\w{3} +\d+ \d\d:`)}},
	} {
		b.Run(c.name, func(b *testing.B) {
			lines := bytes.Split([]byte(c.text), []byte("\n"))
			events := 0
			j, err := multiline.New(c.opts, func(multiline.Event) { events++ })
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				for _, line := range lines {
					j.Add(multiline.Line{Text: line}, 0)
				}
			}
			if events == 0 {
				b.Fatal("no events")
			}
		})
	}
}

func ExampleJoiner() {
	j, err := multiline.New(multiline.Options{Auto: true}, func(e multiline.Event) { fmt.Printf("%q\n", e.Text) })
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, line := range []string{"ERROR failed", "Traceback (most recent call last):", `  File "a.py", line 1`, "KeyError: 'k'", "INFO next"} {
		j.Add(multiline.Line{Text: []byte(line)}, 0)
	}
	j.End()
	// Output:
	// "ERROR failed\nTraceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 'k'"
	// "INFO next"
}
