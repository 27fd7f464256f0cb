package rowset

import (
	"slices"
	"testing"

	"logstow/internal/test/testrand"
)

func TestTally(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	var counter tally
	for range 200 {
		counts := make([]uint32, 1+rnd.IntN(256))
		ids := make([]uint8, rnd.IntN(20*len(counts)))
		wide := make([]uint16, len(ids))
		for i := range counts {
			counts[i] = rnd.Uint32N(9)
		}
		want := slices.Clone(counts)
		for i := range ids {
			ids[i] = uint8(rnd.IntN(1 + rnd.IntN(len(counts))))
			wide[i] = uint16(ids[i])
			want[ids[i]]++
		}
		again := slices.Clone(counts)
		addTally(&counter, counts, ids)
		addTally(&counter, again, wide)
		if !slices.Equal(counts, want) || !slices.Equal(again, want) {
			t.Fatalf("%d numbers of %d values are counted wrongly", len(ids), len(counts))
		}
	}
}
