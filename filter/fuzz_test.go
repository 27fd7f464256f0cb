package filter_test

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"logstow/filter"
)

// FuzzParseSlice gives the decoder bytes whose checksum is right.
func FuzzParseSlice(f *testing.F) {
	var c filter.Collector
	for _, text := range []string{"", "one 1234567", "abcdef1 abcdef2 abcdef3 10.0.0.1", `\u00411234567`} {
		b := newBlock([]byte(text))
		l := lay(f, c.Collect(b.text, b.hidden()), c.Collect(b.text, b.hidden()))
		f.Add(l.bytes[:len(l.bytes)-4], uint32(filter.KeyOf([]byte("abcdef1"))))
	}
	f.Fuzz(func(t *testing.T, body []byte, key uint32) {
		sum := crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli))
		s, err := filter.ParseSlice(binary.LittleEndian.AppendUint32(body[:len(body):len(body)], sum))
		if err != nil {
			if !errors.Is(err, filter.ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		blocks := s.Blocks(filter.Key(key))
		if n := blocks.Known(); n > filter.MaxBlocks || !blocks.Has(n) {
			t.Errorf("%d blocks known", n)
		}
	})
}

// FuzzCollect gives the writer any text, twice: what it collects depends on the
// text alone.
func FuzzCollect(f *testing.F) {
	f.Add([]byte(`x\u003cabcdef1 10.0.0.1 aa:bb:cc:dd:ee:ff`))
	var c filter.Collector
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<12 {
			return
		}
		b := newBlock(text)
		first, second := lay(t, c.Collect(b.text, b.hidden())), lay(t, new(filter.Collector).Collect(b.text, b.hidden()))
		if string(first.bytes) != string(second.bytes) || first.place != second.place {
			t.Errorf("%x\n%x", first.bytes, second.bytes)
		}
	})
}
