// Package exact has decimal numbers of any length, and computes with them without rounding: comparison, sums, sums of squares and
// buckets; and sums floats and their squares. Results are rounded once, at the end.
package exact

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/big"
	"slices"
	"strconv"
)

const (
	// MaxExponent is the maximum magnitude of the exponent of a number as written.
	MaxExponent = 999_999_999
	// MaxPoint limits the magnitude of numbers other than 0 for computations: 1e-300 ≤ |x| < 1e300.
	MaxPoint = 300
	// MaxFraction is the maximum number of decimal places for computations.
	MaxFraction = 400
)

// Number is a decimal number in canonical form: equal numbers have equal fields. Sums, squares and buckets require that it is InRange.
type Number struct {
	// If digits is empty, the number is coef·10^exp. coef has no trailing zeros unless exp is 0; exp is greater than 0 only
	// if the number does not fit coef otherwise.
	coef int64
	exp  int32
	// Otherwise the number does not fit coef, and is digits·10^exp. digits have no zeros at either end, and begin with the sign of
	// a negative number.
	digits string
}

// maxDigits is the maximum number of decimal digits that always fit int64.
const maxDigits = 18

// Parse parses a number in the syntax of [IsNumber]. It is not ok for other text, and for an exponent beyond MaxExponent.
func Parse(text []byte) (n Number, ok bool) {
	if n, ok = parseShort(text); ok {
		return n, true
	}
	if !IsNumber(text) {
		return Number{}, false
	}
	var exp int64
	if e := max(bytes.IndexByte(text, 'e'), bytes.IndexByte(text, 'E')); e >= 0 {
		exp, _ = strconv.ParseInt(string(text[e+1:]), 10, 64) // the limit of int64 if it does not fit
		if exp < -MaxExponent || exp > MaxExponent {
			return Number{}, false
		}
		text = text[:e]
		if n, ok = parseShort(text); ok {
			return narrow(n.coef, n.exp+int32(exp)), true
		}
	}
	if integer, fraction, ok := bytes.Cut(text, []byte(".")); ok {
		text = slices.Concat(integer, fraction)
		exp -= int64(len(fraction))
	}
	return normal(text, exp), true
}

// IsNumber reports whether b is written as a JSON number, leading zeros allowed.
func IsNumber(b []byte) bool {
	i := 0
	if i < len(b) && b[i] == '-' {
		i++
	}
	digits := func() bool {
		from := i
		for i < len(b) && '0' <= b[i] && b[i] <= '9' {
			i++
		}
		return i > from
	}
	if !digits() {
		return false
	}
	if i < len(b) && b[i] == '.' {
		i++
		if !digits() {
			return false
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return false
		}
	}
	return i == len(b)
}

// FromScaled returns coef·10^-places. coef must not be math.MinInt64.
func FromScaled(coef int64, places int) Number { return narrow(coef, int32(-places)) }

// FromUint64 returns magnitude·10^-places with a sign.
func FromUint64(negative bool, magnitude uint64, places int) Number {
	coef := int64(magnitude)
	switch {
	case coef < 0 && negative:
		return normal(strconv.AppendUint([]byte("-"), magnitude, 10), -int64(places))
	case coef < 0:
		return normal(strconv.AppendUint(nil, magnitude, 10), -int64(places))
	case negative:
		coef = -coef
	}
	return FromScaled(coef, places)
}

// parseShort parses up to maxDigits+1 digits and at most one point, if they fit int64.
func parseShort(text []byte) (number Number, ok bool) {
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	if len(text) == 0 || len(text) > maxDigits+2 {
		return Number{}, false
	}
	point := -1
	var n uint64
	for i, c := range text {
		digit := uint64(c) - '0'
		if digit > 9 {
			if c != '.' || point >= 0 || i == 0 || i == len(text)-1 {
				return Number{}, false
			}
			point = i
			continue
		}
		n = 10*n + digit
	}
	if point < 0 && len(text) > maxDigits+1 || n > math.MaxInt64 {
		return Number{}, false
	}
	coef, exp := int64(n), int32(0)
	if point >= 0 {
		for exp = int32(point - len(text) + 1); exp < 0 && coef%10 == 0; exp++ {
			coef /= 10
		}
	}
	if negative {
		coef = -coef
	}
	return Number{coef: coef, exp: exp}, true
}

// narrow returns the canonical form of coef·10^exp.
func narrow(coef int64, exp int32) Number {
	if coef == 0 {
		return Number{}
	}
	for exp != 0 && coef%10 == 0 {
		coef /= 10
		exp++
	}
	if exp > 0 {
		if whole, ok := rescale(coef, exp); ok {
			return Number{coef: whole}
		}
	}
	return Number{coef: coef, exp: exp}
}

// normal returns the canonical form of text·10^exp. text is digits, after the sign of a negative number.
func normal(text []byte, exp int64) Number {
	digits, negative := bytes.CutPrefix(text, []byte("-"))
	digits = bytes.TrimLeft(digits, "0")
	trimmed := string(bytes.TrimRight(digits, "0"))
	exp += int64(len(digits) - len(trimmed))
	if trimmed == "" {
		return Number{}
	}
	fits := len(trimmed) <= maxDigits+1
	if negative {
		trimmed = "-" + trimmed
	}
	if fits {
		if coef, err := strconv.ParseInt(trimmed, 10, 64); err == nil {
			return narrow(coef, int32(exp))
		}
	}
	return Number{exp: int32(exp), digits: trimmed}
}

// InRange reports whether the number is within MaxPoint and MaxFraction.
func (n Number) InRange() bool {
	if n.digits == "" && n.exp > -MaxPoint && n.exp < MaxPoint-maxDigits {
		return true
	}
	var scratch [24]byte
	_, digits, point := n.Decimal(scratch[:0])
	return len(digits) == 0 || point <= MaxPoint && point > -MaxPoint && n.exp >= -MaxFraction
}

// pow10 returns 10^n, for n up to 19. Floats have these exactly.
func pow10(n int) uint64 { return uint64(math.Pow10(n)) }

// Sign is -1, 0 or 1.
func (n Number) Sign() int {
	switch {
	case n.digits == "":
		return cmp.Compare(n.coef, 0)
	case n.digits[0] == '-':
		return -1
	}
	return 1
}

// Int64 returns the number if it is an integer that fits.
func (n Number) Int64() (int64, bool) { return n.coef, n.digits == "" && n.exp == 0 }

// IsInteger reports whether the number is an integer.
func (n Number) IsInteger() bool { return n.exp >= 0 }

// Scaled returns n·10^places without its fraction; not ok if that does not fit.
func (n Number) Scaled(places int) (int64, bool) {
	exp := int(n.exp) + places
	if n.digits != "" {
		if whole := len(n.digits) + exp; exp < 0 && whole > 0 {
			coef, err := strconv.ParseInt(n.digits[:whole], 10, 64)
			return coef, err == nil || n.digits[:whole] == "-" // no digit but a sign
		}
		return 0, exp < 0
	}
	switch {
	case exp < -maxDigits:
		return 0, true
	case exp < 0:
		return n.coef / int64(pow10(-exp)), true
	}
	return rescale(n.coef, int32(exp))
}

// Float returns the nearest float64, or an infinity if the number is too large.
func (n Number) Float() float64 {
	if n.digits == "" && n.exp == 0 {
		return float64(n.coef)
	}
	const exactDigits, exactPower = 1 << 53, 22 // float64 has these integers and powers of ten exactly
	if n.digits == "" && n.exp < 0 && n.exp >= -exactPower && -exactDigits <= n.coef && n.coef <= exactDigits {
		return float64(n.coef) / math.Pow10(int(-n.exp))
	}
	var scratch [64]byte
	text := append(n.whole(scratch[:0]), 'e')
	x, _ := strconv.ParseFloat(string(strconv.AppendInt(text, int64(n.exp), 10)), 64) // infinite if out of range
	return x
}

// whole appends the integer that is multiplied by 10^exp.
func (n Number) whole(dst []byte) []byte {
	if n.digits == "" {
		return strconv.AppendInt(dst, n.coef, 10)
	}
	return append(dst, n.digits...)
}

// Append appends the number in decimal notation. Numbers are written with an exponent, as 1.5e-7, if their magnitude is less than
// 0.000001 or beyond MaxPoint.
func (n Number) Append(dst []byte) []byte {
	if n.digits == "" && n.exp == 0 {
		return strconv.AppendInt(dst, n.coef, 10)
	}
	var scratch [24]byte
	negative, digits, point := n.Decimal(scratch[:0])
	if negative {
		dst = append(dst, '-')
	}
	return appendDecimal(dst, digits, point)
}

// minPlain is the point, as in Decimal, of the smallest number that is written without an exponent: 0.000001.
const minPlain = -5

// appendDecimal appends 0.digits·10^point.
func appendDecimal(dst, digits []byte, point int) []byte {
	switch {
	case len(digits) == 0:
		return append(dst, '0')
	case point >= len(digits) && point <= MaxPoint:
		dst = append(dst, digits...)
		return append(dst, bytes.Repeat([]byte("0"), point-len(digits))...)
	case point > 0 && point < len(digits):
		dst = append(append(dst, digits[:point]...), '.')
		return append(dst, digits[point:]...)
	case point <= 0 && point >= minPlain:
		dst = append(append(dst, "0."...), bytes.Repeat([]byte("0"), -point)...)
		return append(dst, digits...)
	}
	dst = append(dst, digits[0])
	if len(digits) > 1 {
		dst = append(append(dst, '.'), digits[1:]...)
	}
	return strconv.AppendInt(append(dst, 'e'), int64(point-1), 10)
}

// Decimal decomposes the number: its magnitude is 0.digits·10^point. digits have no zeros at either end; for 0 there are
// none. It uses the memory of scratch.
func (n Number) Decimal(scratch []byte) (negative bool, digits []byte, point int) {
	if n == (Number{}) {
		return false, scratch[:0], 0
	}
	digits, negative = bytes.CutPrefix(n.whole(scratch[:0]), []byte("-"))
	return negative, bytes.TrimRight(digits, "0"), len(digits) + int(n.exp)
}

// Compare returns the sign of n - m.
func (n Number) Compare(m Number) int {
	if n.digits == "" && m.digits == "" {
		// A coefficient that does not fit with the exponent of the other number has the greater magnitude.
		a, ok := rescale(n.coef, n.exp-m.exp)
		if !ok {
			return n.Sign()
		}
		b, ok := rescale(m.coef, m.exp-n.exp)
		if !ok {
			return -m.Sign()
		}
		return cmp.Compare(a, b)
	}
	if s := cmp.Compare(n.Sign(), m.Sign()); s != 0 {
		return s
	}
	var scratch [2][24]byte
	negative, a, i := n.Decimal(scratch[0][:0])
	_, b, j := m.Decimal(scratch[1][:0])
	larger := cmp.Or(cmp.Compare(i, j), bytes.Compare(a, b))
	if negative {
		return -larger
	}
	return larger
}

// AppendSortKey appends bytes that order like the numbers. Equal numbers have equal bytes, and no key is a prefix of another.
func (n Number) AppendSortKey(dst []byte) []byte {
	// A key is the sign (0 is negative, 1 zero, 2 positive), then the point, the digits and a zero byte, inverted if the
	// number is negative.
	var scratch [24]byte
	negative, digits, point := n.Decimal(scratch[:0])
	dst = append(dst, byte(n.Sign()+1))
	if len(digits) == 0 {
		return dst
	}
	start := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, uint32(point)^1<<31)
	dst = append(append(dst, digits...), 0)
	if negative {
		for i, b := range dst[start:] {
			dst[start+i] = ^b
		}
	}
	return dst
}

// big returns the number as coef·10^exp.
func (n Number) big() (coef *big.Int, exp int32) {
	if n.digits == "" {
		return big.NewInt(n.coef), n.exp
	}
	coef, _ = new(big.Int).SetString(n.digits, 10)
	return coef, n.exp
}

// fromBig returns coef·10^exp; not ok if it is out of range.
func fromBig(coef *big.Int, exp int32) (Number, bool) {
	n := normal(coef.Append(nil, 10), int64(exp))
	return n, n.InRange()
}
