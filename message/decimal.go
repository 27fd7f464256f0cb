package message

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
)

// A Decimal is a decimal number as written, of any length. It may refer to the text that it was parsed from.
type Decimal struct {
	// whole is set if the number is written with digits only and fits 64 bits; magnitude is then its absolute value.
	magnitude uint64
	whole     bool
	negative  bool
	text      []byte // the number without its sign if whole is not set
}

// ParseDecimal parses a number in the syntax of JSON, with leading zeros allowed. It is not ok for other text, and for an
// exponent beyond [MaxExponent].
func ParseDecimal(text []byte) (n Decimal, ok bool) {
	if len(text) > 0 && text[0] == '-' {
		n.negative, text = true, text[1:]
	}
	if n.magnitude, n.whole = whole(text); n.whole {
		n.negative = n.negative && n.magnitude > 0
		return n, true
	}
	n.text = text
	return n, len(text) > 0 && text[0] != '-' && isNumber(text) && exponentFits(text)
}

// whole parses digits, up to 64 bits.
func whole(text []byte) (n uint64, ok bool) {
	if len(text) == 0 || len(text) > 20 {
		return 0, false
	}
	for _, c := range text {
		digit := uint64(c - '0')
		if digit > 9 || n > math.MaxUint64/10 || 10*n > math.MaxUint64-digit {
			return 0, false
		}
		n = 10*n + digit
	}
	return n, true
}

// MaxExponent is the maximum magnitude of the exponent of a number.
const MaxExponent = 999_999_999

// exponentFits reports whether the exponent of a number is at most MaxExponent.
func exponentFits(text []byte) bool {
	e := exponentAt(text)
	return e < 0 || len(bytes.TrimLeft(text[e+1:], "+-0")) <= len(strconv.Itoa(MaxExponent))
}

// exponentAt returns the offset of the letter before the exponent, -1 if there is none.
func exponentAt(text []byte) int {
	for i, b := range text {
		if b|0x20 == 'e' {
			return i
		}
	}
	return -1
}

// Negate returns the number with the opposite sign.
func (n Decimal) Negate() Decimal {
	n.negative = !n.negative && (!n.whole || n.magnitude > 0)
	return n
}

// Whole reports whether the number is written as an integer, and fits int64 or uint64.
func (n Decimal) Whole() bool {
	return n.whole && (!n.negative || n.magnitude <= -math.MinInt64)
}

// Int64 returns the number if it is Whole and fits.
func (n Decimal) Int64() (int64, bool) {
	i := int64(n.magnitude)
	if n.negative {
		i = -i
	}
	return i, n.Whole() && (i < 0) == n.negative
}

// IsInteger reports whether the value of the number is an integer, however it is written, as 20e-1.
func (n Decimal) IsInteger() bool {
	if n.whole {
		return true
	}
	d := n.expand(nil)
	return int64(len(d.digits)) <= d.point
}

// Append appends the number as it is written.
func (n Decimal) Append(dst []byte) []byte {
	if n.negative {
		dst = append(dst, '-')
	}
	if n.whole {
		return strconv.AppendUint(dst, n.magnitude, 10)
	}
	return append(dst, n.text...)
}

// Float returns the nearest float64, or an infinity if the number is too large.
func (n Decimal) Float() float64 {
	var x float64
	if n.whole {
		x = float64(n.magnitude)
	} else {
		x, _ = strconv.ParseFloat(string(n.text), 64) // infinite if out of range
	}
	if n.negative {
		return -x
	}
	return x
}

// Compare returns the sign of n - m, exactly.
func (n Decimal) Compare(m Decimal) int {
	if n.whole && m.whole {
		switch {
		case n.negative != m.negative:
			return sign(!n.negative)
		case n.magnitude != m.magnitude:
			return sign(n.magnitude > m.magnitude != n.negative)
		}
		return 0
	}
	// Rounding is monotonic, so different floats decide the order. Equal floats do not.
	if x, y := n.Float(), m.Float(); x != y {
		return sign(x > y)
	}
	var scratch [2][64]byte
	return n.expand(scratch[0][:0]).compare(m.expand(scratch[1][:0]))
}

func sign(positive bool) int {
	if positive {
		return 1
	}
	return -1
}

// AppendSortKey appends bytes that order like the numbers. Equal numbers have equal bytes, and no key is a prefix of another.
func (n Decimal) AppendSortKey(dst []byte) []byte {
	// A key is the sign (0 is negative, 1 zero, 2 positive), then the point, the digits and a zero byte, inverted if the
	// number is negative.
	var scratch [64]byte
	d := n.expand(scratch[:0])
	switch {
	case len(d.digits) == 0:
		return append(dst, 1)
	case d.negative:
		dst = append(dst, 0)
	default:
		dst = append(dst, 2)
	}
	start := len(dst)
	dst = binary.BigEndian.AppendUint64(dst, uint64(d.point)^1<<63)
	dst = append(append(dst, d.digits...), 0)
	if d.negative {
		for i, b := range dst[start:] {
			dst[start+i] = ^b
		}
	}
	return dst
}

// expanded is the number 0.digits·10^point with a sign. digits have no zeros at either end. Zero has no digits and point 0.
type expanded struct {
	negative bool
	digits   []byte
	point    int64
}

// expand converts a number; its digits are in scratch if they fit.
func (n Decimal) expand(scratch []byte) expanded {
	mantissa := n.text
	var whole [20]byte
	if n.whole {
		mantissa = strconv.AppendUint(whole[:0], n.magnitude, 10)
	}
	d := expanded{negative: n.negative, digits: scratch[:0]}
	if e := exponentAt(mantissa); e >= 0 {
		d.point, _ = strconv.ParseInt(string(mantissa[e+1:]), 10, 64) // ParseDecimal has checked that it fits
		mantissa = mantissa[:e]
	}
	integer, fraction, _ := bytes.Cut(mantissa, []byte("."))
	d.point += int64(len(integer))
	d.digits = append(append(d.digits, integer...), fraction...)
	significant := bytes.TrimLeft(d.digits, "0")
	d.point -= int64(len(d.digits) - len(significant))
	if d.digits = bytes.TrimRight(significant, "0"); len(d.digits) == 0 {
		return expanded{}
	}
	return d
}

// compare returns the sign of d - e.
func (d expanded) compare(e expanded) int {
	if d.negative != e.negative {
		return sign(!d.negative)
	}
	larger := bytes.Compare(d.digits, e.digits)
	switch {
	case len(d.digits) == 0 || len(e.digits) == 0: // the point of zero has no meaning
	case d.point != e.point:
		larger = sign(d.point > e.point)
	}
	if d.negative {
		return -larger
	}
	return larger
}
