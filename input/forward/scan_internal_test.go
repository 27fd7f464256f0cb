package forward

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/vmihailenco/msgpack/v5"
)

// values are msgpack values of every kind.
func values() [][]byte {
	long := bytes.Repeat([]byte("a"), 70000)
	list := [][]byte{
		{0x00},
		{0x7f},
		{0xff},
		{0xe0},
		{0xc0},
		{0xc2},
		{0xc3},
		{0xcc, 0x80},
		{0xcd, 1, 2},
		{0xce, 1, 2, 3, 4},
		{0xcf, 1, 2, 3, 4, 5, 6, 7, 8},
		{0xd0, 0x80},
		{0xd1, 0x80, 0},
		{0xd2, 0x80, 0, 0, 0},
		{0xd3, 0x80, 0, 0, 0, 0, 0, 0, 0},
		{0xca, 1, 2, 3, 4},
		{0xcb, 1, 2, 3, 4, 5, 6, 7, 8},
		{0xa0},
		{0xa1, 'a'},
		{0xd9, 1, 'a'},
		{0xda, 0, 1, 'a'},
		{0xdb, 0, 0, 0, 1, 'a'},
		{0xc4, 1, 'a'},
		{0xc5, 0, 1, 'a'},
		{0xc6, 0, 0, 0, 1, 'a'},
		{0xd4, 1, 2},
		{0xd5, 1, 2, 3},
		{0xd6, 1, 2, 3, 4, 5},
		append([]byte{0xd7, 0}, make([]byte, 8)...), append([]byte{0xd8, 0}, make([]byte, 16)...),
		{0xc7, 1, 5, 9},
		{0xc8, 0, 1, 5, 9},
		{0xc9, 0, 0, 0, 1, 5, 9},
		{0xc7, 0, 5},
		{0x90},
		{0x80},
		{0x92, 0x90, 0x80},
		{0x81, 0xa1, 'a', 0x91, 0x01},
		{0xdc, 0, 1, 0xc0},
		{0xdd, 0, 0, 0, 1, 0xc0},
		{0xde, 0, 1, 1, 1},
		{0xdf, 0, 0, 0, 1, 1, 1},
		append([]byte{0xdb, 0, 1, 0x11, 0x70}, long...),
	}
	return list
}

func TestScan(t *testing.T) {
	t.Parallel()
	for _, v := range values() {
		for have := range min(len(v), 20) {
			var s scanner
			if size, err := s.next(v[:have], maxMessage); size != 0 || err != nil {
				t.Errorf("%x: size %d, %v", v[:have], size, err)
			}
			if size, err := s.next(append(v[:len(v):len(v)], 1, 2), maxMessage); size != len(v) || err != nil {
				t.Errorf("%.40x: size %d, %v after %d bytes, want %d", v, size, err, have, len(v))
			}
		}
		var s scanner
		if _, err := s.next(v, len(v)-1); !errors.Is(err, errTooLong) {
			t.Errorf("%.40x: %v with a limit that is a byte too small", v, err)
		}
	}
	bad := map[string]struct {
		value []byte
		want  error
	}{
		"a head that is none": {[]byte{0xc1}, errMalformed},
		"4 GiB of text":       {[]byte{0xdb, 0xff, 0xff, 0xff, 0xff}, errTooLong},
		"4 G values":          {[]byte{0xdd, 0xff, 0xff, 0xff, 0xff}, errTooLong},
		"4 G pairs":           {[]byte{0xdf, 0xff, 0xff, 0xff, 0xff}, errTooLong},
		"65 deep":             {bytes.Repeat([]byte{0x91}, maxDepth+1), errMalformed},
	}
	for name, c := range bad {
		var s scanner
		if _, err := s.next(c.value, maxMessage); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// FuzzScan holds the scanner against another reader of msgpack, and against
// itself where the bytes come one by one.
func FuzzScan(f *testing.F) {
	for _, v := range values() {
		f.Add(v[:min(len(v), 100)])
	}
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var whole scanner
		want, wantErr := whole.next(b, 1<<16)
		var s scanner
		for have := range len(b) + 1 {
			size, err := s.next(b[:have], 1<<16)
			if size == 0 && err == nil {
				continue
			}
			if size != want || (err == nil) != (wantErr == nil) {
				t.Fatalf("%x: %d, %v after %d bytes, want %d, %v", b, size, err, have, want, wantErr)
			}
			break
		}
		if wantErr != nil {
			return
		}
		r := bytes.NewReader(b)
		d := msgpack.NewDecoder(iotest.OneByteReader(r))
		err := d.Skip()
		switch {
		case want > 0 && err != nil:
			t.Fatalf("%x: msgpack: %v", b, err)
		case want == 0 && err == nil:
			t.Fatalf("%x: %d bytes are a value for msgpack", b, len(b)-r.Len())
		case want == 0 && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
			t.Fatalf("%x: msgpack: %v", b, err)
		}
	})
}

// The times of MessagePack, and the times of Fluent Bit's group markers, which are no records.
func TestTimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, when string
		nanos      int64
		marker     marker
	}{
		{"event time", "\xd7\x00\x69\x1f\x2d\x45\x00\x00\x00\x07", 0x691f2d45*1_000_000_000 + 7, noMarker},
		{"timestamp 32", "\xd6\xff\x69\x1f\x2d\x45", 0x691f2d45 * 1_000_000_000, noMarker},
		{"timestamp 64", "\xd7\xff\x00\x00\x00\x1c\x69\x1f\x2d\x45", 0x691f2d45*1_000_000_000 + 7, noMarker},
		{"timestamp 96", "\xc7\x0c\xff\x00\x00\x00\x07\x00\x00\x00\x00\x69\x1f\x2d\x45", 0x691f2d45*1_000_000_000 + 7, noMarker},
		{"seconds", "\xce\x69\x1f\x2d\x45", 0x691f2d45 * 1_000_000_000, noMarker},
		{"with metadata", "\x92\xd6\xff\x69\x1f\x2d\x45\x80", 0x691f2d45 * 1_000_000_000, noMarker},
		{"begin of a group", "\x92\xd7\x00\xff\xff\xff\xff\x00\x00\x00\x00\x80", 0, beginMarker},
		{"end of a group", "\x92\xd7\x00\xff\xff\xff\xfe\x00\x00\x00\x00\x80", 0, endMarker},
		{"begin, a number", "\xff", 0, beginMarker},
		{"end, a number", "\xfe", 0, endMarker},
		{"before 1970", "\xfd", -3_000_000_000, noMarker},
	} {
		if got := markerOf([]byte(c.when)); got != c.marker {
			t.Errorf("%s: marker %d", c.name, got)
		}
		if got := eventNanos([]byte(c.when)); c.marker == noMarker && got != c.nanos {
			t.Errorf("%s: %d, want %d", c.name, got, c.nanos)
		}
	}
}
