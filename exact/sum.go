package exact

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
)

// Sum is an exact sum of Numbers. The zero value is 0. Copies may share memory: after copying, modify only one of them.
type Sum struct {
	// hi and lo are an integer of 128 bits in two's complement, scale is its number of decimal places. If wide is set, it
	// has the integer instead.
	hi, lo uint64
	scale  int32
	wide   *big.Int
}

// SumWords is the number of 64-bit words of [Sum.Words].
const SumWords = 3

// Words returns the sum as words. The sum must not be Wide.
func (s *Sum) Words() (w [SumWords]uint64) { return [SumWords]uint64{s.hi, s.lo, uint64(s.scale)} }

// FromWords returns the sum with these [Sum.Words].
func FromWords(hi, lo, scale uint64) Sum { return Sum{hi: hi, lo: lo, scale: int32(scale)} }

// Wide reports whether the sum needs more than 128 bits, which are allocated separately.
func (s *Sum) Wide() bool { return s.wide != nil }

// WideSize is the approximate maximum memory of a Wide sum in bytes.
const WideSize = 512

// Add adds a number.
func (s *Sum) Add(n Number) {
	if n.digits == "" && s.wide == nil {
		negative, magnitude := n.magnitude()
		if s.addShort(negative, 0, magnitude, n.exp) {
			return
		}
	}
	coef, exp := n.big()
	s.addBig(coef, exp)
}

// AddSquare adds the square of a number.
func (s *Sum) AddSquare(n Number) {
	if n.digits == "" && s.wide == nil {
		_, magnitude := n.magnitude()
		hi, lo := bits.Mul64(magnitude, magnitude)
		if s.addShort(false, hi, lo, 2*n.exp) {
			return
		}
	}
	coef, exp := n.big()
	s.addBig(coef.Mul(coef, coef), 2*exp)
}

func (n Number) magnitude() (negative bool, magnitude uint64) {
	if n.coef < 0 {
		return true, -uint64(n.coef)
	}
	return false, uint64(n.coef)
}

// addShort adds an integer of 128 bits times 10^exp, and reports whether the sum still fits 128 bits; otherwise its value does
// not change.
func (s *Sum) addShort(negative bool, hi, lo uint64, exp int32) bool {
	if -exp > s.scale {
		down, sumHi, sumLo := absolute(s.hi, s.lo)
		sumHi, sumLo, ok := multiply(sumHi, sumLo, -exp-s.scale)
		if !ok {
			return false
		}
		s.hi, s.lo = sign(down, sumHi, sumLo)
		s.scale = -exp
	}
	hi, lo, ok := multiply(hi, lo, exp+s.scale)
	if !ok {
		return false
	}
	hi, lo = sign(negative, hi, lo)
	sumLo, carry := bits.Add64(s.lo, lo, 0)
	sumHi, _ := bits.Add64(s.hi, hi, carry)
	if int64(s.hi^sumHi)&int64(hi^sumHi) < 0 { // overflow: both terms have another sign than the sum
		return false
	}
	s.hi, s.lo = sumHi, sumLo
	return true
}

func absolute(hi, lo uint64) (negative bool, ahi, alo uint64) {
	if int64(hi) >= 0 {
		return false, hi, lo
	}
	hi, lo = sign(true, hi, lo)
	return true, hi, lo
}

// sign negates an integer of 128 bits if negative is set.
func sign(negative bool, hi, lo uint64) (shi, slo uint64) {
	if !negative {
		return hi, lo
	}
	lo, carry := bits.Add64(^lo, 1, 0)
	return ^hi + carry, lo
}

// multiply returns an integer times 10^n; not ok if the result has more than 127 bits.
func multiply(hi, lo uint64, n int32) (mhi, mlo uint64, ok bool) {
	if n == 0 || hi|lo == 0 {
		return hi, lo, hi <= math.MaxInt64
	}
	if n > 19 {
		return 0, 0, false
	}
	p := pow10(int(n))
	over, high := bits.Mul64(hi, p)
	mhi, mlo = bits.Mul64(lo, p)
	mhi, carry := bits.Add64(mhi, high, 0)
	return mhi, mlo, over == 0 && carry == 0 && mhi <= math.MaxInt64
}

// addBig adds coef·10^exp, and makes the sum Wide. It modifies coef.
func (s *Sum) addBig(coef *big.Int, exp int32) {
	s.wide = s.bigInt()
	if -exp > s.scale {
		s.wide.Mul(s.wide, bigPow10(-exp-s.scale))
		s.scale = -exp
	}
	if exp+s.scale > 0 {
		coef.Mul(coef, bigPow10(exp+s.scale))
	}
	s.wide.Add(s.wide, coef)
}

// bigInt returns the sum as an integer, in units of 10^-scale.
func (s *Sum) bigInt() *big.Int {
	if s.wide != nil {
		return s.wide
	}
	negative, hi, lo := absolute(s.hi, s.lo)
	n := new(big.Int).SetUint64(hi)
	n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(lo))
	if negative {
		n.Neg(n)
	}
	return n
}

func bigPow10(n int32) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// Merge adds another sum.
func (s *Sum) Merge(o *Sum) {
	if s.wide == nil && o.wide == nil {
		negative, hi, lo := absolute(o.hi, o.lo)
		if s.addShort(negative, hi, lo, -o.scale) {
			return
		}
	}
	s.addBig(new(big.Int).Set(o.bigInt()), -o.scale)
}

// Encode appends the sum: its scale (uvarint), its sign (1 byte: 0 or 1), and its magnitude in units of 10^-scale: the number
// of bytes (uvarint) and the bytes in big-endian order.
func (s *Sum) Encode(dst []byte) []byte {
	var magnitude []byte
	var scratch [16]byte
	negative := false
	if s.wide != nil {
		negative, magnitude = s.wide.Sign() < 0, s.wide.Bytes()
	} else {
		var hi, lo uint64
		negative, hi, lo = absolute(s.hi, s.lo)
		binary.BigEndian.PutUint64(scratch[:8], hi)
		binary.BigEndian.PutUint64(scratch[8:], lo)
		zeros := bits.LeadingZeros64(hi) / 8
		if hi == 0 {
			zeros += bits.LeadingZeros64(lo) / 8
		}
		magnitude = scratch[zeros:]
	}
	dst = binary.AppendUvarint(dst, uint64(s.scale))
	if negative {
		dst = append(dst, 1)
	} else {
		dst = append(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(magnitude)))
	return append(dst, magnitude...)
}

const (
	// maxScale is the scale of the square of a number of MaxFraction decimal places.
	maxScale = 2 * MaxFraction
	// maxMagnitude is the maximum number of bytes of the magnitude: that of 2^64 squares of the greatest number with maxScale.
	maxMagnitude = (2*MaxPoint+maxScale)*10/3/8 + 9
)

// DecodeSum reads a sum at the start of src, and returns the rest.
func DecodeSum(src []byte) (s Sum, rest []byte, err error) {
	scale, width := binary.Uvarint(src)
	if width <= 0 || scale > maxScale || len(src) <= width || src[width] > 1 {
		return Sum{}, nil, ErrEncoding
	}
	negative := src[width] == 1
	rest = src[width+1:]
	length, width := binary.Uvarint(rest)
	if width <= 0 || length > maxMagnitude || length > uint64(len(rest)-width) {
		return Sum{}, nil, ErrEncoding
	}
	magnitude := rest[width : width+int(length)]
	rest = rest[width+int(length):]
	s.scale = int32(scale)
	if length <= 16 {
		var scratch [16]byte
		copy(scratch[16-length:], magnitude)
		s.hi, s.lo = binary.BigEndian.Uint64(scratch[:8]), binary.BigEndian.Uint64(scratch[8:])
		if s.hi <= math.MaxInt64 {
			s.hi, s.lo = sign(negative, s.hi, s.lo)
			return s, rest, nil
		}
		s.hi, s.lo = 0, 0
	}
	s.wide = new(big.Int).SetBytes(magnitude)
	if negative {
		s.wide.Neg(s.wide)
	}
	return s, rest, nil
}
