package message

import (
	"bytes"
	"math/bits"
)

// A Dimension is the dimension of a number with a unit.
type Dimension uint8

// The dimensions.
const (
	// NoDimension is the dimension of a number without a unit.
	NoDimension Dimension = iota
	// Duration is in nanoseconds. Units: ns us µs ms s m h d w; several may follow each other: 1h30m.
	Duration
	// Size is in bytes. Units: B, kB MB GB TB PB EB (powers of 1,000), KiB MiB GiB TiB PiB EiB (powers of 1,024).
	Size
)

// String returns the name of the dimension with its article.
func (d Dimension) String() string {
	return [...]string{"a number", "a duration", "a size"}[d]
}

// Quantity parses the value as a number with a unit of a dimension: 1.5s, -20ms, 1h30m, 2MiB. It is not ok without a unit, with a
// unit of another dimension, and if the result does not fit 64 bits.
func (v Value) Quantity(d Dimension) (Decimal, bool) {
	if !v.IsText() {
		return Decimal{}, false
	}
	n, found, ok := ParseQuantity(v.Text)
	return n, ok && found == d
}

// ParseQuantity parses a number and a unit, with an optional blank between them, or a sequence of them if they are durations. The
// result is in nanoseconds or bytes.
func ParseQuantity(text []byte) (n Decimal, d Dimension, ok bool) {
	rest, negative := bytes.CutPrefix(text, []byte("-"))
	var total amount
	for len(rest) > 0 {
		part, dimension, size := component(rest)
		if size == 0 || d != NoDimension && (d != dimension || d == Size) || !total.add(part) {
			return Decimal{}, NoDimension, false
		}
		d, rest = dimension, rest[size:]
	}
	if d == NoDimension {
		return Decimal{}, NoDimension, false
	}
	n = total.decimal()
	if negative {
		n = n.Negate()
	}
	return n, d, true
}

// An amount is value·10^-places.
type amount struct {
	value  uint64
	places int
}

// scale increases places without changing the amount, and reports whether it fits.
func (a *amount) scale(places int) bool {
	for ; a.places < places; a.places++ {
		high, low := bits.Mul64(a.value, 10)
		if high != 0 {
			return false
		}
		a.value = low
	}
	return true
}

func (a *amount) add(b amount) bool {
	if !a.scale(b.places) || !b.scale(a.places) {
		return false
	}
	sum, carry := bits.Add64(a.value, b.value, 0)
	a.value = sum
	return carry == 0
}

func (a amount) decimal() Decimal {
	for a.places > 0 && a.value%10 == 0 {
		a.value, a.places = a.value/10, a.places-1
	}
	n := Decimal{magnitude: a.value, whole: true}
	if a.places == 0 {
		return n
	}
	text := append(n.Append(nil), 'e', '-')
	n, _ = ParseDecimal(append(text, byte('0'+a.places/10), byte('0'+a.places%10)))
	return n
}

// maxDigits is the maximum number of digits of a number with a unit.
const maxDigits = 18

// component parses the number with a unit that b starts with. size is its length in bytes, 0 if there is none.
func component(b []byte) (a amount, d Dimension, size int) {
	i, digits := 0, 0
	read := func() bool {
		start := i
		for ; i < len(b) && b[i]-'0' <= 9; i++ {
			a.value = 10*a.value + uint64(b[i]-'0')
			digits++
		}
		return i > start && digits <= maxDigits
	}
	if !read() {
		return a, d, 0
	}
	if i < len(b) && b[i] == '.' {
		i++
		start := i
		if !read() {
			return a, d, 0
		}
		a.places = i - start
	}
	if i < len(b) && b[i] == ' ' {
		i++
	}
	start := i
	for i < len(b) && (b[i]|0x20-'a' < 26 || b[i] >= 0x80) {
		i++
	}
	factor, d := UnitOf(string(b[start:i]))
	for a.places > 0 && factor%10 == 0 && factor > 0 {
		factor, a.places = factor/10, a.places-1
	}
	high, low := bits.Mul64(a.value, factor)
	if a.value = low; d == NoDimension || high != 0 {
		return a, d, 0
	}
	return a, d, i
}
