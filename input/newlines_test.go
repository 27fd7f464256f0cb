package input_test

import (
	"bytes"
	"testing"

	"logstow/buffer"
	"logstow/input"
	"logstow/record"
)

// A message of newlines, each of which takes two bytes in a segment, is cut to what a block holds.
func TestManyNewlines(t *testing.T) {
	t.Parallel()
	b, err := buffer.Open(t.Context(), buffer.Options{Instance: "i", Once: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	var stats input.Stats
	r, err := input.NewReceiver(input.Options{Service: "x", Sink: b, MaxRecord: record.MaxSize, Stats: &stats})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{8 << 20, 9 << 20, record.MaxSize} {
		if err := r.Receive(t.Context(), "", []input.Event{{Message: bytes.Repeat([]byte("\n"), n)}}); err != nil {
			t.Errorf("%d newlines: %v", n, err)
		}
	}
	if cut := stats.Cut.Load(); cut != 2 {
		t.Errorf("%d were cut, want 2", cut)
	}
}
