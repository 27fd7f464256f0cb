package wire_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"logstow/internal/wire"
)

func TestReader(t *testing.T) {
	t.Parallel()
	b := binary.AppendVarint(binary.AppendUvarint([]byte{7}, math.MaxUint64), math.MinInt64)
	b = append(append(binary.LittleEndian.AppendUint64(b, 1<<63), 3), "text and the rest"...)
	r := wire.Reader{Rest: b}
	if one, u, v, n, text := r.Byte(), r.Uvarint(), r.Varint(), r.Uint64(), r.Text(); one != 7 || u != math.MaxUint64 || v != math.MinInt64 || n != 1<<63 ||
		string(text) != "tex" || cap(text) != 3 {
		t.Errorf("read %d, %d, %d, %d, %q of %d bytes", one, u, v, n, text, cap(text))
	}
	if rest := string(r.Rest); r.Bad || rest != "t and the rest" {
		t.Errorf("%q is left, bad %v", rest, r.Bad)
	}
}

// A failure is sticky: what follows is zero, however much is left.
func TestFailures(t *testing.T) {
	t.Parallel()
	long := bytes.Repeat([]byte{0x80}, 12)
	for name, c := range map[string]struct {
		in   []byte
		read func(*wire.Reader) bool // reports whether the result is zero
	}{
		"byte":           {nil, func(r *wire.Reader) bool { return r.Byte() == 0 }},
		"uint64":         {long[:7], func(r *wire.Reader) bool { return r.Uint64() == 0 }},
		"bytes":          {long, func(r *wire.Reader) bool { return r.Bytes(13) == nil }},
		"many bytes":     {long, func(r *wire.Reader) bool { return r.Bytes(math.MaxUint64) == nil }},
		"no uvarint":     {nil, func(r *wire.Reader) bool { return r.Uvarint() == 0 }},
		"part of one":    {long[:3], func(r *wire.Reader) bool { return r.Uvarint() == 0 }},
		"too large":      {append(bytes.Clone(long), 1), func(r *wire.Reader) bool { return r.Uvarint() == 0 }},
		"not shortest":   {[]byte{0x81, 0, 1}, func(r *wire.Reader) bool { return r.Uvarint() == 0 }},
		"varint":         {long[:3], func(r *wire.Reader) bool { return r.Varint() == 0 }},
		"long varint":    {[]byte{0x82, 0, 1}, func(r *wire.Reader) bool { return r.Varint() == 0 }},
		"text":           {[]byte{5, 'a', 'b'}, func(r *wire.Reader) bool { return r.Text() == nil }},
		"length of text": {[]byte{0x85}, func(r *wire.Reader) bool { return r.Text() == nil }},
	} {
		r := wire.Reader{Rest: c.in}
		if zero := c.read(&r); !zero || !r.Bad || len(r.Rest) > 0 {
			t.Errorf("%s: zero %v, bad %v, %d bytes left", name, zero, r.Bad, len(r.Rest))
		}
		if r.Byte() != 0 || r.Uint64() != 0 || r.Uvarint() != 0 || r.Varint() != 0 || len(r.Text()) > 0 || !r.Bad {
			t.Errorf("%s: reads on", name)
		}
	}
}
