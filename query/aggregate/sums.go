package aggregate

import (
	"encoding/binary"
	"math"

	"logstow/exact"
	"logstow/internal/wire"
)

// sumSize is the size of a sum in a state: its words. The upper half of the last word is an index into memory.wide, from 1; 0 if
// the sum is not wide.
const sumSize = 8 * exact.SumWords

// sums are the number of numbers of a field (8 bytes) and their sum; with squares, also the sum of their squares.
type sums struct{ squares bool }

func (s sums) size() int {
	if s.squares {
		return 8 + 2*sumSize
	}
	return 8 + sumSize
}

func (s sums) add(m *memory, b []byte, in *input, i int) {
	if in.isNum[i] {
		s.number(m, b, in.numbers[i])
	}
}

func (s sums) number(m *memory, b []byte, v exact.Number) {
	addUint(b, 1)
	m.addSum(b[8:], v, false)
	if s.squares {
		m.addSum(b[8+sumSize:], v, true)
	}
}

func (s sums) addBatch(m *memory, b []byte, in *batchInput) {
	n := int64(len(in.found.Numbers))
	if n == 0 || s.squares || max(in.high, -in.low) >= math.MaxInt64/n {
		in.eachNumber(func(v exact.Number) { s.number(m, b, v) })
		return
	}
	in.eachEntry(func(v exact.Number, n uint32) {
		for range n {
			s.number(m, b, v)
		}
	})
	addUint(b, uint64(n))
	m.addSum(b[8:], exact.FromScaled(in.sum, in.page.Numbers.Scale), false)
}

// encode appends the number of numbers (uvarint), and unless it is 0 the sums.
func (s sums) encode(m *memory, dst, b []byte) []byte {
	n := binary.LittleEndian.Uint64(b)
	if dst = binary.AppendUvarint(dst, n); n == 0 {
		return dst
	}
	sum := m.sumAt(b[8:])
	dst = sum.Encode(dst)
	if s.squares {
		squares := m.sumAt(b[8+sumSize:])
		dst = squares.Encode(dst)
	}
	return dst
}

func (s sums) merge(m *memory, b []byte, r *wire.Reader) {
	n := r.Uvarint()
	if n == 0 {
		return
	}
	addUint(b, n)
	m.readSum(b[8:], r)
	if s.squares {
		m.readSum(b[8+sumSize:], r)
	}
}

// addSum adds a number, or its square, to the sum at b.
func (m *memory) addSum(b []byte, n exact.Number, square bool) {
	last := binary.LittleEndian.Uint64(b[16:])
	i := last >> 32
	if i == 0 {
		s := exact.FromWords(binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), last)
		if square {
			s.AddSquare(n)
		} else {
			s.Add(n)
		}
		m.putSum(b, &s)
		return
	}
	if square {
		m.wide[i-1].AddSquare(n)
	} else {
		m.wide[i-1].Add(n)
	}
}

// mergeSum adds another sum to the one at b.
func (m *memory) mergeSum(b []byte, other *exact.Sum) {
	if i := binary.LittleEndian.Uint64(b[16:]) >> 32; i != 0 {
		m.wide[i-1].Merge(other)
		return
	}
	s := m.sumAt(b)
	s.Merge(other)
	m.putSum(b, &s)
}

// putSum stores the sum at b, which was not wide.
func (m *memory) putSum(b []byte, s *exact.Sum) {
	if s.Wide() {
		wide := *s
		m.wide = append(m.wide, &wide)
		m.extra += exact.WideSize
		binary.LittleEndian.PutUint64(b[16:], uint64(len(m.wide))<<32)
		return
	}
	for i, w := range s.Words() {
		binary.LittleEndian.PutUint64(b[8*i:], w)
	}
}

// sumAt returns a copy of the sum at b.
func (m *memory) sumAt(b []byte) exact.Sum {
	last := binary.LittleEndian.Uint64(b[16:])
	if i := last >> 32; i != 0 {
		return *m.wide[i-1]
	}
	return exact.FromWords(binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), last)
}

func (m *memory) readSum(b []byte, r *wire.Reader) {
	other, rest, err := exact.DecodeSum(r.Rest)
	if err != nil {
		r.Fail()
		return
	}
	r.Rest = rest
	m.mergeSum(b, &other)
}

func totalOf(in *outcome) Value {
	if binary.LittleEndian.Uint64(in.b) == 0 {
		return Value{}
	}
	sum := in.m.sumAt(in.b[8:])
	return sumValue(&sum)
}

func meanOf(in *outcome) Value {
	n := binary.LittleEndian.Uint64(in.b)
	if n == 0 {
		return Value{}
	}
	sum := in.m.sumAt(in.b[8:])
	return floatValue(sum.Mean(n))
}

func deviationOf(in *outcome) Value {
	n := binary.LittleEndian.Uint64(in.b)
	if n == 0 {
		return Value{}
	}
	sum, squares := in.m.sumAt(in.b[8:]), in.m.sumAt(in.b[8+sumSize:])
	return floatValue(exact.Deviation(&sum, &squares, n))
}
