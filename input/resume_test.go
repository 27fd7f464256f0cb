package input_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/container"
	"logstow/input/multiline"
)

// mixed is a log file in which streams are mixed, and what is in it by source.
type mixed struct {
	text    []byte
	records map[string][]string
}

// writer writes lines of one stream in a format, some of them in parts.
type writer struct {
	r      *rand.Rand
	format container.Format
	out    *bytes.Buffer
	stream string
	// todo are pieces that the stream writes one by one.
	todo []string
}

// line is one of the file's lines, with a piece of what the application wrote.
func (w *writer) line(text string, partial bool) string {
	const at = "2026-11-20T15:04:05.123456789Z"
	switch {
	case w.stream == "" || w.format == container.None:
		return text + "\n"
	case w.format == container.CRI:
		tag := "F"
		if partial {
			tag = "P"
		}
		return at + " " + w.stream + " " + tag + " " + text + "\n"
	}
	if !partial {
		text += "\n"
	}
	b, err := json.Marshal(map[string]string{"log": text, "stream": w.stream, "time": at})
	if err != nil {
		return err.Error()
	}
	return string(b) + "\n"
}

// add plans a record's lines.
func (w *writer) add(record string) {
	for _, text := range strings.Split(record, "\n") {
		for w.stream != "" && w.format != container.None && len(text) > 1 && w.r.IntN(3) == 0 {
			n := 1 + w.r.IntN(len(text)-1)
			for w.format == container.Docker && n < len(text) && !utf8.RuneStart(text[n]) {
				n++ // JSON cannot hold half a character
			}
			w.todo = append(w.todo, w.line(text[:n], true))
			text = text[n:]
		}
		w.todo = append(w.todo, w.line(text, false))
	}
}

// mix makes a file of several streams whose lines come in any order.
func mix(r *rand.Rand, format container.Format, records int) mixed {
	m := mixed{records: make(map[string][]string)}
	var out bytes.Buffer
	streams := []string{"", "stdout", "stderr"}
	if format == container.None {
		streams = streams[:1]
	}
	var writers []*writer
	for _, stream := range streams {
		writers = append(writers, &writer{r: r, format: format, out: &out, stream: stream})
	}
	for i := range records {
		w := writers[r.IntN(len(writers))]
		if w.stream == "" && format != container.None && r.IntN(4) > 0 {
			continue // damaged lines are rare
		}
		record := fmt.Sprintf("S%d %s", i, strings.Repeat("é", r.IntN(5)))
		for range r.IntN(4) {
			record += fmt.Sprintf("\n  more of %d", i)
		}
		source := "x"
		if w.stream != "" {
			source += "/" + w.stream
		}
		m.records[source] = append(m.records[source], record)
		w.add(record)
	}
	for {
		var busy []*writer
		for _, w := range writers {
			if len(w.todo) > 0 {
				busy = append(busy, w)
			}
		}
		if len(busy) == 0 {
			m.text = out.Bytes()
			return m
		}
		w := busy[r.IntN(len(busy))]
		for range 1 + r.IntN(3) {
			if len(w.todo) > 0 {
				out.WriteString(w.todo[0])
				w.todo = w.todo[1:]
			}
		}
	}
}

// history is a sink that records what it had got when it took each position, and
// that refuses everything after a number of chunks.
type history struct {
	records []entry
	points  []input.Point
	counts  []int
	left    int
}

type entry struct{ source, message string }

var errCrash = errors.New("crash")

func (h *history) Append(_ context.Context, c buffer.Chunk) (buffer.LSN, error) {
	if h.left == 0 {
		return 0, errCrash
	}
	h.left--
	for _, r := range c.Records {
		h.records = append(h.records, entry{r.Source, string(r.Message)})
	}
	for _, p := range c.Positions {
		offset, n := binary.Varint(p.Value)
		h.points = append(h.points, input.Point{Offset: offset, Held: bytes.Clone(p.Value[n:])})
		h.counts = append(h.counts, len(h.records))
	}
	return 0, nil
}

func (h *history) Position(string) ([]byte, bool)           { return nil, false }
func (h *history) Positions(string) []buffer.Position       { return nil }
func (h *history) Synced(context.Context, buffer.LSN) error { return nil }

func (h *history) bySource() map[string][]string {
	out := make(map[string][]string)
	for _, e := range h.records {
		out[e.source] = append(out[e.source], e.message)
	}
	return out
}

// readFile reads a file from a point to its end in random steps, as a tailer
// does. With a clock it is moved on at random, and what waits is flushed.
func readFile(ctx context.Context, r *rand.Rand, text []byte, at input.Point, h *history, clock *time.Time) error {
	opts := input.Options{Service: "x", Sink: h, Lines: input.Lines{
		PartialTimeout: time.Hour, Multiline: multiline.Options{Start: regexp.MustCompile("^S")},
	}}
	if clock != nil {
		opts.Now = func() time.Time { return *clock }
	}
	f, err := input.NewFeed(opts)
	if err != nil {
		return err
	}
	src := f.Resume("x", at, func(p input.Point) []buffer.Position {
		return []buffer.Position{{Input: "in", Value: append(binary.AppendVarint(nil, p.Offset), p.Held...)}}
	})
	for src.Offset() < int64(len(text)) {
		step := min(int64(1+r.IntN(200)), int64(len(text))-src.Offset())
		if err := f.Read(ctx, src, io.NewSectionReader(bytes.NewReader(text), src.Offset(), step), time.Time{}); err != nil {
			return err
		}
		if clock != nil {
			*clock = clock.Add(time.Duration(r.IntN(1500)) * time.Millisecond)
			if err := f.Flush(ctx, src, time.Time{}); err != nil {
				return err
			}
		}
	}
	return f.End(ctx, src, time.Time{})
}

func formats() []container.Format {
	return []container.Format{container.None, container.CRI, container.Docker}
}

// Whatever is mixed, and wherever a run ends, the next one goes on from what was
// committed: every record comes exactly once, in its source's order.
func TestResumeAtEveryPosition(t *testing.T) {
	t.Parallel()
	for _, format := range formats() {
		for seed := range uint64(12) {
			r := rand.New(rand.NewPCG(seed, 1))
			m := mix(r, format, 60)
			whole := history{left: -1}
			if err := readFile(t.Context(), r, m.text, input.Point{}, &whole, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(m.records, whole.bySource()); diff != "" {
				t.Fatalf("%v, seed %d: in one run: %s\n%s", format, seed, diff, m.text)
			}
			for i, point := range whole.points {
				h := history{left: -1, records: append([]entry(nil), whole.records[:whole.counts[i]]...)}
				if err := readFile(t.Context(), r, m.text, point, &h, nil); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(m.records, h.bySource()); diff != "" {
					t.Fatalf("%v, seed %d: resumed at %+v: %s\n%s", format, seed, point, diff, m.text)
				}
				if len(point.Held) > 64 {
					t.Errorf("%v, seed %d: held is %d bytes", format, seed, len(point.Held))
				}
			}
		}
	}
}

// Crash after crash, also while what an earlier run held is read again.
func TestResumeManyTimes(t *testing.T) {
	t.Parallel()
	for _, format := range formats() {
		for seed := range uint64(150) {
			r := rand.New(rand.NewPCG(seed, 2))
			m := mix(r, format, 60)
			var h history
			runs := 0
			for {
				runs++
				h.left = 1 + r.IntN(4)
				var at input.Point
				if n := len(h.points); n > 0 {
					at = h.points[n-1]
				}
				err := readFile(t.Context(), r, m.text, at, &h, nil)
				if err == nil {
					break
				}
				if !errors.Is(err, errCrash) || len(h.points) > 10_000 {
					t.Fatal(len(h.points), err)
				}
			}
			if diff := cmp.Diff(m.records, h.bySource()); diff != "" || runs < 2 {
				t.Fatalf("%v, seed %d, %d runs: %s\n%s", format, seed, runs, diff, m.text)
			}
		}
	}
}

// With flushes in between records may be cut, but every line comes exactly once.
func TestResumeWithFlushes(t *testing.T) {
	t.Parallel()
	for _, format := range formats() {
		for seed := range uint64(100) {
			r := rand.New(rand.NewPCG(seed, 3))
			m := mix(r, format, 60)
			clock := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
			var h history
			for {
				h.left = 1 + r.IntN(10)
				var at input.Point
				if n := len(h.points); n > 0 {
					at = h.points[n-1]
				}
				err := readFile(t.Context(), r, m.text, at, &h, &clock)
				if err == nil {
					break
				}
				if !errors.Is(err, errCrash) || len(h.points) > 10_000 {
					t.Fatal(len(h.points), err)
				}
			}
			want, got := make(map[string]string), make(map[string]string)
			for source, records := range m.records {
				want[source] = strings.Join(records, "\n")
			}
			for source, records := range h.bySource() {
				got[source] = strings.Join(records, "\n")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%v, seed %d: %s\n%s", format, seed, diff, m.text)
			}
		}
	}
}

// Whatever a position holds: it is understood as it was written, or refused.
func FuzzHeld(f *testing.F) {
	f.Add(int64(100), []byte{1, 2, 50, 1, 0, 0, 2, 20, 3})
	f.Add(int64(0), []byte{1, 3})
	f.Add(int64(9), []byte{1, 5 << 2})
	f.Add(int64(7), []byte{})
	f.Fuzz(func(t *testing.T, offset int64, held []byte) {
		feed, err := input.NewFeed(input.Options{Service: "x", Sink: discard{}})
		if err != nil {
			t.Fatal(err)
		}
		at := input.Point{Offset: offset, Held: held}
		src := feed.Resume("x", at, nil)
		p := src.Point()
		again := feed.Resume("x", p, nil).Point()
		if diff := cmp.Diff(p, again); diff != "" {
			t.Fatalf("%+v: %s", at, diff)
		}
		if len(p.Held) > 0 && p.Offset < offset {
			t.Fatalf("%+v begins at %d", at, p.Offset)
		}
	})
}
