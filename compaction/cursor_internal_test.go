package compaction

import "testing"

// Positions are decoded as they were encoded, and no other bytes are.
func TestPositions(t *testing.T) {
	t.Parallel()
	var k positions
	all := []position{{-5, 0, 0}, {7, 0, 1}, {7, 0, 2}, {7, 1, 0}, {8, 0, 0}, {1 << 62, 1<<32 - 1, 1<<32 - 1}}
	for i, p := range all {
		encoded := k.Encode(nil, p)
		if got, ok := k.Decode(encoded); !ok || got != p {
			t.Errorf("%+v is decoded as %+v, %v", p, got, ok)
		}
		if _, ok := k.Decode(encoded[1:]); ok {
			t.Error("a part of a position is decoded")
		}
		for j, o := range all {
			if c := k.Compare(p, o); c < 0 != (i < j) || c > 0 != (i > j) {
				t.Errorf("%+v and %+v compare as %d", p, o, c)
			}
		}
	}
}
