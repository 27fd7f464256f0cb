package columns

import (
	"bytes"
	"math"
	"strconv"
)

// maxValue bounds the magnitude of a number in the planes of a page, so that differences fit 64 bits.
const maxValue = 1 << 62

// AppendText appends v as its text is written.
func (n *Numbers) AppendText(dst []byte, v int64) []byte {
	if n.Scale == 0 {
		return strconv.AppendInt(dst, v, 10)
	}
	magnitude := uint64(v)
	if v < 0 {
		magnitude = -magnitude
		dst = append(dst, '-')
	}
	unit := pow10(n.Scale)
	dst = strconv.AppendUint(dst, magnitude/unit, 10)
	fraction := magnitude % unit
	places := n.Scale
	if n.Trimmed {
		for places > 0 && fraction%10 == 0 {
			fraction /= 10
			places--
		}
		if places == 0 {
			return dst
		}
	}
	dst = append(dst, '.')
	for unit = pow10(places - 1); unit > 0; unit /= 10 {
		dst = append(dst, '0'+byte(fraction/unit%10))
	}
	return dst
}

func pow10(n int) uint64 {
	p := uint64(1)
	for range n {
		p *= 10
	}
	return p
}

// decimalPlaces returns the number of decimal places of a number as written. It is ok only for an optional minus sign,
// digits without leading zeros, and optionally a point and 1 to MaxScale digits, with at most 18 digits in total.
func decimalPlaces(text []byte) (int, bool) {
	if len(text) > 0 && text[0] == '-' {
		text = text[1:]
	}
	whole, fraction, point := bytes.Cut(text, []byte{'.'})
	if len(whole) == 0 || len(whole) > 1 && whole[0] == '0' || point && len(fraction) == 0 || len(fraction) > MaxScale {
		return 0, false
	}
	for _, digits := range [][]byte{whole, fraction} {
		for _, c := range digits {
			if c < '0' || c > '9' {
				return 0, false
			}
		}
	}
	return len(fraction), len(whole)+len(fraction) <= 18
}

// number converts a text with places decimal places, as decimalPlaces returned. It is not ok if AppendText would not
// restore the text.
func (n *Numbers) number(text []byte, places int) (int64, bool) {
	if places > n.Scale || !n.Trimmed && places != n.Scale {
		return 0, false
	}
	var v uint64
	var last byte
	for _, c := range text {
		if c >= '0' {
			v = v*10 + uint64(c-'0')
			last = c
		}
	}
	if n.Trimmed && places > 0 && last == '0' {
		return 0, false
	}
	for range n.Scale - places {
		if v > math.MaxInt64/10 {
			return 0, false
		}
		v *= 10
	}
	if v >= maxValue {
		return 0, false
	}
	if text[0] == '-' {
		return -int64(v), v > 0
	}
	return int64(v), true
}
