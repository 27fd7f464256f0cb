package sketch

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"logstow/internal/test/testrand"
	"logstow/internal/wire"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	s := New()
	var grown int64
	for _, x := range []float64{1, 1, 1e200, 1e100, 1e-200, -3, -3} {
		grown += s.Add(x)
	}
	bins := int64(s.mapping.Index(1e200) - s.mapping.Index(1e-200) + 1 + 1) // and one of the negative values
	if grown != bins*binSize {
		t.Errorf("%d bytes of %d bins", grown, bins)
	}
}

// Parts that are merged, or encoded and decoded, are the sketch of all values; each rank is within the accuracy.
func TestParts(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	for range 50 {
		values := make([]float64, 1+rnd.IntN(2000))
		whole, merged, decoded := New(), New(), New()
		part := New()
		for i := range values {
			values[i] = math.Round(rnd.NormFloat64() * math.Pow(10, float64(rnd.IntN(6))))
			whole.Add(values[i])
			if part.Add(values[i]); rnd.IntN(200) > 0 && i < len(values)-1 {
				continue
			}
			merged.Merge(part)
			r := &wire.Reader{Rest: part.Encode(nil)}
			if decoded.Decode(r); r.Bad || len(r.Rest) > 0 {
				t.Fatal("a sketch cannot be decoded")
			}
			part = New()
		}
		want := whole.Encode(nil)
		if !bytes.Equal(merged.Encode(nil), want) || !bytes.Equal(decoded.Encode(nil), want) || whole.Count() != uint64(len(values)) {
			t.Fatal("parts make another sketch than all values")
		}
		slices.Sort(values)
		for i, v := range values {
			if got := whole.Rank(uint64(i) + 1); math.Abs(got-v) > Accuracy*math.Abs(v)*(1+1e-9) {
				t.Fatalf("rank %d is %v, want about %v", i+1, got, v)
			}
		}
	}
}
