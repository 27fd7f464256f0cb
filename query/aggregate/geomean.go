package aggregate

import (
	"encoding/binary"
	"math"

	"logstow/exact"
	"logstow/internal/wire"
)

// logarithms are the numbers of numbers, of zeros and of negative numbers of a field (8 bytes each), and the sum of the logarithms of the
// others.
type logarithms struct{}

// logPlaces are the decimal places to which a logarithm is rounded, so that the sum does not depend on the order: ln(1e300) has 3 digits
// before them.
const logPlaces = 15

func (logarithms) size() int { return 24 + sumSize }

func (s logarithms) add(m *memory, b []byte, in *input, i int) {
	if in.isNum[i] {
		s.number(m, b, in.numbers[i], 1)
	}
}

// number adds a number n times.
func (logarithms) number(m *memory, b []byte, v exact.Number, n uint32) {
	addUint(b, uint64(n))
	switch v.Sign() {
	case 0:
		addUint(b[8:], uint64(n))
		return
	case -1:
		addUint(b[16:], uint64(n))
		return
	}
	logarithm := exact.FromScaled(int64(math.Round(math.Log(v.Float())*math.Pow10(logPlaces))), logPlaces)
	for range n {
		m.addSum(b[24:], logarithm, false)
	}
}

func (s logarithms) addBatch(m *memory, b []byte, in *batchInput) {
	in.eachEntry(func(v exact.Number, n uint32) { s.number(m, b, v, n) })
	numbers := &in.page.Numbers
	for _, i := range in.found.Numbers {
		s.number(m, b, exact.FromScaled(numbers.Values[i], numbers.Scale), 1)
	}
}

func (logarithms) encode(m *memory, dst, b []byte) []byte {
	for i := range 3 {
		dst = binary.AppendUvarint(dst, binary.LittleEndian.Uint64(b[8*i:]))
	}
	sum := m.sumAt(b[24:])
	return sum.Encode(dst)
}

func (logarithms) merge(m *memory, b []byte, r *wire.Reader) {
	for i := range 3 {
		addUint(b[8*i:], r.Uvarint())
	}
	m.readSum(b[24:], r)
}

// geometricMeanOf is 0 if one of the numbers is, and missing if one is negative.
func geometricMeanOf(in *outcome) Value {
	n, zeros, negative := binary.LittleEndian.Uint64(in.b), binary.LittleEndian.Uint64(in.b[8:]), binary.LittleEndian.Uint64(in.b[16:])
	switch {
	case n == 0 || negative > 0:
		return Value{}
	case zeros > 0:
		return floatValue(0)
	}
	sum := in.m.sumAt(in.b[24:])
	return floatValue(math.Exp(sum.Mean(n)))
}
