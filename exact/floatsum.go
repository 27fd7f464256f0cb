package exact

import (
	"math"
	"math/big"
	"slices"
)

// FloatSum is an exact sum of floats, which Float rounds once. The sum does not depend on the order of values or on how
// they are split. The zero value is 0. Copies share memory: after copying, modify only one of them.
//
// The sum is kept as floats with non-overlapping mantissas, as in Shewchuk's adaptive arithmetic: adding two floats gives
// their rounded sum and the error, which is a float.
type FloatSum struct {
	// top is the greatest part, rest are the others in ascending order of magnitude.
	top  float64
	rest []float64
	// huge is the sum of values from hugeValue on, scaled by hugeScale: parts cannot overflow.
	huge *FloatSum
	infinities
}

// infinities are the values of a sum that are not finite.
type infinities struct{ positive, negative, nan bool }

const (
	hugeValue = 0x1p960
	hugeScale = 0x1p-100
	// exactBits is the precision of a big.Float that has room for sums of all floats and products of two sums.
	exactBits = 4608
	// quotientBits is the precision in bits of a quotient before it is rounded to a float.
	quotientBits = 192
)

// Add adds a value.
func (s *FloatSum) Add(x float64) {
	switch {
	case math.Abs(x) < hugeValue:
		s.addPart(x)
	case math.IsNaN(x):
		s.nan = true
	case math.IsInf(x, 1):
		s.positive = true
	case math.IsInf(x, -1):
		s.negative = true
	default:
		if s.huge == nil {
			s.huge = &FloatSum{}
		}
		s.huge.addPart(x * hugeScale)
	}
}

func (s *FloatSum) addPart(x float64) {
	if len(s.rest) == 0 {
		sum, err := twoSum(s.top, x)
		s.top = sum
		if err != 0 {
			s.rest = append(s.rest, err)
		}
		return
	}
	kept := s.rest[:0]
	for _, part := range s.rest {
		sum, err := twoSum(x, part)
		if err != 0 {
			kept = append(kept, err)
		}
		x = sum
	}
	sum, err := twoSum(x, s.top)
	if err != 0 {
		kept = append(kept, err)
	}
	s.top, s.rest = sum, kept
}

// chunkSize is the number of values that addChunk adds at most; few are quicker one by one.
const (
	chunkSize = 1 << 10
	fewValues = 8
)

// AddValues adds values.
func (s *FloatSum) AddValues(values []float64) {
	for chunk := range slices.Chunk(values, chunkSize) {
		if len(chunk) > fewValues && s.addChunk(chunk) {
			continue
		}
		for _, x := range chunk {
			s.Add(x)
		}
	}
}

// addChunk adds up to chunkSize values. It returns false, without adding, if a value is too large or all are too small.
//
// It splits each value at the bits 2^43 and 2^87 below the greatest magnitude, by adding and subtracting a constant whose
// last bit is there. The sums of either part are exact: 2^10 parts of at most 2^43 units have 53 bits. The rest of a value,
// if it is much less than the greatest, is added separately.
func (s *FloatSum) addChunk(values []float64) bool {
	const (
		sign     = 1 << 63
		exponent = 52
		half     = 1 << (exponent - 1) // of the constants, so that negative values do not change their exponent
		// least and greatest are the biased exponents of values for which no part is too small or too large.
		least, greatest = 1 << 7, 1023 + 959
	)
	top := uint64(0) // the bits of magnitudes are in their order, infinity and NaN last
	for _, x := range values {
		top = max(top, math.Float64bits(x)&^sign)
	}
	e := top >> exponent
	if e < least || e > greatest {
		return false
	}
	// The magnitudes are less than 2^(e+1), without the bias.
	first, second := math.Float64frombits((e+10)<<exponent|half), math.Float64frombits((e-34)<<exponent|half)
	var high, low float64
	for _, x := range values {
		h := x + first - first
		rest := x - h
		l := rest + second - second
		high += h
		low += l
		if rest != l {
			s.addPart(rest - l)
		}
	}
	s.addPart(high)
	s.addPart(low)
	return true
}

// AddSquare adds the square of x: the rounded product and its error.
func (s *FloatSum) AddSquare(x float64) {
	product := x * x
	s.Add(product)
	if !math.IsInf(product, 0) && !math.IsNaN(product) {
		s.Add(math.FMA(x, x, -product))
	}
}

// AddSquares adds the squares of values.
func (s *FloatSum) AddSquares(values []float64) {
	var products, errs [chunkSize / 4]float64
	for chunk := range slices.Chunk(values, len(products)) {
		for i, x := range chunk {
			products[i], errs[i] = x*x, 0
			if !math.IsInf(products[i], 0) && !math.IsNaN(products[i]) {
				errs[i] = math.FMA(x, x, -products[i])
			}
		}
		s.AddValues(products[:len(chunk)])
		s.AddValues(errs[:len(chunk)])
	}
}

// Merge adds another sum.
func (s *FloatSum) Merge(o *FloatSum) {
	for _, part := range o.rest {
		s.addPart(part)
	}
	s.addPart(o.top)
	if o.huge != nil {
		if s.huge == nil {
			s.huge = &FloatSum{}
		}
		s.huge.Merge(o.huge)
	}
	s.positive = s.positive || o.positive
	s.negative = s.negative || o.negative
	s.nan = s.nan || o.nan
}

// twoSum is the rounded sum and its error.
func twoSum(a, b float64) (sum, err float64) {
	sum = a + b
	v := sum - a
	return sum, (a - (sum - v)) + (b - v)
}

// Float is the sum rounded to the nearest float.
func (s *FloatSum) Float() float64 {
	if x, ok := s.notFinite(); ok {
		return x
	}
	if len(s.rest) == 0 && s.huge == nil {
		return s.top
	}
	x, _ := s.big().Float64()
	return x
}

// notFinite is the sum if values make it infinite or no number.
func (s *FloatSum) notFinite() (float64, bool) {
	switch {
	case s.nan || s.positive && s.negative:
		return math.NaN(), true
	case s.positive:
		return math.Inf(1), true
	case s.negative:
		return math.Inf(-1), true
	}
	return 0, false
}

func (s *FloatSum) big() *big.Float {
	x := new(big.Float).SetPrec(exactBits)
	if s.huge != nil {
		x.Add(x, s.huge.big())
		x.Mul(x, big.NewFloat(1/hugeScale))
	}
	for _, part := range s.rest {
		x.Add(x, big.NewFloat(part))
	}
	return x.Add(x, big.NewFloat(s.top))
}

// Size is the memory of the sum in bytes in addition to that of FloatSum, unless values are huge.
func (s *FloatSum) Size() int { return 8 * cap(s.rest) }

// Variance returns the variance of a population of n values by their sum and sum of squares.
func Variance(sum, squares *FloatSum, n uint64) float64 {
	if _, bad := sum.notFinite(); bad {
		return math.NaN()
	}
	if x, bad := squares.notFinite(); bad {
		return x
	}
	count := new(big.Float).SetPrec(exactBits).SetUint64(n)
	x, some := dispersion(sum.big(), squares.big(), count)
	if !some {
		return 0
	}
	f, _ := new(big.Float).SetPrec(quotientBits).Quo(x, count.Mul(count, count)).Float64()
	return f
}
