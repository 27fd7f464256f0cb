package fieldstats

import (
	"testing"

	"logstow/blobnaming"
	"logstow/query/source"
)

// Metadata may claim any size: memory must not grow with it.
func TestBlocksOfDamagedMetadata(t *testing.T) {
	t.Parallel()
	for size, most := range map[int64]uint64{-1: 1, 0: 1, 10: 1, 600_000: 40_000} {
		if n := blocksIn(&source.Segment{Size: size, Meta: blobnaming.Metadata{RawBytes: 1 << 62}}); n < 1 || n > most {
			t.Errorf("%d blocks in %d bytes", n, size)
		}
	}
}
