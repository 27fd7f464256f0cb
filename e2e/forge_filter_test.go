package e2e

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"logstow/blobnaming"
	"logstow/filter"
	"logstow/internal/test/effort"
)

// TestForgeFilter stores twins of honest segments whose token filter does not have the searched word, and that are the same otherwise: a
// search finds the honest records.
func TestForgeFilter(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "compacts twins three times")
	for _, stage := range stages() {
		t.Run(stage, func(t *testing.T) {
			t.Parallel()
			f := newForgeries(t, stage, []forgingAttack{
				{name: "lower", forge: func(f *forgery) {
					f.twin(0, f.name("1000", 1), f.withoutSearched)
					f.twin(1, f.name("1000", 2), f.withoutSearched)
				}},
				{name: "higher", forge: func(f *forgery) {
					for i, bucket := range []string{"1030", "1030", "1100", "1100"} {
						f.twin(i, f.name(bucket, 999_990+i), f.withoutSearched)
					}
				}},
			})
			f.forge()
			f.check("forged")
			f.compact()
			f.compact()
			f.check("compacted")
			f.checkStored("compacted", true)
		})
	}
}

// withoutSearched changes the slice of the token filter that has a searched word, so that it is valid and does not have the word.
func (f *forgery) withoutSearched(m *blobnaming.Metadata, body []byte) []byte {
	f.t.Helper()
	key := filter.KeyOf([]byte(searched))
	offset, length, ok := filter.Locate(m.Filter, key)
	if !ok {
		f.t.Fatal("no filter")
	}
	slice := body[offset:][:length]
	for at := range len(slice) - 4 {
		for bit := range 8 {
			slice[at] ^= 1 << bit
			sum := binary.LittleEndian.Uint32(slice[len(slice)-4:])
			binary.LittleEndian.PutUint32(slice[len(slice)-4:], crc32.Checksum(slice[:len(slice)-4], crc32.MakeTable(crc32.Castagnoli)))
			if parsed, err := filter.ParseSlice(slice); err == nil && parsed.Blocks(key).None() {
				return body
			}
			slice[at] ^= 1 << bit
			binary.LittleEndian.PutUint32(slice[len(slice)-4:], sum)
		}
	}
	f.t.Fatal("no slice without the word")
	return nil
}
