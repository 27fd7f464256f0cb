package input_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/container"
	"logstow/input/multiline"
	"logstow/internal/test/testrand"
)

// iis is a log of IIS: the columns change in mid-file, as at a restart with other settings.
const iis = "#Software: Microsoft Internet Information Services 10.0\r\n" +
	"#Fields: date time c-ip cs-method cs-uri-stem sc-status\r\n" +
	"2026-11-20 15:04:05 192.0.2.7 GET /cart 200\r\n" +
	"2026-11-20 15:04:06 192.0.2.7 POST /pay 503\r\n" +
	"#Software: Microsoft Internet Information Services 10.0\r\n" +
	"#Fields: date time c-ip cs-method cs-uri-stem sc-status\r\n" +
	"2026-11-20 15:04:07 192.0.2.8 GET - 404\r\n" +
	"#Fields: date time sc-status time-taken\r\n" +
	"2026-11-20 15:04:08 500 12\r\n" +
	"2026-11-20 15:04:09 200 13\r\n"

// iisRecords are its records: parser, level and beginning of the message.
func iisRecords() []string {
	const first, second = "w3c/1 'date time c-ip cs-method cs-uri-stem sc-status'", "w3c/1 'date time sc-status time-taken'"
	return []string{
		" - #Software:", first + " - #Fields: d", first + " INFO 2026-11-20", first + " ERROR 2026-11-20", first + " - #Software:", first + " - #Fields: d",
		first + " WARN 2026-11-20", second + " - #Fields: d", second + " ERROR 2026-11-20", second + " INFO 2026-11-20",
	}
}

// w3cSink keeps parser, level and beginning of each record, and how many there were before each position.
type w3cSink struct {
	sink
	lines  []string
	points []input.Point
	counts []int
}

func (s *w3cSink) add(c buffer.Chunk) {
	for _, r := range c.Records {
		s.lines = append(s.lines, fmt.Sprintf("%s %s %.10s", c.Parse, r.Level, r.Message))
	}
}

// after is how many records were stored with the position of an index or before it.
func (s *w3cSink) after(i int) int {
	if i+1 < len(s.points) {
		return s.counts[i+1]
	}
	return len(s.lines)
}

// readW3C reads a log to its end, from a position on.
func readW3C(t *testing.T, opts input.Options, at input.Point, r io.Reader) *w3cSink {
	t.Helper()
	s := &w3cSink{}
	opts.Sink = &chunkSink{&s.sink, s.add}
	f := newFeed(t, opts)
	src := f.Resume("u_ex.log", at, func(p input.Point) []buffer.Position {
		s.points, s.counts = append(s.points, p), append(s.counts, len(s.lines))
		return nil
	})
	if err := f.Read(t.Context(), src, r, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := f.End(t.Context(), src, time.Time{}); err != nil {
		t.Fatal(err)
	}
	return s
}

// wrapped are the lines of a text as a container runtime writes them: those of CRI that are no
// directives in two parts.
func wrapped(text string, format container.Format) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case format == container.CRI && line[0] == '#':
			fmt.Fprintf(&b, "2026-11-20T15:05:00.123456789Z stdout F %s\n", line)
		case format == container.CRI:
			fmt.Fprintf(&b, "2026-11-20T15:05:00.123456789Z stdout P %s\n2026-11-20T15:05:00.123456789Z stdout F %s\n", line[:2], line[2:])
		case format == container.Docker:
			fmt.Fprintf(&b, `{"log":%q,"stream":"stdout","time":"2026-11-20T15:05:00.123456789Z"}`+"\n", line+"\n")
		default:
			return text
		}
	}
	return b.String()
}

// The lines behind a directive #Fields are stored with a parser of its columns, also after a restart at any
// position, however they are read, and as a container runtime wraps them.
func TestW3C(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	for _, format := range []container.Format{container.None, container.CRI, container.Docker} {
		text := wrapped(iis, format)
		for _, joined := range []bool{false, true} {
			testColumns(t, rnd, input.Options{Service: "web"}, text, iisRecords(), joined)
		}
	}
}

// The first line of a file of CSV names the columns of the lines after it, also after a restart at any position.
func TestCSV(t *testing.T) {
	t.Parallel()
	const text = "time;level;user\n" +
		"2026-11-20T15:04:05Z;ERROR;ann\n" +
		"time;level;user\n" +
		"2026-11-20T15:04:06Z;WARN;bob\n"
	const parser = "csv/1 'time;level;user'"
	want := []string{parser + " - time;level", parser + " ERROR 2026-11-20", parser + " - time;level", parser + " WARN 2026-11-20"}
	for _, joined := range []bool{false, true} {
		testColumns(t, testrand.New(t), input.Options{Service: "web", Parse: "csv/1"}, text, want, joined)
	}
}

// testColumns reads a text whole, and from each position.
func testColumns(t *testing.T, rnd *rand.Rand, opts input.Options, text string, want []string, joined bool) {
	t.Helper()
	if joined {
		opts.Lines.Multiline = multiline.Options{Auto: true}
	}
	read := func(at input.Point, small bool) *w3cSink {
		var r io.Reader = strings.NewReader(text[at.Offset:])
		if small {
			r = iotest.OneByteReader(r)
		}
		return readW3C(t, opts, at, r)
	}
	for _, small := range []bool{false, true} {
		whole := read(input.Point{}, small)
		if diff := cmp.Diff(want, whole.lines); diff != "" {
			t.Fatalf("joined %t, by byte %t: %s", joined, small, diff)
		}
		if len(whole.points) == 0 {
			t.Fatalf("%d positions", len(whole.points))
		}
		for i, at := range whole.points {
			rest := read(at, rnd.IntN(2) == 0)
			if want := want[whole.after(i):]; !slices.Equal(want, rest.lines) {
				t.Errorf("joined %t, from %d on: %q, want %q", joined, at.Offset, rest.lines, want)
			}
		}
	}
}

// The last part of a line is no directive, whatever it begins with, also after a restart behind which it is not read again.
func TestW3CInParts(t *testing.T) {
	t.Parallel()
	const text = "2026-11-20T11:00:01.1Z stdout P a\n" +
		"2026-11-20T11:00:01.0Z stderr P b\n" +
		"2026-11-20T11:00:01.3Z stdout F #Fields: x\n" +
		"2026-11-20T11:00:01.5Z stderr F c\n" +
		"2026-11-20T11:00:01.7Z stdout F d\n"
	opts := input.Options{Service: "web", Lines: input.Lines{Multiline: multiline.Options{Auto: true}}}
	read := func(at input.Point) *w3cSink {
		return readW3C(t, opts, at, iotest.OneByteReader(strings.NewReader(text[at.Offset:])))
	}
	whole := read(input.Point{})
	if want := []string{" - a#Fields: ", " - d", " - bc"}; !slices.Equal(want, whole.lines) {
		t.Fatalf("%q, want %q", whole.lines, want)
	}
	for i, at := range whole.points {
		if want, rest := whole.lines[whole.after(i):], read(at); !slices.Equal(want, rest.lines) {
			t.Errorf("from %+v on: %q, want %q", at, rest.lines, want)
		}
	}
}

// A configured parser is that of all lines, also of those behind a position with another one; a file that
// begins anew has no columns before its directive.
func TestW3CConfigured(t *testing.T) {
	t.Parallel()
	const text = "#Fields: c-ip sc-status\n10.0.0.1 500\n"
	for _, c := range []struct{ parse, want string }{
		{"", " ERROR 10.0.0.1 5"}, {"none/1", "none/1 - 10.0.0.1 5"},
	} {
		s := &w3cSink{}
		var last input.Point
		f := newFeed(t, input.Options{Service: "web", Sink: &chunkSink{&s.sink, s.add}})
		src := f.Resume("x", input.Point{}, func(p input.Point) []buffer.Position { last = p; return nil })
		if err := f.Read(t.Context(), src, strings.NewReader(text), time.Time{}); err != nil {
			t.Fatal(err)
		}
		s.lines = nil
		f = newFeed(t, input.Options{Service: "web", Parse: c.parse, Sink: &chunkSink{&s.sink, s.add}})
		for _, at := range []input.Point{last, {}, {Offset: last.Offset, Held: last.Held[:len(last.Held)/2]}} {
			src := f.Resume("x", at, nil)
			if err := f.Read(t.Context(), src, strings.NewReader("10.0.0.1 500\n"), time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
		want := []string{c.want, c.parse + " - 10.0.0.1 5", c.parse + " - 10.0.0.1 5"}
		if c.parse == "" {
			want[0] = "w3c/1 'c-ip sc-status'" + c.want
		}
		if diff := cmp.Diff(want, s.lines); diff != "" {
			t.Errorf("%q: %s", c.parse, diff)
		}
	}
}

// chunkSink is a sink that shows each chunk first.
type chunkSink struct {
	*sink
	show func(buffer.Chunk)
}

func (s *chunkSink) Append(ctx context.Context, c buffer.Chunk) (buffer.LSN, error) {
	s.show(c)
	return s.sink.Append(ctx, c)
}
