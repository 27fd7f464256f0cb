package exact

import (
	"math"
	"math/big"
)

// Integer returns the sum if it is an integer.
func (s *Sum) Integer() (*big.Int, bool) {
	n := s.bigInt()
	if s.scale == 0 {
		return n, true
	}
	quotient, remainder := new(big.Int).QuoRem(n, bigPow10(s.scale), new(big.Int))
	return quotient, remainder.Sign() == 0
}

// Int64 returns the sum if it is an integer that fits.
func (s *Sum) Int64() (int64, bool) {
	if s.wide == nil && s.scale == 0 {
		return int64(s.lo), int64(s.hi) == int64(s.lo)>>63
	}
	n, ok := s.Integer()
	return n.Int64(), ok && n.IsInt64()
}

// Float returns the float64 nearest to the sum.
func (s *Sum) Float() float64 { return s.Mean(1) }

// maxExactFloat is the greatest integer up to which float64 has all integers.
const maxExactFloat = 1 << 53

// Mean returns the float64 nearest to the sum divided by n.
func (s *Sum) Mean(n uint64) float64 {
	if x, ok := s.Int64(); ok && n <= maxExactFloat && -maxExactFloat <= x && x <= maxExactFloat {
		return float64(x) / float64(n)
	}
	divisor := bigPow10(s.scale)
	return Ratio(s.bigInt(), divisor.Mul(divisor, new(big.Int).SetUint64(n)))
}

// Ratio returns the float64 nearest to a/b.
func Ratio(a, b *big.Int) float64 {
	x, _ := new(big.Rat).SetFrac(a, b).Float64()
	return x
}

// rootPrecision is the number of bits with which square roots are computed before they are rounded.
const rootPrecision = 512

// Deviation returns the standard deviation of a population of n numbers, by their sum and sum of squares. It is computed
// exactly and rounded once.
func Deviation(sum, squares *Sum, n uint64) float64 {
	// Terms are scaled to integers with an even number of decimal places.
	scale := max(2*sum.scale, squares.scale+squares.scale&1)
	count := new(big.Int).SetUint64(n)
	x, some := dispersion(
		new(big.Int).Mul(sum.bigInt(), bigPow10(scale/2-sum.scale)), new(big.Int).Mul(squares.bigInt(), bigPow10(scale-squares.scale)), count,
	)
	if !some {
		return 0
	}
	root := new(big.Float).SetPrec(rootPrecision).SetInt(x)
	root.Sqrt(root)
	divisor := new(big.Float).SetPrec(rootPrecision).SetInt(count.Mul(count, bigPow10(scale/2)))
	f, _ := root.Quo(root, divisor).Float64()
	return f
}

// dispersion returns n·squares - sum² of a population of n numbers, which is n² times their variance, in the memory of squares. It is false
// if that is 0, or less by errors of squares.
func dispersion[T interface {
	Mul(x, y T) T
	Sub(x, y T) T
	Sign() int
}](sum, squares, n T) (T, bool) {
	squares.Mul(squares, n)
	squares.Sub(squares, sum.Mul(sum, sum))
	return squares, squares.Sign() > 0
}

// Bucket returns the greatest of the numbers 0, ±1·10^k, ±2·10^k and ±5·10^k that is at most n. It is not ok if that is out
// of range.
func (n Number) Bucket() (Number, bool) {
	if n.Sign() == 0 {
		return n, true
	}
	var scratch [24]byte
	negative, digits, point := n.Decimal(scratch[:0])
	first := digits[0] - '0'
	var lead int64
	if !negative {
		lead = 5
		for _, step := range [...]int64{2, 1} {
			if int64(first) < lead {
				lead = step
			}
		}
	} else {
		// The least of 1, 2, 5 and 10 that is at least as far from zero.
		lead = 1
		for _, step := range [...]int64{2, 5, 10} {
			if int64(first) > lead || int64(first) == lead && len(digits) > 1 {
				lead = step
			}
		}
		lead = -lead
	}
	n = narrow(lead, int32(point-1))
	return n, n.InRange()
}

// Floor returns the greatest multiple of width that is at most n; width must be positive. It is not ok if that is out of
// range.
func (n Number) Floor(width Number) (Number, bool) {
	if n.digits == "" && width.digits == "" && n.exp <= 0 && width.exp <= 0 {
		exp := min(n.exp, width.exp)
		a, fits := rescale(n.coef, n.exp-exp)
		w, too := rescale(width.coef, width.exp-exp)
		if fits && too {
			rest := a % w
			if rest < 0 {
				rest += w
			}
			if a >= math.MinInt64+rest+1 {
				return narrow(a-rest, exp), true
			}
		}
	}
	a, i := n.big()
	w, j := width.big()
	exp := min(i, j)
	a.Mul(a, bigPow10(i-exp))
	w.Mul(w, bigPow10(j-exp))
	a.Sub(a, new(big.Int).Mod(a, w)) // Mod is never negative
	return fromBig(a, exp)
}

// rescale returns coef·10^n, if it fits; coef if n is negative.
func rescale(coef int64, n int32) (int64, bool) {
	if n <= 0 {
		return coef, true
	}
	if n > maxDigits {
		return 0, coef == 0
	}
	p := int64(pow10(int(n)))
	return coef * p, coef*p/p == coef
}
