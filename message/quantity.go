package message

import (
	"bytes"
	"math/bits"

	"logstow/exact"
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
func (v Value) Quantity(d Dimension) (exact.Number, bool) {
	if !v.IsText() {
		return exact.Number{}, false
	}
	n, found, ok := ParseQuantity(v.Text)
	return n, ok && found == d
}

// Amount returns the value if it is a number, in seconds if it is a duration with units (154ms is 0.154), or in bytes if it is a size
// with a unit. It is not ok for other values, and for numbers that are not [exact.Number.InRange].
func (v Value) Amount() (exact.Number, bool) {
	if n, ok := v.Decimal(); ok {
		return n, n.InRange()
	}
	if !v.IsText() {
		return exact.Number{}, false
	}
	total, d, ok := parseQuantity(v.Text)
	if d == Duration {
		const nanos = 9
		total.places += nanos
	}
	return total.number(), ok
}

// ParseQuantity parses a number and a unit, with an optional blank between them, or a sequence of them if they are durations. The
// result is in nanoseconds or bytes.
func ParseQuantity(text []byte) (n exact.Number, d Dimension, ok bool) {
	total, d, ok := parseQuantity(text)
	return total.number(), d, ok
}

func parseQuantity(text []byte) (total amount, d Dimension, ok bool) {
	rest, negative := bytes.CutPrefix(text, []byte("-"))
	total.negative = negative
	for len(rest) > 0 {
		part, dimension, size := component(rest)
		if size == 0 || d != NoDimension && (d != dimension || d == Size) || !total.add(part) {
			return amount{}, NoDimension, false
		}
		d, rest = dimension, rest[size:]
	}
	return total, d, d != NoDimension
}

// An amount is value·10^-places with a sign.
type amount struct {
	value    uint64
	places   int
	negative bool
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

func (a amount) number() exact.Number { return exact.FromUint64(a.negative, a.value, a.places) }

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
