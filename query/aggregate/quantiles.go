package aggregate

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"logstow/exact"
	"logstow/internal/sketch"
	"logstow/internal/wire"
)

// values are the numbers of a field: the ref of the last chunk of encoded numbers (4 bytes), their count (4), and the index into
// memory.sketches, from 1, of the sketch that replaces them (4; 0 if there is none). A chunk is the ref of the previous one (4), used
// bytes (2), capacity (2) and bytes.
type values struct{}

func (values) size() int { return 16 }

func (values) add(m *memory, b []byte, in *input, i int) {
	if in.isNum[i] {
		m.addValue(b, in.numbers[i])
	}
}

func (values) addBatch(m *memory, b []byte, in *batchInput) {
	const exactDigits = 1 << 53 // a float64 has these integers exactly
	if in.low < -exactDigits || in.high > exactDigits {
		in.eachNumber(func(v exact.Number) { m.addValue(b, v) })
		return
	}
	in.eachEntry(func(v exact.Number, n uint32) {
		for range n {
			m.addValue(b, v)
		}
	})
	numbers := &in.page.Numbers
	unit := math.Pow10(numbers.Scale)
	for _, i := range in.found.Numbers {
		if v := numbers.Values[i]; !m.addToSketch(b, float64(v)/unit) {
			m.addValue(b, exact.FromScaled(v, numbers.Scale))
		}
	}
}

// encode appends the number of values (uvarint), their length (uvarint) and the encoded numbers; of a sketch, ExactValues + 1 (uvarint) and
// the sketch.
func (values) encode(m *memory, dst, b []byte) []byte {
	if i := binary.LittleEndian.Uint32(b[8:]); i != 0 {
		return m.sketches[i-1].Encode(binary.AppendUvarint(dst, ExactValues+1))
	}
	length := 0
	for chunk := range m.chunks(b) {
		length += len(chunk)
	}
	dst = binary.AppendUvarint(dst, uint64(binary.LittleEndian.Uint32(b[4:])))
	dst = binary.AppendUvarint(dst, uint64(length))
	for chunk := range m.chunks(b) {
		dst = append(dst, chunk...)
	}
	return dst
}

func (values) merge(m *memory, b []byte, r *wire.Reader) {
	count := r.Uvarint()
	if count > ExactValues {
		if binary.LittleEndian.Uint32(b[8:]) == 0 {
			m.toSketch(b)
		}
		m.extra += m.sketches[binary.LittleEndian.Uint32(b[8:])-1].Decode(r)
		return
	}
	for encoded := r.Text(); len(encoded) > 0; count-- {
		n, rest, err := exact.Decode(encoded)
		if err != nil || count == 0 {
			r.Fail()
			return
		}
		m.addValue(b, n)
		encoded = rest
	}
	if count != 0 {
		r.Fail()
	}
}

// ExactValues is the maximum number of values of a group for which quantiles are exact.
const ExactValues = 10_000

const (
	chunkHeader = 8
	firstChunk  = 16
	maxChunk    = 4 << 10 // larger than any encoded number
)

// addValue adds a number to the values at b.
func (m *memory) addValue(b []byte, n exact.Number) {
	if i := binary.LittleEndian.Uint32(b[8:]); i != 0 {
		m.extra += m.sketches[i-1].Add(n.Float())
		return
	}
	var scratch [24]byte
	m.appendValue(b, n.Encode(scratch[:0]))
}

// addToSketch adds a number to the values at b if a sketch has replaced them, and reports whether it has.
func (m *memory) addToSketch(b []byte, x float64) bool {
	i := binary.LittleEndian.Uint32(b[8:])
	if i != 0 {
		m.extra += m.sketches[i-1].Add(x)
	}
	return i != 0
}

// appendValue adds an encoded number, which must fit a chunk.
func (m *memory) appendValue(b, encoded []byte) {
	head := ref(binary.LittleEndian.Uint32(b))
	used, capacity := 0, 0
	if head != 0 {
		a := m.arena.at(head)
		used, capacity = int(binary.LittleEndian.Uint16(a[4:])), int(binary.LittleEndian.Uint16(a[6:]))
	}
	if used+len(encoded) > capacity {
		capacity = max(len(encoded), min(max(2*capacity, firstChunk), maxChunk))
		capacity = padded(capacity)
		r := m.arena.alloc(chunkHeader + capacity)
		a := m.arena.at(r)
		binary.LittleEndian.PutUint32(a, uint32(head))
		binary.LittleEndian.PutUint16(a[6:], uint16(capacity))
		binary.LittleEndian.PutUint32(b, uint32(r))
		head, used = r, 0
	}
	a := m.arena.at(head)
	copy(a[chunkHeader+used:], encoded)
	binary.LittleEndian.PutUint16(a[4:], uint16(used+len(encoded)))
	total := binary.LittleEndian.Uint32(b[4:]) + 1
	binary.LittleEndian.PutUint32(b[4:], total)
	if total > ExactValues {
		m.toSketch(b)
	}
}

// toSketch replaces values by a sketch.
func (m *memory) toSketch(b []byte) {
	s := sketch.New()
	m.extra += sketch.Overhead
	for chunk := range m.chunks(b) {
		for len(chunk) > 0 {
			n, rest, err := exact.Decode(chunk)
			if err != nil {
				break // cannot happen: this process encoded it
			}
			m.extra += s.Add(n.Float())
			chunk = rest
		}
	}
	m.sketches = append(m.sketches, s)
	binary.LittleEndian.PutUint32(b, 0)
	binary.LittleEndian.PutUint32(b[8:], uint32(len(m.sketches)))
}

// chunks yields the chunks of encoded numbers at b.
func (m *memory) chunks(b []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for r := ref(binary.LittleEndian.Uint32(b)); r != 0; {
			a := m.arena.at(r)
			if !yield(a[chunkHeader : chunkHeader+int(binary.LittleEndian.Uint16(a[4:]))]) {
				return
			}
			r = ref(binary.LittleEndian.Uint32(a))
		}
	}
}

func quantileOf(in *outcome) Value {
	if i := binary.LittleEndian.Uint32(in.b[8:]); i != 0 {
		s := in.m.sketches[i-1]
		v := floatValue(s.Rank(rankOf(in.function.Q, s.Count())))
		v.Approximate = true
		return v
	}
	count := binary.LittleEndian.Uint32(in.b[4:])
	if count == 0 {
		return Value{}
	}
	if len(*in.sorted) == 0 {
		for chunk := range in.m.chunks(in.b) {
			for len(chunk) > 0 {
				n, rest, err := exact.Decode(chunk)
				if err != nil {
					return Value{} // cannot happen: this process encoded it
				}
				*in.sorted = append(*in.sorted, n)
				chunk = rest
			}
		}
		slices.SortFunc(*in.sorted, exact.Number.Compare)
	}
	return numberValue((*in.sorted)[rankOf(in.function.Q, uint64(count))-1])
}

// rankOf returns ceil(q·n), at least 1.
func rankOf(q Fraction, n uint64) uint64 {
	hi, lo := bits.Mul64(q.Num, n)
	lo, carry := bits.Add64(lo, q.Den-1, 0)
	rank, _ := bits.Div64(hi+carry, lo, q.Den) // q is at most 1
	return max(rank, 1)
}
