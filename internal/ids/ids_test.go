package ids_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/klauspost/compress/huff0"

	"logstow/internal/ids"
	"logstow/internal/test/testrand"
)

// roundTrip encodes ids and decodes them again.
func roundTrip[N ids.Number](t *testing.T, e *ids.Encoder, list []N, n int) (ids.Form, []byte) {
	t.Helper()
	data, form := ids.Append(e, nil, list, n)
	got := make([]N, len(list))
	if err := ids.Decode(new(ids.Decoder), got, form, data, n); err != nil {
		t.Fatalf("%d ids below %d, form %d: %v", len(list), n, form, err)
	}
	if !slices.Equal(got, list) {
		t.Fatalf("%d ids below %d, form %d: %v decoded as %v", len(list), n, form, list, got)
	}
	if err := ids.Decode(new(ids.Decoder), got, form, append(data, 0), n); form != ids.Huffman4 && form != ids.Huffman && err == nil {
		t.Errorf("form %d: a byte behind the ids is accepted", form)
	}
	return form, data
}

func TestForms(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	random := func(n, below int) []uint8 {
		list := make([]uint8, n)
		for i := range list {
			list[i] = uint8(rnd.IntN(below))
		}
		return list
	}
	skewed := func(n int) []uint8 { // most are 0
		list := make([]uint8, n)
		for i := range list {
			list[i] = uint8(max(0, rnd.IntN(60)-50))
		}
		return list
	}
	var e ids.Encoder
	for _, c := range []struct {
		name string
		list []uint8
		n    int
		want ids.Form
		size int // at most
	}{
		{"one entry", make([]uint8, 9), 1, ids.Packed, 0},
		{"one id", []uint8{3}, 5, ids.Packed, 1},
		{"random", random(1000, 8), 8, ids.Packed, 375},
		{"all of a byte", random(1000, 256), 256, ids.Packed, 1000},
		{"all the same", make([]uint8, 100_000), 2, ids.Runs, 4},
		{"two runs", append(make([]uint8, 500), bytes.Repeat([]byte{9}, 500)...), 200, ids.Runs, 6},
		{"skewed, few", skewed(1023), 10, ids.Huffman, 400},
		{"skewed", skewed(1024), 10, ids.Huffman4, 400},
		{"the most that huff0 takes", skewed(huff0.BlockSizeMax), 10, ids.Huffman4, 80_000},
		{"more than huff0 takes", skewed(huff0.BlockSizeMax + 1), 10, ids.Packed, 131_072},
	} {
		form, data := roundTrip(t, &e, c.list, c.n)
		if form != c.want || len(data) > c.size {
			t.Errorf("%s: form %d of %d bytes, want %d of at most %d", c.name, form, len(data), c.want, c.size)
		}
	}
	wide := make([]uint32, 3000)
	for i := range wide {
		wide[i] = uint32(rnd.IntN(5000))
	}
	if form, data := roundTrip(t, &e, wide, 5000); form != ids.Packed || len(data) != 3000*13/8 {
		t.Errorf("ids of 13 bits: form %d of %d bytes", form, len(data))
	}
}

func TestBytes(t *testing.T) {
	t.Parallel()
	var e ids.Encoder
	for _, n := range []int{100, 1023, 1024, 5000} {
		plain := bytes.Repeat([]byte("aaaaaaab"), n)[:n]
		data, form, ok := ids.AppendBytes(&e, []byte("x"), plain)
		if !ok || len(data) > n/2 || (form == ids.Huffman4) != (n >= 1024) {
			t.Fatalf("%d bytes: form %d of %d, %v", n, form, len(data), ok)
		}
		got := make([]byte, n)
		if err := ids.DecodeBytes(new(ids.Decoder), got, form, data[1:]); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%d bytes are not those encoded, error %v", n, err)
		}
		for _, size := range []int{n - 1, n + 1} {
			if err := ids.DecodeBytes(new(ids.Decoder), make([]byte, size), form, data[1:]); !errors.Is(err, ids.ErrMalformed) {
				t.Errorf("%d of %d bytes: error is %v", size, n, err)
			}
		}
	}
	if _, _, ok := ids.AppendBytes(&e, nil, []byte{1, 2, 3}); ok {
		t.Error("bytes that do not become shorter are compressed")
	}
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		form ids.Form
		data []byte
		ids  int
		n    int
	}{
		"unknown form":               {4, []byte{0}, 8, 2},
		"packed: short":              {ids.Packed, []byte{0}, 9, 2},
		"packed: long":               {ids.Packed, []byte{0, 0}, 8, 2},
		"packed: too large":          {ids.Packed, []byte{3}, 1, 3},
		"packed: bits behind":        {ids.Packed, []byte{0x80}, 7, 2},
		"runs: missing":              {ids.Runs, []byte{0}, 3, 2},
		"runs: too large":            {ids.Runs, []byte{2, 2}, 3, 2},
		"runs: too long":             {ids.Runs, []byte{0, 3}, 3, 2},
		"runs: huge":                 {ids.Runs, []byte{0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, 3, 2},
		"runs: bytes behind":         {ids.Runs, []byte{0, 2, 0}, 3, 2},
		"huff0: no table":            {ids.Huffman, nil, 3, 2},
		"huff0: more than a byte":    {ids.Huffman, []byte{1, 2, 3}, 3, 257},
		"huff0 of four: no streams":  {ids.Huffman4, []byte{129, 16}, 2000, 2},
		"huff0: more than it takes":  {ids.Huffman, []byte{1, 2, 3}, huff0.BlockSizeMax + 1, 2},
		"huff0 of four: more, again": {ids.Huffman4, []byte{1, 2, 3}, huff0.BlockSizeMax + 1, 2},
	} {
		if err := ids.Decode(new(ids.Decoder), make([]uint8, c.ids), c.form, c.data, c.n); !errors.Is(err, ids.ErrMalformed) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

// FuzzDecode decodes any bytes: never a panic, and what is accepted is below n and encoded in a form that is
// no longer.
func FuzzDecode(f *testing.F) {
	var e ids.Encoder
	for _, list := range [][]uint8{{0}, {1, 0, 2}, make([]uint8, 50), bytes.Repeat([]byte{0, 0, 0, 1, 0, 2}, 300)} {
		data, form := ids.Append(&e, nil, list, 3)
		f.Add(byte(form), data, uint16(len(list)), uint16(3))
	}
	f.Fuzz(func(t *testing.T, form byte, data []byte, count, n uint16) {
		if count == 0 || n == 0 {
			return
		}
		wide, small := make([]uint32, count), make([]uint8, count)
		err := ids.Decode(new(ids.Decoder), wide, ids.Form(form), data, int(n))
		if err != nil && !errors.Is(err, ids.ErrMalformed) {
			t.Fatalf("error is %v", err)
		}
		if n <= 256 {
			if again := ids.Decode(new(ids.Decoder), small, ids.Form(form), data, int(n)); (again == nil) != (err == nil) {
				t.Fatalf("ids of 32 bits: %v, of 8: %v", err, again)
			}
		}
		if err != nil {
			return
		}
		for i, id := range wide {
			if id >= uint32(n) || n <= 256 && uint32(small[i]) != id {
				t.Fatalf("id %d is %d and %d, below %d", i, id, small[i], n)
			}
		}
		again, of := roundTrip(t, new(ids.Encoder), wide, int(n))
		if len(of) > len(data) && form == byte(ids.Packed) {
			t.Fatalf("%d bytes of form %d, again %d of %d", len(data), form, len(of), again)
		}
	})
}
