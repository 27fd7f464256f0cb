package input_test

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"testing"
	"time"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/multiline"
	"logstow/internal/test/effort"
	"logstow/record"
)

// A newline takes two bytes in a segment: a record of many of them may exceed a block although its message
// does not exceed the record limit. It is truncated, and what follows it is stored.
func TestFeedManyNewlines(t *testing.T) {
	effort.Need(t, effort.Test, "one goroutine, which takes seconds under the race detector")
	t.Parallel()
	b, err := buffer.Open(t.Context(), buffer.Options{Instance: "node-1", Memory: 256 << 20, FlushSize: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	var stats input.Stats
	feed, err := input.NewFeed(input.Options{
		Service: "web", Class: "std", Sink: b, Stats: &stats, MaxRecord: record.MaxSize,
		Lines: input.Lines{Multiline: multiline.Options{Start: regexp.MustCompile(`^begin`), MaxLines: record.MaxSize}},
	})
	if err != nil {
		t.Fatal(err)
	}
	src := feed.NewSource("app.log")
	text := io.MultiReader(bytes.NewReader([]byte("begin")), bytes.NewReader(bytes.Repeat([]byte("\n"), 12<<20)), bytes.NewReader([]byte("begin again\n")))
	if err := feed.Read(t.Context(), src, text, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := feed.End(context.WithoutCancel(t.Context()), src, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if got := stats.Records.Load(); got != 2 {
		t.Errorf("%d records, want 2", got)
	}
	if got := stats.Cut.Load(); got != 1 {
		t.Errorf("%d truncated, want 1", got)
	}
}
