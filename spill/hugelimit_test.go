package spill

import (
	"encoding/binary"
	"math"
	"testing"
)

// Twice a limit may overflow: records beyond the memory are still written.
func TestHugeLimit(t *testing.T) {
	for _, limit := range []int{math.MaxInt32, math.MaxInt/2 + 1, math.MaxInt} {
		s := NewSorter(t.TempDir(), 100_000, limit)
		var key [8]byte
		for i := range 10_000 {
			binary.BigEndian.PutUint64(key[:], uint64(i)*0x9e3779b97f4a7c15)
			if err := s.Put(key[:], make([]byte, 50)); err != nil {
				t.Fatal(err)
			}
		}
		if s.runs.Len() == 0 || cap(s.buffer) > 200_000 {
			t.Errorf("limit %d: %d bytes are in memory, %d runs", limit, cap(s.buffer), s.runs.Len())
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
