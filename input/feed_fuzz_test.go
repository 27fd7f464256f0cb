package input_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/container"
	"logstow/input/multiline"
)

// Whatever the bytes: the same records come of them in one piece, in small pieces,
// and in two runs; none is over the limit.
func FuzzFeed(f *testing.F) {
	f.Add([]byte("2026-11-20T11:00:01Z stdout P a\n2026-11-20T11:00:01Z stderr F b\n2026-11-20T11:00:01Z stdout F c\n\tat a.b(C)\nx"), uint8(5), uint8(2))
	f.Add([]byte(`{"log":"a","stream":"stdout","time":"2026-11-20T11:00:01Z"}`+"\n"+`{"log":"b\n","stream":"stdout","time":"2026-11-20T11:00:01Z"}`+"\n"), uint8(50), uint8(3))
	f.Add([]byte("ERROR x\nTraceback (most recent call last):\n  File \"x\"\nKeyError\n\npanic: x\n\ngoroutine 1 [running]:\nmain.main()\n\tx\n"), uint8(1), uint8(1))
	f.Add(append(bytes.Repeat([]byte("z"), 3000), "\nlast"...), uint8(255), uint8(0))
	f.Add([]byte("\x00\x00\x00a\n\x00\x00\nb\x00\n\x00\x00"), uint8(2), uint8(0))
	f.Add([]byte("\xff\xfea\x00\n\x00\x3d\xd8\x00\xdeb\x00\n\x00\x3d"), uint8(2), uint8(0))
	f.Add([]byte("\x00\x00\xfe\xff\x00\x00\x00a\x00\x00\x00\n\x00\x01\xf6\x00\x00"), uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, text []byte, step, format uint8) {
		lines := input.Lines{Format: container.Format(format % 4), Multiline: multiline.Options{Auto: format&4 == 0}}
		// feed reads from a point, step bytes at once and at most some, and ends there if that is set.
		feed := func(s *sink, at input.Point, step, most int, end bool) input.Point {
			fd, err := input.NewFeed(input.Options{Service: "x", Sink: s, Lines: lines, MaxRecord: input.MinMaxRecord, Now: noon})
			if err != nil {
				t.Fatal(err)
			}
			src := fd.Resume("x", at, func(input.Point) []buffer.Position { return nil })
			encoding, _ := input.DetectEncoding(text[:min(len(text), 4)])
			src.Encoded(encoding)
			for rest := text[at.Offset:most]; len(rest) > 0; {
				n := min(step, len(rest))
				if err := fd.Read(t.Context(), src, bytes.NewReader(rest[:n]), time.Time{}); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			if end {
				if err := fd.End(t.Context(), src, time.Time{}); err != nil {
					t.Fatal(err)
				}
			}
			return src.Point()
		}
		var whole, small, two sink
		feed(&whole, input.Point{}, len(text), len(text), true)
		if p := feed(&small, input.Point{}, 1+int(step), len(text), true); p.Offset != int64(len(text)) {
			t.Fatalf("at the end the position is %+v of %d", p, len(text))
		}
		for i, m := range whole.messages {
			if len(m) > input.MinMaxRecord {
				t.Fatalf("record %d has %d bytes", i, len(m))
			}
		}
		if diff := cmp.Diff(whole.messages, small.messages); diff != "" {
			t.Fatalf("in steps of %d: %s", 1+int(step), diff)
		}
		p := feed(&two, input.Point{}, 1+int(step), len(text)/2, false)
		feed(&two, p, len(text), len(text), true)
		if len(two.messages) != len(whole.messages) {
			t.Fatalf("in two runs %d records, in one %d\n%q\n%q", len(two.messages), len(whole.messages), two.messages, whole.messages)
		}
	})
}
