package segment_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"logstow/internal/test/testrand"
	"logstow/segment"
)

// Each form is used where it is the shortest, and gives back what was put in.
func TestPages(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	draw := func(n int, one func(i int) uint32) []uint32 {
		ids := make([]uint32, n)
		for i := range ids {
			ids[i] = one(i)
		}
		return ids
	}
	const packed, huff0, runs, huff4 = 0, 1, 2, 3
	for name, c := range map[string]struct {
		inputs int
		blocks [][]uint32
		kind   byte
		most   int // bytes of the last page
	}{
		"one record":        {1, [][]uint32{{0}}, packed, 4},
		"one input":         {9, [][]uint32{{3, 3, 3}, {3, 3}}, packed, 4},
		"two in turn":       {2, [][]uint32{draw(800, func(i int) uint32 { return uint32(i % 2) })}, packed, 110},
		"even":              {256, [][]uint32{draw(4096, func(int) uint32 { return uint32(rnd.IntN(256)) })}, packed, 4096 + 600},
		"more than a byte":  {1000, [][]uint32{draw(8192, func(int) uint32 { return uint32(rnd.IntN(1000)) })}, packed, 8192*10/8 + 2100},
		"skewed":            {100, [][]uint32{draw(8192, func(int) uint32 { return uint32(rnd.IntN(1 + rnd.IntN(1+rnd.IntN(100)))) })}, huff4, 8192 * 6 / 8},
		"few and skewed":    {100, [][]uint32{draw(1000, func(int) uint32 { return uint32(rnd.IntN(1 + rnd.IntN(1+rnd.IntN(100)))) })}, huff0, 1000 * 7 / 8},
		"long runs":         {4, [][]uint32{draw(4000, func(i int) uint32 { return uint32(i / 1000) })}, runs, 30},
		"runs of many":      {300, [][]uint32{draw(9000, func(i int) uint32 { return uint32(i * 7 % 8400 / 30) })}, runs, 6000},
		"many blocks":       {3, slices.Repeat([][]uint32{{0, 1, 2, 0, 1, 2}}, 50), packed, 14},
		"a dictionary only": {30000, [][]uint32{{29999, 7, 29999, 7}}, packed, 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := make(map[uint32]uint64)
			pages := segment.EncodePages(c.inputs, c.blocks...)
			for i, page := range pages {
				got, err := segment.DecodePage(page, uint64(len(c.blocks[i])), c.inputs)
				if err != nil {
					t.Fatal(err)
				}
				back := draw(len(c.blocks[i]), func(j int) uint32 { return uint32(got.Part(j)) })
				if diff := gocmp.Diff(c.blocks[i], back); diff != "" {
					t.Fatal(diff)
				}
				for j, input := range got.Parts {
					if got.Before[j] != before[input] {
						t.Errorf("block %d, input %d: %d before, want %d", i, input, got.Before[j], before[input])
					}
				}
				for _, input := range back {
					before[input]++
				}
			}
			last := pages[len(pages)-1]
			if last[0] != c.kind || len(last) > c.most {
				t.Errorf("form %d, %d bytes; want %d, at most %d", last[0], len(last), c.kind, c.most)
			}
		})
	}
}

func TestMalformedPages(t *testing.T) {
	t.Parallel()
	page := func(parts ...uint64) []byte {
		b := []byte{byte(parts[0])}
		for _, v := range parts[1:] {
			b = binary.AppendUvarint(b, v)
		}
		return b
	}
	for name, bad := range map[string][]byte{
		"empty":                 {},
		"no dictionary":         {0},
		"a dictionary of none":  page(0, 0),
		"more inputs than are":  page(0, 3, 0, 1, 1, 0, 0, 0, 0),
		"an unknown input":      page(0, 1, 2, 0),
		"an input twice":        page(0, 2, 0, 0, 0, 0, 0b0110),
		"a huge delta":          page(0, 2, 1, 1<<63, 0, 0, 0b0110),
		"a missing count":       page(0, 2, 0, 1, 0),
		"missing ids":           page(0, 2, 0, 1, 0, 0),
		"ids too long":          page(0, 2, 0, 1, 0, 0, 0b0110, 0),
		"bits after the last":   page(0, 2, 0, 1, 0, 0, 0b10110),
		"an input without any":  page(0, 2, 0, 1, 0, 0, 0),
		"an unknown form":       page(4, 2, 0, 1, 0, 0, 0b0110),
		"a run too long":        page(2, 2, 0, 1, 0, 0, 0, 1, 1, 2),
		"a run missing":         page(2, 2, 0, 1, 0, 0, 0, 1),
		"bytes behind runs":     page(2, 2, 0, 1, 0, 0, 0, 1, 1, 1, 0),
		"an unknown id":         page(2, 2, 0, 1, 0, 0, 0, 1, 2, 1),
		"no table":              page(1, 2, 0, 1, 0, 0),
		"a varint without end":  append(page(2, 2, 0, 1, 0, 0), 0x80),
		"a table without codes": append(page(1, 2, 0, 1, 0, 0), 0, 0, 0),
	} {
		if got, err := segment.DecodePage(bad, 4, 2); err == nil {
			t.Errorf("%s: read as %+v", name, got)
		}
	}
	if _, err := segment.DecodePage(page(0, 2, 0, 1, 0, 0, 0b0110), 4, 2); err != nil {
		t.Error(err)
	}
}

// FuzzPage reads any bytes as a page: never a panic, and what is accepted has ids of its inputs only.
func FuzzPage(f *testing.F) {
	for _, ids := range [][]uint32{{0}, {0, 1, 0}, slices.Repeat([]uint32{0, 0, 0, 1, 0, 2}, 200), append(make([]uint32, 500), 1)} {
		f.Add(segment.EncodePages(3, ids)[0], uint16(len(ids)), uint16(3))
	}
	f.Fuzz(func(t *testing.T, page []byte, n, inputs uint16) {
		got, err := segment.DecodePage(page, uint64(n), int(inputs))
		if err != nil {
			return
		}
		if len(got.IDs) != int(n) {
			t.Fatalf("%d ids of %d", len(got.IDs), n)
		}
		for i := range got.IDs {
			if got.Part(i) >= int(inputs) {
				t.Fatalf("id %d of %d", got.Part(i), inputs)
			}
		}
	})
}

// FuzzOrigins reads any bytes as a list of inputs: never a panic, and what is accepted
// agrees with the footer.
func FuzzOrigins(f *testing.F) {
	for _, blob := range goldenBlobs(f) {
		footer, err := verify(f, blob)
		if err != nil {
			f.Fatal(err)
		}
		if footer.IsOutput() {
			f.Add(blob[footer.Origins : footer.Origins+footer.OriginsLength])
		}
	}
	blob := readFile(f, goldenDir+"/output.log")
	footer, err := verify(f, blob)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, list []byte) {
		origins, err := segment.DecodeOrigins(list, footer)
		if err != nil {
			return
		}
		var records uint64
		for _, o := range origins.Inputs {
			records += o.Records
		}
		if records != footer.Records || len(origins.Pages) != len(footer.Blocks) {
			t.Fatalf("%d records, %d pages", records, len(origins.Pages))
		}
	})
}

// Every bit that is flipped in the section of origins is found and named, whatever is
// read: all, what is stored, the list, a page.
func TestEveryBitFlipInOriginsIsNamed(t *testing.T) {
	t.Parallel()
	blob, m, _ := writeOutput(t, randomParts(t, []int{6, 6, 6}), func(o *segment.Options) { o.NoFilter = true })
	f, err := verify(t, blob)
	if err != nil {
		t.Fatal(err)
	}
	_, origins, err := segment.ReadOrigins(t.Context(), ranges(blob), int64(len(blob)), m.Origins)
	if err != nil {
		t.Fatal(err)
	}
	section := f.Sections[0]
	size := int64(len(blob))
	named := func(what string, bit int64, err error) {
		t.Helper()
		var corrupt *segment.CorruptError
		if !errors.As(err, &corrupt) || corrupt.Part != "section origins" {
			t.Fatalf("%s, bit %d: error %v", what, bit, err)
		}
	}
	for bit := section.Offset * 8; bit < (section.Offset+section.Length)*8; bit++ {
		damaged := slices.Clone(blob)
		damaged[bit/8] ^= 1 << (bit % 8)
		_, err := segment.Verify(t.Context(), ranges(damaged), size)
		named("verify", bit, err)
		_, err = segment.VerifyStored(t.Context(), ranges(damaged), size)
		named("verify stored", bit, err)
		if bit/8 >= m.Origins {
			footer, _, err := segment.ReadOrigins(t.Context(), ranges(damaged), size, m.Origins)
			named("list", bit, err)
			if footer == nil {
				t.Fatalf("bit %d: no footer", bit)
			}
		}
		for i, p := range origins.Pages {
			if bit/8 >= p.Offset && bit/8 < p.Offset+p.Length {
				_, err := origins.DecodePage(damaged[p.Offset:p.Offset+p.Length], f.Blocks[i])
				named(fmt.Sprintf("page %d", i), bit, err)
			}
		}
	}
}
