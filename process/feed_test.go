package process_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"logstow/buffer"
	"logstow/input"
	"logstow/process"
	"logstow/record"
)

// What processing decides is final: a buffer that is opened again holds what was
// kept, as it was kept, and positions behind what was dropped.
func TestThroughFeedAndBuffer(t *testing.T) {
	t.Parallel()
	var stats process.Stats
	p := newProcessor(t, process.Options{
		Redact: []string{"bearer"}, Drop: []process.Rule{{Levels: levels(t, "debug")}},
		Sample: []process.Sample{{Rule: process.Rule{Contains: []string{"often"}}, OneIn: 10}}, RateLimit: 8, Stats: &stats,
		Now: func() time.Time { return time.Unix(1_795_000_000, 0) },
	})
	opts := buffer.Options{Instance: "test", Dir: t.TempDir()}
	b, err := buffer.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	f, err := input.NewFeed(input.Options{Service: "web", Process: p, Sink: b})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	text.WriteString("2026-11-20T15:00:00Z INFO auth Bearer abcdefghijk\n")
	for i := range 40 { // four of these are left of ten, and of the rest three
		fmt.Fprintf(&text, "2026-11-20T15:00:01Z INFO often %d\n2026-11-20T15:00:01Z DEBUG %d\n", i, i)
	}
	text.WriteString(strings.Repeat("2026-11-20T15:00:02Z ERROR failed\n", 10))
	position := func(at input.Point) []buffer.Position {
		return []buffer.Position{{Input: "in", Value: binary.BigEndian.AppendUint64(nil, uint64(at.Offset))}}
	}
	if err := f.Read(t.Context(), f.Resume("a", input.Point{}, position), strings.NewReader(text.String()), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}

	if b, err = buffer.Open(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	value, _ := b.Position("in")
	if len(value) != 8 || binary.BigEndian.Uint64(value) != uint64(text.Len()) {
		t.Errorf("position %x, want %x", value, text.Len())
	}
	b.Flush(t.Context()) // it waits for the log
	if got := b.Stats().Replayed; got != 8 {
		t.Errorf("%d records in the buffer, want 8", got)
	}
	want := map[string]int64{"redact:bearer": 1, "drop": 40, "keep": 0, "sample": 36, "rate-limit": 7}
	for reason, n := range stats.Counts() {
		if n != want[reason] {
			t.Errorf("%s: %d, want %d", reason, n, want[reason])
		}
	}
}

// The log of our own never says what processing takes out.
func TestFeedLogsNoSecret(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	f, err := input.NewFeed(input.Options{
		Service: "web", Process: newProcessor(t, process.Options{Redact: []string{"all"}}), Sink: discard{}, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	line := "1980-01-01T00:00:00Z INFO auth Bearer abcdefghijk\n"
	if err := f.Read(t.Context(), f.NewSource("a"), strings.NewReader(line), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "[redacted:bearer]") || strings.Contains(log.String(), "abcdefghijk") {
		t.Error(log.String())
	}
}

// Many inputs may use one processor.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	var stats process.Stats
	p := newProcessor(t, process.Options{
		Redact: []string{"all"}, Drop: []process.Rule{{Contains: []string{"no"}}}, RateLimit: 1, Burst: 100, Stats: &stats,
		Sample: []process.Sample{{OneIn: 2}}, Now: func() time.Time { return time.Unix(1_795_000_000, 0) },
	})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 1000 {
				p.Process("web", &record.Record{Message: []byte([]string{"no", "sig=" + signature, "x", "y"}[i%4])})
			}
		})
	}
	wg.Wait()
	if c := stats.Counts(); c["drop"] != 1000 || c["sample"] != 1500 || c["redact:sas"] != 1000 || c["rate-limit"] != 1400 {
		t.Errorf("%v", c)
	}
}

// discard is a sink that keeps nothing.
type discard struct{ input.Sink }

func (discard) Append(context.Context, buffer.Chunk) (buffer.LSN, error) { return 0, nil }
