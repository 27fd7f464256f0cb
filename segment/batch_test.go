package segment_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/record"
	"logstow/segment"
)

// The Batch is a hash of the footer as stored.
func TestBatchIsHashOfFooter(t *testing.T) {
	t.Parallel()
	blob, m := write(t, options(), rec(0, record.Info, "a", "x"))
	sum := sha256.Sum256(blob[m.Footer+segment.FrameHeader : len(blob)-segment.TrailerSize])
	if !bytes.Equal(m.Batch[:], sum[:16]) {
		t.Errorf("Batch %s, SHA-256 of the footer %x", m.Batch, sum)
	}
}

// A segment of other records is not the one of the metadata, whatever else is the same.
func TestTwin(t *testing.T) {
	t.Parallel()
	opts := options()
	opts.NoFilter = true
	blob, m := write(t, opts, rec(0, record.Error, "app.log", "disk full"))
	twin, tm := write(t, opts, rec(0, record.Error, "app.log", "all is ok"))
	tm.Batch = m.Batch
	if tm != m || len(twin) != len(blob) {
		t.Fatalf("the twin differs in more than its records: %+v, %+v", tm, m)
	}
	f, err := segment.ReadFooter(t.Context(), ranges(twin), int64(len(twin)), m.Footer)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Check(m); !segment.IsDamage(err) || !strings.Contains(err.Error(), "Batch differs") {
		t.Errorf("the twin is accepted: %v", err)
	}
	// Nor with the footer of the original.
	mixed := append(slices.Clone(twin[:m.Footer]), blob[m.Footer:]...)
	if _, err := verify(t, mixed); !segment.IsDamage(err) {
		t.Errorf("the twin's block is accepted: %v", err)
	}
}

// A footer with any bit changed and a right checksum is not that of the metadata.
func TestForgedFooter(t *testing.T) {
	t.Parallel()
	opts := options()
	opts.NoFilter = true
	blob, m := write(t, opts, rec(0, record.Error, "app.log", "disk full"))
	body := blob[m.Footer+segment.FrameHeader : len(blob)-segment.TrailerSize]
	for bit := range len(body) * 8 {
		forged := slices.Clone(body)
		forged[bit/8] ^= 1 << (bit % 8)
		other := seal(slices.Clone(blob[:m.Footer]), forged)
		f, err := segment.ReadFooter(t.Context(), ranges(other), int64(len(other)), m.Footer)
		if err == nil {
			err = f.Check(m)
		}
		if !segment.IsDamage(err) && !errors.Is(err, segment.ErrUnsupported) {
			t.Fatalf("bit %d: %v", bit, err)
		}
	}
}

// A block with other records and the CRC-32C of the original is damaged, also for readers that do not check zstd's checksum.
func TestBlockOfSameCRC(t *testing.T) {
	t.Parallel()
	opts := options()
	opts.NoFilter = true
	blob, m := write(t, opts, rec(0, record.Error, "app.log", "disk full"))
	f, err := verify(t, blob)
	if err != nil {
		t.Fatal(err)
	}
	b := f.Blocks[0]
	forged := bytes.Replace(blob[:b.Stored], []byte("disk full"), []byte("all is ok"), 1)
	forgeCRC(forged, crc(blob[:b.Stored]))
	if crc(forged) != crc(blob[:b.Stored]) || bytes.Equal(forged, blob[:b.Stored]) {
		t.Fatal("the checksum is not that of the original")
	}
	if text, err := segment.NewStoredDecoder().DecodeBlock(nil, forged, b); !segment.IsDamage(err) {
		t.Errorf("decoded %q, %v", text, err)
	}
	other := append(forged, blob[m.Footer:]...)
	if _, err := segment.VerifyStored(t.Context(), ranges(other), int64(len(other))); !segment.IsDamage(err) {
		t.Errorf("verified: %v", err)
	}
}

// forgeCRC sets the last four bytes of b so that its CRC-32C is want.
func forgeCRC(b []byte, want uint32) {
	tail := b[len(b)-4:]
	sum := func(x uint32) uint32 {
		tail[0], tail[1], tail[2], tail[3] = byte(x), byte(x>>8), byte(x>>16), byte(x>>24)
		return crc(b)
	}
	// The checksum is linear in the bits of the tail: solve for them, one bit of the checksum after the other.
	var rows, tails [32]uint32 // by the highest bit that a change of the tail changes
	zero := sum(0)
	reduce := func(change, x uint32) (uint32, uint32) {
		for change != 0 {
			top := bits.Len32(change) - 1
			if rows[top] == 0 {
				rows[top], tails[top] = change, x
				return change, x
			}
			change, x = change^rows[top], x^tails[top]
		}
		return 0, x
	}
	for i := range 32 {
		reduce(sum(1<<i)^zero, 1<<i)
	}
	_, x := reduce(want^zero, 0)
	sum(x)
}

// The same records read again are other records: only the salts differ.
func TestSalt(t *testing.T) {
	t.Parallel()
	records := []record.Record{rec(0, record.Info, "a", "x"), rec(time.Second, record.Error, "a", "y")}
	one := options()
	two := one
	two.Salt[7]++
	blob, m := write(t, one, records...)
	other, om := write(t, two, records...)
	if m.Batch == om.Batch || !bytes.Equal(blob[:m.Footer], other[:m.Footer]) {
		t.Errorf("Batches %s and %s", m.Batch, om.Batch)
	}
	om.Batch = m.Batch
	if om != m {
		t.Errorf("metadata %+v and %+v", m, om)
	}
	if f, err := verify(t, other); err != nil || f.Salt != two.Salt {
		t.Errorf("salt %x, %v", f.Salt, err)
	}
	// Without a salt the key is left out.
	one.Salt = [16]byte{}
	plain, _ := write(t, one, records...)
	if f, err := verify(t, plain); err != nil || f.Salt != one.Salt || bytes.Contains(plain, []byte("Salt")) {
		t.Errorf("footer %+v, %v", f, err)
	}
}

// The same input gives the same bytes, also with a Compressor that has compressed other text.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	parts := randomParts(t, []int{300, 500, 200})
	want, m, _ := writeOutput(t, parts, nil)
	used := segment.NewCompressor()
	for range 20 {
		got, again, _ := writeOutput(t, parts, func(o *segment.Options) { o.Compressor = used })
		if again != m || !bytes.Equal(got, want) {
			t.Fatal("the same records are encoded differently")
		}
		writeOutput(t, randomParts(t, []int{700, 100}), func(o *segment.Options) { o.Compressor = used; o.BlockSize = 30000 })
	}
	lines := access(3000, func(i int) string { return fmt.Sprintf(`{"id":%d,"status":%d,"b":%d,"c":%d}`, i, i%5, i%7, i%7) })
	first, _ := write(t, columned(64<<10), lines...)
	for range 5 {
		if again, _ := write(t, columned(64<<10), lines...); !bytes.Equal(again, first) {
			t.Fatal("the same columns are encoded differently")
		}
	}
	inputs, _ := merge(parts)
	opts := outputOptions(inputs)
	opts.Salt[0] = 1
	if _, err := segment.NewWriter(new(bytes.Buffer), opts).Close(1); err == nil || !strings.Contains(err.Error(), "salt") {
		t.Errorf("output with a salt: %v", err)
	}
}
