package exact_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"logstow/exact"
	"logstow/internal/test/testrand"
)

// chunkSize is the number of values that are added at once.
const chunkSize = 1 << 10

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func sameFloat(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b) || a == 0 && b == 0
}

// slowSum is the sum by math/big.
func slowSum(in []float64) float64 {
	sum, special, finite := new(big.Float).SetPrec(5000), 0.0, true
	for _, x := range in {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			finite = false
			special += x
			continue
		}
		sum.Add(sum, big.NewFloat(x))
	}
	if !finite {
		return special
	}
	x, _ := sum.Float64()
	return x
}

// TestFloatSum compares sums with those of math/big, also where parts of them would overflow.
func TestFloatSum(t *testing.T) {
	t.Parallel()
	r := testrand.New(t)
	for range 3000 {
		in := make([]float64, r.IntN(40))
		for i := range in {
			in[i] = math.Ldexp(r.Float64()-0.5, r.IntN(2000)-1000)
			if r.IntN(2) == 0 {
				in[i] = []float64{math.MaxFloat64, -math.MaxFloat64, 1e16, 1, -1e16, 0x1p959, 0x1p960, 5e-324}[r.IntN(8)]
			}
		}
		var parts [3]exact.FloatSum
		for _, x := range in {
			parts[r.IntN(3)].Add(x)
		}
		parts[0].Merge(&parts[1])
		parts[2].Merge(&parts[0])
		if got, want := parts[2].Float(), slowSum(in); !sameFloat(got, want) {
			t.Fatalf("%v: %v, want %v", in, got, want)
		}
	}
}

// TestFloatSumOfChunks compares the sums and variances of many values, added at once, with those of math/big.
func TestFloatSumOfChunks(t *testing.T) {
	t.Parallel()
	r := testrand.New(t)
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0x1p960, -0x1p959, 0x1p959, 5e-324, 0, math.Copysign(0, -1), 1, -1, 1e-9}
	for range 300 {
		values := make([]float64, r.IntN(3*chunkSize))
		scale, spread := r.IntN(2000)-1000, pick(r, []int{1, 10, 33, 40, 60, 120, 200})
		unit, small := math.Pow10(r.IntN(4)), pick(r, []int{33, 45})
		for i := range values {
			v := math.Ldexp(r.Float64()-0.5, scale-r.IntN(spread))
			switch {
			case spread == 10: // numbers as in logs
				v = float64(r.IntN(1_000_000)) / unit
			case spread == 33: // the great ones cancel out, and leave bits of the others
				if v = math.Ldexp(1+r.Float64(), scale-small); i == 0 || i == len(values)-1 {
					v = math.Ldexp(float64(1-2*min(i, 1)), scale)
				}
			case spread == 120 && i > 0 && r.IntN(50) > 0: // most cancel out
				v = -values[i-1]
			case spread == 40 && i > 0: // each bit matters
				v = math.Nextafter(values[0], math.Inf(1-2*r.IntN(2)))
			case spread == 200 && r.IntN(len(values)) == 0:
				v = pick(r, special)
			}
			values[i] = v
		}
		var sum, squares, each exact.FloatSum
		for part := range slices.Chunk(values, 1+r.IntN(2*chunkSize)) {
			sum.AddValues(part)
			squares.AddSquares(part)
		}
		for _, v := range values {
			each.AddSquare(v)
		}
		if got, want := sum.Float(), slowSum(values); !sameFloat(got, want) {
			t.Fatalf("scale %d, spread %d: %v, want %v of %d", scale, spread, got, want, len(values))
		}
		if got, want := squares.Float(), each.Float(); !sameFloat(got, want) {
			t.Fatalf("scale %d, spread %d: squares %v, want %v", scale, spread, got, want)
		}
	}
}

// The variance is that of the values, also if they cancel out or are not finite.
func TestVariance(t *testing.T) {
	t.Parallel()
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{1}, 0},
		{[]float64{0.1, 0.1, 0.1}, 0},
		{[]float64{1, 3}, 1},
		{[]float64{1e16, 1e16 + 2}, 1},
		{[]float64{0, 0, 3}, 2},
		{[]float64{-5, 5, -5, 5}, 25},
		{[]float64{1, inf}, nan},
		{[]float64{1, nan}, nan},
		{[]float64{1e200, 0}, inf},
	} {
		var sum, squares exact.FloatSum
		sum.AddValues(c.values)
		squares.AddSquares(c.values)
		if got := exact.Variance(&sum, &squares, uint64(len(c.values))); !sameFloat(got, c.want) {
			t.Errorf("%v: %v, want %v", c.values, got, c.want)
		}
		if size := sum.Size(); size%8 != 0 || size > 8*len(c.values) {
			t.Errorf("%v: %d bytes", c.values, size)
		}
	}
}
