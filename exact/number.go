// Package exact computes with decimal numbers without rounding: comparison, sums, sums of squares and buckets; and sums floats and their
// squares. Results are rounded once, at the end.
package exact

import (
	"bytes"
	"cmp"
	"math"
	"math/big"
	"strconv"

	"logstow/message"
)

const (
	// MaxPoint limits the magnitude of numbers other than 0: 1e-300 ≤ |x| < 1e300.
	MaxPoint = 300
	// MaxFraction is the maximum number of decimal places.
	MaxFraction = 400
)

// Number is a decimal number in canonical form: equal numbers have equal fields. It may refer to the text that it was parsed
// from; see Clone.
type Number struct {
	// If digits is nil, the number is coef·10^exp. coef has no trailing zeros unless exp is 0; exp is greater than 0 only
	// if the number does not fit coef otherwise.
	coef int64
	exp  int32
	// Otherwise the number does not fit coef, and is digits·10^exp with a sign. digits have no zeros at either end.
	negative bool
	digits   []byte
}

// maxDigits is the maximum number of decimal digits that always fit int64.
const maxDigits = 18

// Parse parses a number in the syntax of [message.ParseDecimal]. It is not ok for other text, and for numbers beyond MaxPoint
// or MaxFraction.
func Parse(text []byte) (n Number, ok bool) {
	if coef, exp, ok := parseShort(text); ok {
		return narrow(coef, exp), true
	}
	if _, ok := message.ParseDecimal(text); !ok {
		return Number{}, false
	}
	negative := text[0] == '-'
	if negative {
		text = text[1:]
	}
	var exp int64
	if e := bytes.IndexAny(text, "eE"); e >= 0 {
		exp, _ = strconv.ParseInt(string(text[e+1:]), 10, 64) // ParseDecimal has checked that it fits
		text = text[:e]
	}
	integer, fraction, _ := bytes.Cut(text, []byte("."))
	exp -= int64(len(fraction))
	digits := make([]byte, 0, len(text))
	return normal(negative, append(append(digits, integer...), fraction...), exp)
}

// Of returns the number of a field's value: a number, a duration with units in seconds (154ms is 0.154), or a size with a unit in
// bytes. It is not ok for other values.
func Of(v message.Value) (n Number, ok bool) {
	if v.Kind == message.Number || v.Kind == message.Bare {
		if n, ok = Parse(v.Text); ok {
			return n, true
		}
	}
	if !v.IsText() {
		return Number{}, false
	}
	quantity, dimension, ok := message.ParseQuantity(v.Text)
	if !ok {
		return Number{}, false
	}
	n, ok = Parse(quantity.Append(nil))
	if ok && dimension == message.Duration {
		const nanos = 9
		if n.digits == nil {
			n = narrow(n.coef, n.exp-nanos)
		} else {
			n.exp -= nanos
		}
	}
	return n, ok
}

// FromScaled returns coef·10^-places. coef must not be math.MinInt64.
func FromScaled(coef int64, places int) Number { return narrow(coef, int32(-places)) }

// parseShort parses up to maxDigits characters without an exponent: digits and at most one point.
func parseShort(text []byte) (coef int64, exp int32, ok bool) {
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	if len(text) == 0 || len(text) > maxDigits {
		return 0, 0, false
	}
	point := -1
	for i, c := range text {
		if c == '.' {
			if point >= 0 || i == 0 || i == len(text)-1 {
				return 0, 0, false
			}
			point = i
			continue
		}
		digit := int64(c) - '0'
		if uint64(digit) > 9 {
			return 0, 0, false
		}
		coef = 10*coef + digit
	}
	if point >= 0 {
		exp = int32(point - len(text) + 1)
	}
	if negative {
		coef = -coef
	}
	return coef, exp, true
}

// narrow returns the canonical form of coef·10^exp, for exp up to 0.
func narrow(coef int64, exp int32) Number {
	if coef == 0 {
		return Number{}
	}
	for exp < 0 && coef%10 == 0 {
		coef /= 10
		exp++
	}
	return Number{coef: coef, exp: exp}
}

// normal returns the canonical form of digits·10^exp; not ok if it is out of range.
func normal(negative bool, digits []byte, exp int64) (n Number, ok bool) {
	digits = bytes.TrimLeft(digits, "0")
	trimmed := bytes.TrimRight(digits, "0")
	exp += int64(len(digits) - len(trimmed))
	if len(trimmed) == 0 {
		return Number{}, true
	}
	if point := int64(len(trimmed)) + exp; point > MaxPoint || point <= -MaxPoint || exp < -MaxFraction {
		return Number{}, false
	}
	if coef, err := strconv.ParseInt(string(trimmed), 10, 64); err == nil {
		n.coef, n.exp = coef, int32(exp)
		for n.exp > 0 {
			if n.exp > maxDigits || n.coef > math.MaxInt64/int64(pow10(int(n.exp))) {
				break // does not fit without an exponent
			}
			n.coef *= int64(pow10(int(n.exp)))
			n.exp = 0
		}
		if negative {
			n.coef = -n.coef
		}
		return n, true
	}
	return Number{exp: int32(exp), negative: negative, digits: trimmed}, true
}

// pow10 returns 10^n, for n up to 19.
func pow10(n int) uint64 {
	p := uint64(1)
	for ; n > 0; n-- {
		p *= 10
	}
	return p
}

// Clone returns a copy that does not refer to the text that n was parsed from.
func (n Number) Clone() Number {
	n.digits = bytes.Clone(n.digits)
	return n
}

// Sign is -1, 0 or 1.
func (n Number) Sign() int {
	switch {
	case n.digits == nil:
		return cmp.Compare(n.coef, 0)
	case n.negative:
		return -1
	}
	return 1
}

// Int64 returns the number if it is an integer that fits.
func (n Number) Int64() (int64, bool) {
	if n.digits == nil {
		return n.coef, n.exp == 0
	}
	if string(n.digits) == "9223372036854775808" && n.negative && n.exp == 0 {
		return math.MinInt64, true
	}
	return 0, false
}

// Float returns the nearest float64.
func (n Number) Float() float64 {
	if n.digits == nil && n.exp == 0 {
		return float64(n.coef)
	}
	const exactDigits, exactPower = 1 << 53, 22 // float64 has these integers and powers of ten exactly
	if n.digits == nil && n.exp < 0 && n.exp >= -exactPower && -exactDigits <= n.coef && n.coef <= exactDigits {
		return float64(n.coef) / math.Pow10(int(-n.exp))
	}
	var scratch [64]byte
	text, exp := n.whole(scratch[:0])
	text = append(text, 'e')
	x, _ := strconv.ParseFloat(string(strconv.AppendInt(text, int64(exp), 10)), 64) // always in range
	return x
}

// whole appends sign and digits of the integer that is multiplied by 10^exp.
func (n Number) whole(dst []byte) (text []byte, exp int32) {
	if n.digits == nil {
		return strconv.AppendInt(dst, n.coef, 10), n.exp
	}
	if n.negative {
		dst = append(dst, '-')
	}
	return append(dst, n.digits...), n.exp
}

// Append appends the number in decimal notation. Numbers other than integers are written with an exponent, as 1.5e-7, if
// their magnitude is less than 0.000001.
func (n Number) Append(dst []byte) []byte {
	if n.digits == nil && n.exp == 0 {
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
	case point >= len(digits):
		dst = append(dst, digits...)
		return append(dst, bytes.Repeat([]byte("0"), point-len(digits))...)
	case point > 0:
		dst = append(append(dst, digits[:point]...), '.')
		return append(dst, digits[point:]...)
	case point >= minPlain:
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
	if n.Sign() == 0 {
		return false, scratch[:0], 0
	}
	text, exp := n.whole(scratch[:0])
	if negative = text[0] == '-'; negative {
		text = text[1:]
	}
	return negative, bytes.TrimRight(text, "0"), len(text) + int(exp)
}

// Compare returns the sign of n - m.
func (n Number) Compare(m Number) int {
	if n.digits == nil && m.digits == nil && n.exp == m.exp {
		return cmp.Compare(n.coef, m.coef)
	}
	if s := n.Sign(); s != m.Sign() || s == 0 {
		return cmp.Compare(s, m.Sign())
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

// big returns the number as coef·10^exp.
func (n Number) big() (coef *big.Int, exp int32) {
	if n.digits == nil {
		return big.NewInt(n.coef), n.exp
	}
	coef, _ = new(big.Int).SetString(string(n.digits), 10)
	if n.negative {
		coef.Neg(coef)
	}
	return coef, n.exp
}

// fromBig returns coef·10^exp; not ok if it is out of range.
func fromBig(coef *big.Int, exp int32) (Number, bool) {
	text := coef.Append(nil, 10)
	negative := text[0] == '-'
	if negative {
		text = text[1:]
	}
	return normal(negative, text, int64(exp))
}
