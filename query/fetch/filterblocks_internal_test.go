package fetch

import (
	"math"
	"testing"

	"logstow/blobnaming"
	"logstow/filter"
	"logstow/query/source"
)

// Metadata may claim that the token filter is anywhere: what is outside of the blob is none.
func TestSliceReadsOutside(t *testing.T) {
	t.Parallel()
	keys := []filter.Key{0, 1 << 20, math.MaxUint32}
	for _, f := range []blobnaming.Filter{
		{Offset: math.MaxInt64 - 7, Partitions: 1, SliceLength: 4313},
		{Offset: math.MaxInt64 - 7, Partitions: 8, SliceLength: 4313},
		{Offset: math.MaxInt64 - 4313, Partitions: 8, SliceLength: 4313},
		{Offset: 1, Partitions: 1, SliceLength: 1 << 20},
		{Offset: 1 << 20, Partitions: 8, SliceLength: 10},
	} {
		if reads, ok := sliceReads(&source.Segment{Size: 1 << 19, Meta: blobnaming.Metadata{Filter: f}}, keys); ok {
			t.Errorf("%+v: %+v", f, reads)
		}
	}
	inside := blobnaming.Filter{Offset: 400_000, Partitions: 8, SliceLength: 4096}
	if _, ok := sliceReads(&source.Segment{Size: 1 << 19, Meta: blobnaming.Metadata{Filter: inside}}, keys); !ok {
		t.Error("a filter of a segment is not read")
	}
}
