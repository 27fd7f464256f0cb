package sorting

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"logstow/message"
	"logstow/query/source"

	"logstow/blobnaming"
	"logstow/internal/test/testrand"
)

// A bound admits what is among the first, equal starts of keys included, and drops all that is behind them.
func TestBound(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	for range 300 {
		b := newBound(1 + rnd.IntN(12))
		prefix := strings.Repeat("x", []int{0, 0, boundBytes - 2, boundBytes}[rnd.IntN(4)])
		var starts []string
		for range rnd.IntN(80) {
			key := fmt.Sprintf("%s%03d", prefix, rnd.IntN(300))
			start := key[:min(len(key), boundBytes)]
			want := len(starts) < b.limit || start <= starts[b.limit-1]
			if got := b.admit([]byte(key)); got != want {
				t.Fatalf("limit %d: %q is admitted: %v, want %v, after %q", b.limit, key, got, want, starts)
			}
			starts = append(starts, start)
			slices.Sort(starts)
		}
	}
	for _, limit := range []int{0, maxBounded + 1} {
		b := newBound(limit)
		for i := range 100 {
			if !b.admit(fmt.Append(nil, i)) || b.first.Items != nil {
				t.Fatalf("limit %d: %d is dropped, or kept in memory", limit, i)
			}
		}
	}
}

// Keys compare as texts, in either direction, and as all of several items.
func TestKeysOfTexts(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	text := func() []byte {
		b := make([]byte, rnd.IntN(5))
		for i := range b {
			b[i] = []byte{0, 1, 'a', 0xfe, 0xff}[rnd.IntN(5)]
		}
		return b
	}
	for range 20_000 {
		first, second := item{descending: rnd.IntN(2) == 0}, item{descending: rnd.IntN(2) == 0}
		a, b, c, d := text(), text(), text(), text()
		if rnd.IntN(2) == 0 {
			b = a
		}
		want := bytes.Compare(a, b)
		if first.descending {
			want = -want
		}
		if want == 0 {
			if want = bytes.Compare(c, d); second.descending {
				want = -want
			}
		}
		value := func(text []byte) message.Value { return message.Value{Kind: message.String, Text: text} }
		k, l := second.appendValue(first.appendValue(nil, value(a)), value(c)), second.appendValue(first.appendValue(nil, value(b)), value(d))
		if got := bytes.Compare(k, l); got != want {
			t.Fatalf("%q %q and %q %q compare as %d, want %d", a, c, b, d, got, want)
		}
	}
}

// A payload is decoded to the record; any other bytes are an error or a record.
func TestDecode(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	segments := []*source.Segment{{}, {Name: blobnaming.Name{Service: "web"}}}
	from := place{segment: segments[1], origin: &source.Segment{Store: "s", Meta: blobnaming.Metadata{Instance: "pod"}}, number: 1}
	const line = "2026-11-20T15:04:05.000000001Z\tINFO\t-\t-\tmessage"
	payload := from.append(nil, []byte(line))
	m, err := decode(payload, segments)
	if err != nil || m.Segment != segments[1] || m.Store != "s" || m.Instance != "pod" || string(m.Line) != line || m.Time%1e9 != 1 {
		t.Fatalf("%+v, %v", m, err)
	}
	for n := range len(payload) - len("\tINFO\t-\t-\tmessage") {
		if _, err := decode(payload[:n], segments); err == nil {
			t.Errorf("%d bytes are decoded", n)
		}
	}
	if _, err := decode(payload, segments[:1]); err == nil {
		t.Error("a segment that is none is decoded")
	}
	for range 10_000 {
		damaged := bytes.Clone(payload)
		damaged[rnd.IntN(5)] = byte(rnd.Uint32())
		_, _ = decode(damaged, segments) // it does not panic
	}
}
