package input_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/container"
	"logstow/input/multiline"
	"logstow/record"
)

// noon is when the tests read.
func noon() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// got is a record in words.
type got struct{ Source, Time, Level, Message string }

func (s *sink) got() []got {
	out := make([]got, len(s.records))
	for i, r := range s.records {
		out[i] = got{r.Source, time.Unix(0, r.Time).UTC().Format("15:04:05.999"), r.Level.String(), s.messages[i]}
	}
	return out
}

// readAll reads a text to its end.
func readAll(t *testing.T, opts input.Options, text string) {
	t.Helper()
	f := newFeed(t, opts)
	src := f.NewSource("x")
	if err := f.Read(t.Context(), src, strings.NewReader(text), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := f.End(t.Context(), src, time.Time{}); err != nil {
		t.Fatal(err)
	}
}

func TestFeedUnwrapsContainerLines(t *testing.T) {
	t.Parallel()
	want := []got{
		{"p/x/stdout", "11:00:01", "-", "first of a long line"},
		{"p/x/stderr", "10:00:00", "ERROR", "2026-11-20T10:00:00Z ERROR own time"},
		{"p/x/stderr", "11:00:04", "-", "no time, after one"},
		{"p/x", "12:00:00", "-", "a damaged line"},
		{"p/x/stdout", "11:00:06", "-", ""},
		{"p/x/stdout", "11:00:07", "-", `{"a":"é\t"}`},
		{"p/x/stdout", "11:00:08", "-", "1985-01-01T00:00:00Z refused"},
	}
	for name, text := range map[string]string{
		"cri": "2026-11-20T11:00:01Z stdout P first \n" +
			"2026-11-20T11:00:02Z stderr F 2026-11-20T10:00:00Z ERROR own time\n" +
			"2026-11-20T11:00:03Z stdout P of a \n" +
			"2026-11-20T11:00:03Z stdout F long line\n" +
			"2026-11-20T12:00:04+01:00 stderr F no time, after one\n" +
			"a damaged line\n" +
			"2026-11-20T11:00:06Z stdout F \n" +
			"2026-11-20T11:00:07Z stdout F {\"a\":\"é\\t\"}\n" +
			"2026-11-20T11:00:08Z stdout F 1985-01-01T00:00:00Z refused",
		"docker": `{"log":"first ","stream":"stdout","time":"2026-11-20T11:00:01Z"}
{"log":"2026-11-20T10:00:00Z ERROR own time\n","stream":"stderr","time":"2026-11-20T11:00:02Z"}
{"log":"of a ","stream":"stdout","time":"2026-11-20T11:00:03Z"}
{"log":"long line\n","stream":"stdout","time":"2026-11-20T11:00:03Z"}
{"log":"no time, after one\n","stream":"stderr","time":"2026-11-20T12:00:04+01:00"}
a damaged line
{"log":"\n","stream":"stdout","time":"2026-11-20T11:00:06Z"}
{"log":"{\"a\":\"\u00e9\\t\"}\n","stream":"stdout","time":"2026-11-20T11:00:07Z"}
{"log":"1985-01-01T00:00:00Z refused","stream":"stdout","time":"2026-11-20T11:00:08Z"}
`,
	} {
		var s sink
		readAll(t, input.Options{Sink: &s, Now: noon, SourcePrefix: "p/"}, text)
		have := s.got()
		// The first record is complete only behind the second line.
		have[0], have[1] = have[1], have[0]
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestFeedFormats(t *testing.T) {
	t.Parallel()
	const cri = "2026-11-20T11:00:01Z stdout F x\n"
	plain := strings.Repeat("plain\n", 20)
	for _, c := range []struct {
		format container.Format
		text   string
		want   string // the last record's message
	}{
		{container.Auto, cri, "x"},
		{container.Auto, "cut off at the begin\n" + cri, "x"},
		{container.Auto, plain + cri, strings.TrimSuffix(cri, "\n")},
		{container.CRI, plain + cri, "x"},
		{container.None, cri, strings.TrimSuffix(cri, "\n")},
		{container.Docker, cri, strings.TrimSuffix(cri, "\n")},
	} {
		var s sink
		readAll(t, input.Options{Sink: &s, Lines: input.Lines{Format: c.format}}, c.text)
		if have := s.messages[len(s.messages)-1]; have != c.want {
			t.Errorf("%v: %q becomes %q", c.format, c.text, have)
		}
	}
	// What was found out holds after a restart, whatever the first line is then.
	var s sink
	f := newFeed(t, input.Options{Sink: &s})
	src := f.NewSource("x")
	if err := f.Read(t.Context(), src, strings.NewReader(plain), time.Time{}); err != nil {
		t.Fatal(err)
	}
	src = f.Resume("x", src.Point(), nil)
	if err := f.Read(t.Context(), src, strings.NewReader(cri), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if have := s.messages[len(s.messages)-1]; have != strings.TrimSuffix(cri, "\n") {
		t.Errorf("after a restart: %q", have)
	}
}

func TestFeedCutsContainerLines(t *testing.T) {
	t.Parallel()
	const size = 5000
	long := strings.Repeat("z", size)
	for name, text := range map[string]string{
		"one line": "2026-11-20T11:00:01Z stdout F " + long + "\n",
		"parts": "2026-11-20T11:00:01Z stdout P " + long[:2000] + "\n2026-11-20T11:00:01Z stdout P " + long[2000:4000] +
			"\n2026-11-20T11:00:01Z stdout F " + long[4000:] + "\n",
		"docker":   `{"log":"` + long[1:] + `","stream":"stdout","time":"2026-11-20T11:00:01Z"}` + "\n" + `{"log":"z\n","stream":"stdout","time":"2026-11-20T11:00:01Z"}` + "\n",
		"no parts": long + "\n",
	} {
		var s sink
		var stats input.Stats
		readAll(t, input.Options{Sink: &s, Stats: &stats, MaxRecord: input.MinMaxRecord}, text)
		if len(s.messages) != 1 || stats.Cut.Load() != 1 || stats.Bytes.Load() != int64(len(text)) {
			t.Fatalf("%s: %d records, %d cut, %d of %d bytes", name, len(s.messages), stats.Cut.Load(), stats.Bytes.Load(), len(text))
		}
		kept := strings.Count(s.messages[0], "z")
		want := fmt.Sprintf("%s …[logstow: cut %d bytes]", long[:kept], size-kept)
		if s.messages[0] != want || len(s.messages[0]) > input.MinMaxRecord || kept < input.MinMaxRecord-100 {
			t.Errorf("%s: %q, want %q", name, s.messages[0], want)
		}
	}
	// One past what is looked at in one piece.
	var s sink
	text := "2026-11-20T11:00:01Z stdout F " + strings.Repeat("z", 1_000_000) + "\n"
	readAll(t, input.Options{Sink: &s, MaxRecord: input.MinMaxRecord}, text)
	kept := strings.Count(s.messages[0], "z")
	if want := fmt.Sprintf(" …[logstow: cut %d bytes]", 1_000_000-kept); !strings.HasSuffix(s.messages[0], want) || len(s.messages[0]) > input.MinMaxRecord {
		t.Errorf("%q", s.messages[0])
	}
}

func TestFeedJoinsLines(t *testing.T) {
	t.Parallel()
	trace := "java.lang.Error: x\n\tat a.b.C.d(C.java:1)\n\t... 3 more"
	want := []string{"2026-11-20T10:00:00Z ERROR failed\n" + trace, "2026-11-20T10:00:01Z INFO next", "last"}
	text := strings.Join(want, "\n")
	for _, size := range []int{1, 7, len(text)} {
		var s sink
		f := newFeed(t, input.Options{Sink: &s, Now: noon, Lines: input.Lines{Multiline: multiline.Options{Auto: true}}})
		src := f.NewSource("x")
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			if err := f.Read(t.Context(), src, strings.NewReader(rest[:n]), time.Time{}); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := f.End(t.Context(), src, time.Time{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, s.messages); diff != "" || s.records[0].Level != record.Error {
			t.Errorf("in pieces of %d: %v %s", size, s.records[0].Level, diff)
		}
	}
}

func TestFeedSplitsAtLimits(t *testing.T) {
	t.Parallel()
	var s sink
	var stats input.Stats
	var log bytes.Buffer
	opts := input.Options{
		Sink: &s, Stats: &stats, MaxRecord: input.MinMaxRecord, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Lines: input.Lines{Multiline: multiline.Options{Start: regexp.MustCompile("^-")}},
	}
	readAll(t, opts, "-\n"+strings.Repeat("0123456789\n", 300))
	lines := 0
	for i, m := range s.messages {
		if len(m) > input.MinMaxRecord || (i < len(s.messages)-1) != strings.HasSuffix(m, multiline.Mark) {
			t.Errorf("record %d of %d is %q", i, len(s.messages), m)
		}
		lines += strings.Count(m, "0123456789")
	}
	if lines != 300 || stats.Split.Load() != int64(len(s.messages)-1) || strings.Count(log.String(), "continued in") != 1 {
		t.Errorf("%d lines, %d split, %d records, log:\n%s", lines, stats.Split.Load(), len(s.messages), log.String())
	}
}

func TestFeedFlush(t *testing.T) {
	t.Parallel()
	var s sink
	now := noon()
	f := newFeed(t, input.Options{
		Sink: &s, Now: func() time.Time { return now },
		Lines: input.Lines{Multiline: multiline.Options{Auto: true, Timeout: 2 * time.Second}, PartialTimeout: 3 * time.Second},
	})
	src := f.Resume("x", input.Point{}, at)
	step := func(after time.Duration, text string, want ...string) {
		t.Helper()
		now = now.Add(after)
		if err := f.Flush(t.Context(), src, time.Time{}); err != nil {
			t.Fatal(err)
		}
		if err := f.Read(t.Context(), src, strings.NewReader(text), time.Time{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, s.messages); diff != "" {
			t.Error(diff)
		}
		s.messages = nil
	}
	step(0, "")
	if src.Waiting() {
		t.Error("nothing was read, but it is waiting")
	}
	step(time.Second, "2026-11-20T11:00:00Z stdout F one\n")
	if !src.Waiting() || src.Held() != 0 {
		t.Errorf("waiting: %v, held: %d", src.Waiting(), src.Held())
	}
	step(1999*time.Millisecond, "")
	step(time.Millisecond, "2026-11-20T11:00:00Z stdout P two \n", "one")
	step(2*time.Second, "2026-11-20T11:00:00Z stdout P and \n")
	step(2*time.Second, "2026-11-20T11:00:00Z stdout F three\n")
	step(2*time.Second, "2026-11-20T11:00:00Z stdout P four\n", "two and three")
	step(2999*time.Millisecond, "")
	step(time.Millisecond, "2026-11-20T11:00:00Z stdout F five\n2026-", "four")
	step(2*time.Second, "", "five")
	if src.Waiting() || src.Held() != 5 {
		t.Errorf("waiting: %v, held: %d", src.Waiting(), src.Held())
	}
	// The clock goes back while lines wait.
	step(0, "11-20T11:00:00Z stdout F six\n")
	step(-24*time.Hour, "")
	step(1999*time.Millisecond, "")
	step(time.Millisecond, "2026-11-20T11:00:00Z stdout P seven\n", "six")
	step(-24*time.Hour, "")
	step(2999*time.Millisecond, "")
	step(time.Millisecond, "", "seven")
}

// dropper drops what holds a word and shouts the rest.
type dropper struct{ word string }

func (d dropper) Process(service string, r *record.Record) bool {
	r.Message = append([]byte(service+": "), bytes.ToUpper(r.Message)...)
	return !bytes.Contains(r.Message, []byte(strings.ToUpper(d.word)))
}

func TestFeedProcesses(t *testing.T) {
	t.Parallel()
	var s sink
	var stats input.Stats
	f := newFeed(t, input.Options{Sink: &s, Stats: &stats, Process: dropper{"secret"}})
	src := f.Resume("x", input.Point{}, at)
	if err := f.Read(t.Context(), src, strings.NewReader("one\na secret\ntwo\n"), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"x: ONE", "x: TWO"}, s.messages); diff != "" {
		t.Error(diff)
	}
	// What is dropped is not read again.
	if err := f.Read(t.Context(), src, strings.NewReader("another secret\n"), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(at(input.Point{Offset: 32})[0].Value, s.positions["in"]); diff != "" || len(s.records) != 2 {
		t.Errorf("%d records; position: %s", len(s.records), diff)
	}
	if stats.Records.Load() != 2 || stats.Bytes.Load() != 32 {
		t.Errorf("%d records, %d bytes", stats.Records.Load(), stats.Bytes.Load())
	}
}

func TestFeedRejectsUnknownHeld(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	f := newFeed(t, input.Options{Sink: discard{}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	src := f.Resume("x", input.Point{Offset: 7, Held: []byte{99}}, func(input.Point) []buffer.Position { return nil })
	if src.Offset() != 7 || !strings.Contains(log.String(), "may be read again") {
		t.Errorf("offset %d, log: %s", src.Offset(), log.String())
	}
}

func BenchmarkFeedLines(b *testing.B) {
	message := `{"time":"2026-11-20T15:04:05.123Z","level":"info","service":"checkout","msg":"order accepted","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","status":200}`
	const at = "2026-11-20T15:04:05.123456789Z"
	const text = "2026-11-20 15:04:05,123 INFO  [http-nio-8080-exec-1] c.e.shop.OrderController - order accepted trace_id=4bf92f3577b34da6a3ce929d0e0e4736 status=200"
	for _, c := range []struct {
		name, line string
		lines      input.Lines
	}{
		{"plain", message, input.Lines{}},
		{"plain/auto", message, input.Lines{Multiline: multiline.Options{Auto: true}}},
		{"plain/start", message, input.Lines{Multiline: multiline.Options{Start: regexp.MustCompile(`^\{`)}}},
		{"text", text, input.Lines{}},
		{"text/auto", text, input.Lines{Multiline: multiline.Options{Auto: true}}},
		{"cri", at + " stdout F " + message, input.Lines{}},
		{"cri/auto", at + " stdout F " + message, input.Lines{Multiline: multiline.Options{Auto: true}}},
		{"docker", `{"log":"` + strings.ReplaceAll(message, `"`, `\"`) + `\n","stream":"stdout","time":"` + at + `"}`, input.Lines{}},
		{"trace/auto", "2026-11-20 15:04:05,123 ERROR x\njava.lang.Error: x\n" + strings.Repeat("\tat a.b.Cdefghijk.lmn(Cdefghijk.java:123)\n", 20) + "Caused by: x", input.Lines{Multiline: multiline.Options{Auto: true}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			text := strings.Repeat(c.line+"\n", 8<<20/len(c.line))
			f, err := input.NewFeed(input.Options{Service: "x", Sink: discard{}, Lines: c.lines})
			if err != nil {
				b.Fatal(err)
			}
			src := f.NewSource("x")
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if err := f.Read(b.Context(), src, strings.NewReader(text), time.Time{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
