package input_test

import (
	"bytes"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/container"
)

// zeros is a hole of NUL bytes.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func hole(n int64) io.Reader { return io.LimitReader(zeros{}, n) }

// A hole of NUL bytes at the start of a line is left out and counted; others are part of the line.
func TestNULsAtTheStartOfLines(t *testing.T) {
	t.Parallel()
	nuls, few := strings.Repeat("\x00", 20), strings.Repeat("\x00", 15)
	const stamped = "2026-11-20T15:04:05Z ERROR first"
	for _, tt := range []struct {
		name, text string
		format     container.Format
		want       []string
		skipped    int64
	}{
		{"none", "a\nb\n", container.Auto, []string{"a", "b"}, 0},
		{"at the start", nuls + stamped + "\n", container.Auto, []string{stamped}, 20},
		{"after a line", "a\n" + nuls + "b\n" + nuls + "c\n", container.Auto, []string{"a", "b", "c"}, 40},
		{"in a line", "a" + nuls + "b\x00\n", container.Auto, []string{"a" + nuls + "b\x00"}, 0},
		{"alone on a line", nuls + "\na\n", container.Auto, []string{"", "a"}, 20},
		{"at the end", "a\n" + nuls, container.Auto, []string{"a"}, 20},
		{"alone", nuls, container.Auto, nil, 20},
		{"no newline", nuls + "a", container.Auto, []string{"a"}, 20},
		{"before a wrapped line", nuls + `{"log":"a\n","stream":"stdout","time":"2026-11-20T11:00:01Z"}` + "\n", container.Docker, []string{"a"}, 20},
		{"too few for a hole", "\x00\x00a\n" + few + "b\n\x00", container.Auto, []string{"\x00\x00a", few + "b", "\x00"}, 0},
	} {
		for _, r := range []io.Reader{strings.NewReader(tt.text), iotest.OneByteReader(strings.NewReader(tt.text))} {
			var s sink
			var stats input.Stats
			var log bytes.Buffer
			f := newFeed(t, input.Options{Sink: &s, Stats: &stats, Lines: input.Lines{Format: tt.format}, Log: slog.New(slog.NewTextHandler(&log, nil))})
			src := f.Resume("x", input.Point{}, func(input.Point) []buffer.Position { return nil })
			if err := f.Read(t.Context(), src, r, time.Time{}); err != nil {
				t.Fatal(err)
			}
			if got := src.Offset(); got != int64(len(tt.text)) {
				t.Errorf("%s: offset %d of %d", tt.name, got, len(tt.text))
			}
			if err := f.End(t.Context(), src, time.Time{}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, s.messages); diff != "" {
				t.Errorf("%s: %s", tt.name, diff)
			}
			if p := src.Point(); p.Offset != int64(len(tt.text)) || stats.Bytes.Load() != p.Offset || stats.NULs.Load() != tt.skipped {
				t.Errorf("%s: position %d, %d bytes, %d skipped, want %d, %d skipped", tt.name, p.Offset, stats.Bytes.Load(), stats.NULs.Load(), len(tt.text), tt.skipped)
			}
			if n := strings.Count(log.String(), "skipped NUL bytes"); n != int(min(tt.skipped, 1)) {
				t.Errorf("%s: logged %d times", tt.name, n)
			}
		}
	}
}

// A large hole is neither a truncated record nor kept in memory, and a run that ends in it starts again at its start.
func TestLargeHole(t *testing.T) { //nolint:paralleltest // it measures the heap of the process
	const size = 256 << 20
	var s sink
	var stats input.Stats
	f := newFeed(t, input.Options{Sink: &s, Stats: &stats})
	src := f.Resume("x", input.Point{}, at)
	if err := f.Read(t.Context(), src, strings.NewReader("before\n"), time.Time{}); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 4 {
		if err := f.Read(t.Context(), src, hole(size/4), time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 64<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	if p, end := src.Point(), src.Offset(); p.Offset != 7 || end != 7+size || src.Held() != size {
		t.Errorf("position %d, read to %d, held %d", p.Offset, end, src.Held())
	}
	if err := f.Read(t.Context(), src, strings.NewReader("2026-11-20T15:04:05Z ERROR after\n"), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"before", "2026-11-20T15:04:05Z ERROR after"}, s.messages); diff != "" {
		t.Error(diff)
	}
	if stats.Cut.Load() != 0 || stats.NULs.Load() != size || src.Point().Offset != 7+size+33 {
		t.Errorf("%d truncated, %d skipped, position %d", stats.Cut.Load(), stats.NULs.Load(), src.Point().Offset)
	}
}
