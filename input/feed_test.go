package input_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/buffer"
	"logstow/input"
	"logstow/record"
	"logstow/record/recognize"
)

// sink collects what it is given, as a buffer would.
type sink struct {
	messages  []string
	records   []record.Record
	positions map[string][]byte
	chunks    int
	err       error
}

func (s *sink) Append(ctx context.Context, c buffer.Chunk) (buffer.LSN, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if s.err != nil {
		return 0, s.err
	}
	s.chunks++
	for _, r := range c.Records {
		s.messages = append(s.messages, string(r.Message))
		r.Message = nil
		s.records = append(s.records, r)
	}
	for _, p := range c.Positions {
		if s.positions == nil {
			s.positions = make(map[string][]byte)
		}
		s.positions[p.Input] = bytes.Clone(p.Value)
	}
	return buffer.LSN(s.chunks), nil
}

func (s *sink) Positions(string) []buffer.Position       { return nil }
func (s *sink) Synced(context.Context, buffer.LSN) error { return nil }

func (s *sink) Position(input string) ([]byte, bool) {
	v, ok := s.positions[input]
	return v, ok
}

// at encodes a point's offset as a position.
func at(p input.Point) []buffer.Position {
	return []buffer.Position{{Input: "in", Value: binary.AppendVarint(nil, p.Offset)}}
}

func newFeed(t *testing.T, opts input.Options) *input.Feed {
	t.Helper()
	opts.Service = "x"
	f, err := input.NewFeed(opts)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFeedHandsOverLinesAsTheyCome(t *testing.T) {
	t.Parallel()
	var s sink
	var stats input.Stats
	f := newFeed(t, input.Options{Sink: &s, Stats: &stats})
	src := f.Resume("a/b.log", input.Point{Offset: 100}, at)
	steps := []struct {
		text     string
		want     []string
		offset   int64
		consumed int64
	}{
		{"one\ntwo\r\n\nth", []string{"one", "two\r", ""}, 112, 110},
		{"ree", []string{"one", "two\r", ""}, 115, 110},
		{"\nfour\n", []string{"one", "two\r", "", "three", "four"}, 121, 121},
	}
	for _, step := range steps {
		if err := f.Read(t.Context(), src, strings.NewReader(step.text), time.Time{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, s.messages); diff != "" {
			t.Fatal(diff)
		}
		if src.Offset() != step.offset {
			t.Errorf("offset %d, want %d", src.Offset(), step.offset)
		}
		if got, _ := binary.Varint(s.positions["in"]); got != step.consumed {
			t.Errorf("position %d, want %d", got, step.consumed)
		}
	}
	if err := f.End(t.Context(), src, time.Time{}); err != nil || len(s.messages) != 5 {
		t.Errorf("after the end: %q, %v", s.messages, err)
	}
	if err := f.Read(t.Context(), src, strings.NewReader("no newline"), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := f.End(t.Context(), src, time.Time{}); err != nil || s.messages[5] != "no newline" || src.Held() != 0 {
		t.Errorf("after the end: %q, %v", s.messages, err)
	}
	if stats.Records.Load() != 6 || stats.Bytes.Load() != 31 {
		t.Errorf("%d records, %d bytes", stats.Records.Load(), stats.Bytes.Load())
	}
	if s.records[0].Source != "a/b.log" {
		t.Errorf("source %q", s.records[0].Source)
	}
}

func TestFeedServesSeveralSources(t *testing.T) {
	t.Parallel()
	var s sink
	f := newFeed(t, input.Options{Sink: &s})
	a, b := f.NewSource("a"), f.NewSource("b")
	for _, step := range []struct {
		src  *input.Source
		text string
	}{{a, "a1\na2 beg"}, {b, "b1 beg"}, {a, "un\n"}, {b, "un\nb2"}} {
		if err := f.Read(t.Context(), step.src, iotest.OneByteReader(strings.NewReader(step.text)), time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.End(t.Context(), b, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a1", "a2 begun", "b1 begun", "b2"}, s.messages); diff != "" {
		t.Error(diff)
	}
}

// A rule for times that finds none is reported: it may be wrong.
func TestFeedCountsMissingTimes(t *testing.T) {
	t.Parallel()
	rules, err := recognize.Compile(recognize.RuleOptions{TimeFormat: "%d.%m.%Y"})
	if err != nil {
		t.Fatal(err)
	}
	var s sink
	var stats input.Stats
	var log bytes.Buffer
	f := newFeed(t, input.Options{
		Sink: &s, Stats: &stats, Recognize: recognize.Options{Rules: rules}, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	text := "20.11.2025 a\n2025-11-20T15:00:00Z known by itself\n11/20/2025 b\n11/20/2025 c\n"
	if err := f.Read(t.Context(), f.NewSource("x"), strings.NewReader(text), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if stats.TimesNotFound.Load() != 2 || strings.Count(log.String(), "time-format") != 1 || !strings.Contains(log.String(), "2025 b") {
		t.Errorf("%d missed; log:\n%s", stats.TimesNotFound.Load(), log.String())
	}
}

func TestFeedRecognizesTimes(t *testing.T) {
	t.Parallel()
	var s sink
	var stats input.Stats
	var log bytes.Buffer
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	f := newFeed(t, input.Options{
		Sink: &s, Stats: &stats, Now: func() time.Time { return now }, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	text := "2026-11-20T10:00:00Z ERROR one\n  continued\n1971-01-01T00:00:00Z old\n1972-01-01T00:00:00Z old\n"
	if err := f.Read(t.Context(), f.NewSource("x"), strings.NewReader(text), time.Time{}); err != nil {
		t.Fatal(err)
	}
	own := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC).UnixNano()
	for i, want := range []int64{own, own, now.UnixNano(), now.UnixNano()} {
		if s.records[i].Time != want {
			t.Errorf("line %d: time %v", i, time.Unix(0, s.records[i].Time).UTC())
		}
	}
	if s.records[0].Level != record.Error {
		t.Errorf("level %v", s.records[0].Level)
	}
	if stats.TimesRejected.Load() != 2 || strings.Count(log.String(), "before 1990") != 1 {
		t.Errorf("%d times refused; log:\n%s", stats.TimesRejected.Load(), log.String())
	}
	// A time without a year takes the one nearest before the reference.
	ref := time.Date(2005, 12, 20, 0, 0, 0, 0, time.UTC)
	if err := f.Read(t.Context(), f.NewSource("y"), strings.NewReader("Jul  1 09:00:55 combo su: x\n"), ref); err != nil {
		t.Fatal(err)
	}
	if got := time.Unix(0, s.records[4].Time).UTC(); got != time.Date(2005, 7, 1, 9, 0, 55, 0, time.UTC) {
		t.Errorf("time without a year: %v", got)
	}
}

func TestFeedCutsAndCounts(t *testing.T) {
	t.Parallel()
	var s sink
	var stats input.Stats
	f := newFeed(t, input.Options{Sink: &s, Stats: &stats, MaxRecord: input.MinMaxRecord})
	src := f.Resume("x", input.Point{}, at)
	const size = 5 << 20
	text := strings.Repeat("z", size) + "\nafter\n"
	if err := f.Read(t.Context(), src, iotest.HalfReader(strings.NewReader(text)), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if len(s.messages) != 2 || len(s.messages[0]) > input.MinMaxRecord || !strings.HasSuffix(s.messages[0], " bytes]") || s.messages[1] != "after" {
		t.Errorf("%d messages, the first ends %q", len(s.messages), s.messages[0][max(0, len(s.messages[0])-50):])
	}
	if stats.Cut.Load() != 1 || stats.Bytes.Load() != int64(len(text)) {
		t.Errorf("%d cut, %d bytes", stats.Cut.Load(), stats.Bytes.Load())
	}
	if got, _ := binary.Varint(s.positions["in"]); got != int64(len(text)) {
		t.Errorf("position %d of %d", got, len(text))
	}
}

// Random bytes come back exactly, whatever the pieces they are read in.
func TestFeedRandomBytes(t *testing.T) {
	t.Parallel()
	var seed [32]byte
	random := rand.NewChaCha8(seed)
	text := make([]byte, 8<<20)
	random.Read(text)
	for i := range text[:200_000] {
		text[i] &= 0x0a // many lines, most of them short or empty
	}
	var s sink
	f := newFeed(t, input.Options{Sink: &s})
	src := f.NewSource("x")
	if err := f.Read(t.Context(), src, bytes.NewReader(text), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := f.End(t.Context(), src, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.messages, "\n"); got != strings.TrimSuffix(string(text), "\n") {
		t.Errorf("seed %v: %d bytes came back of %d", seed, len(got), len(text))
	}
}

func TestFeedErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	s := sink{err: broken}
	f := newFeed(t, input.Options{Sink: &s})
	if err := f.Read(t.Context(), f.NewSource("x"), strings.NewReader("a\n"), time.Time{}); !errors.Is(err, broken) {
		t.Errorf("sink: %v", err)
	}
	s.err = nil
	f = newFeed(t, input.Options{Sink: &s})
	src := f.NewSource("x")
	err := f.Read(t.Context(), src, io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), time.Time{})
	if !errors.Is(err, broken) {
		t.Errorf("reader: %v", err)
	}
	if err := f.Read(t.Context(), src, strings.NewReader("c\n"), time.Time{}); err != nil || !cmp.Equal(s.messages, []string{"a", "bc"}) {
		t.Errorf("after an error of reading: %q, %v", s.messages, err)
	}
	for _, size := range []int{-1, 1, input.MinMaxRecord - 1, record.MaxSize + 1} {
		if _, err := input.NewFeed(input.Options{Service: "x", Sink: &s, MaxRecord: size}); err == nil {
			t.Errorf("record limit %d: no error", size)
		}
	}
}

func TestGrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancelCause(t.Context())
		late, cancel := input.Grace(ctx, 10*time.Second)
		defer cancel()
		cause := errors.New("stop requested")
		stop(cause)
		time.Sleep(9 * time.Second)
		synctest.Wait()
		if late.Err() != nil {
			t.Error("ended early")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !errors.Is(context.Cause(late), cause) {
			t.Errorf("cause %v", context.Cause(late))
		}
	})
}

func BenchmarkFeed(b *testing.B) {
	line := `{"time":"2026-11-20T15:04:05.123Z","level":"info","service":"checkout","msg":"order accepted","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","status":200}` + "\n"
	text := strings.Repeat(line, 50_000)
	f, err := input.NewFeed(input.Options{Service: "x", Sink: discard{}})
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
}

type discard struct{}

func (discard) Append(context.Context, buffer.Chunk) (buffer.LSN, error) { return 0, nil }
func (discard) Position(string) ([]byte, bool)                           { return nil, false }
func (discard) Positions(string) []buffer.Position                       { return nil }
func (discard) Synced(context.Context, buffer.LSN) error                 { return nil }
