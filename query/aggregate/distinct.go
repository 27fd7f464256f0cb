package aggregate

import (
	"encoding/binary"
	"iter"
	"math"

	"github.com/axiomhq/hyperloglog"
	"github.com/cespare/xxhash/v2"

	"logstow/internal/wire"
)

// distinct are the distinct values of a field: the ref of a hash table and its number of values, of 4 bytes each. If the number is
// sketched, the ref is an index into memory.counters instead, from 1. A hash table is its number of slots (8 bytes), then for each slot a
// hash of 64 bits, zero if free.
type distinct struct{}

func (distinct) size() int { return 8 }

func (distinct) add(m *memory, b []byte, in *input, i int) {
	if v := in.Values[i]; isPresent(v) {
		m.addDistinct(b, v.Text)
	}
}

func (distinct) addBatch(m *memory, b []byte, in *batchInput) {
	for id, n := range in.found.Counts {
		if v := in.page.Entries[id]; n > 0 && id != in.page.Plane && isPresent(v) {
			m.addDistinct(b, v.Text)
		}
	}
	for _, i := range in.found.Numbers {
		in.scratch = in.page.Numbers.AppendText(in.scratch[:0], in.page.Numbers.Values[i])
		m.addDistinct(b, in.scratch)
	}
}

// encode appends the number of values (uvarint) and the hashes (8 bytes each); of a sketch, ExactDistinct + 1 (uvarint), its length
// (uvarint) and its binary form.
func (distinct) encode(m *memory, dst, b []byte) []byte {
	count := binary.LittleEndian.Uint32(b[4:])
	if count == sketched {
		dst = binary.AppendUvarint(dst, ExactDistinct+1)
		binaryForm, _ := m.counters[binary.LittleEndian.Uint32(b)-1].MarshalBinary() // never fails
		dst = binary.AppendUvarint(dst, uint64(len(binaryForm)))
		return append(dst, binaryForm...)
	}
	dst = binary.AppendUvarint(dst, uint64(count))
	for hash := range hashes(m.hashTable(b)) {
		dst = binary.LittleEndian.AppendUint64(dst, hash)
	}
	return dst
}

func (distinct) merge(m *memory, b []byte, r *wire.Reader) {
	count := r.Uvarint()
	if count > ExactDistinct {
		other := &hyperloglog.Sketch{}
		if err := other.UnmarshalBinary(r.Text()); err != nil {
			r.Fail()
			return
		}
		if binary.LittleEndian.Uint32(b[4:]) != sketched {
			m.toCounter(b)
		}
		if err := m.counters[binary.LittleEndian.Uint32(b)-1].Merge(other); err != nil {
			r.Fail()
		}
		return
	}
	for ; count > 0 && !r.Bad; count-- {
		if hash := r.Uint64(); hash != 0 {
			m.addHash(b, hash)
		}
	}
}

// ExactDistinct is the maximum number of distinct values of a group for which their number is exact.
const ExactDistinct = 10_000

const (
	sketched   = 1<<32 - 1 // instead of the number of values: a counter replaces them
	hashSize   = 8
	firstSlots = 4
	// counterPrecision is the precision of HyperLogLog. Its standard error is 1.04 / sqrt(2^16), 0.4%.
	counterPrecision = 16
	counterSize      = 1<<counterPrecision + 128
)

// addDistinct adds a value to the distinct values at b.
func (m *memory) addDistinct(b, value []byte) {
	m.addHash(b, max(xxhash.Sum64(value), 1)) // zero is a free slot
}

// addHash adds a hash, which must not be zero, to the distinct values at b.
func (m *memory) addHash(b []byte, hash uint64) {
	r, count := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	if count == sketched {
		m.counters[r-1].InsertHash(hash)
		return
	}
	if r == 0 {
		r = m.newHashes(b, firstSlots)
	}
	a := m.arena.at(ref(r))
	slots := binary.LittleEndian.Uint64(a)
	if !insertHash(a[8:8+slots*hashSize], hash) {
		return
	}
	count++
	binary.LittleEndian.PutUint32(b[4:], count)
	if count > ExactDistinct {
		m.toCounter(b)
	} else if uint64(count) > slots/4*3 {
		m.growHashes(b, a[8:8+slots*hashSize])
	}
}

func (m *memory) newHashes(b []byte, slots uint64) uint32 {
	r := m.arena.alloc(8 + int(slots)*hashSize)
	binary.LittleEndian.PutUint64(m.arena.at(r), slots)
	binary.LittleEndian.PutUint32(b, uint32(r))
	return uint32(r)
}

func (m *memory) growHashes(b, old []byte) {
	slots := uint64(len(old)/hashSize) * 2
	a := m.arena.at(ref(m.newHashes(b, slots)))
	for hash := range hashes(old) {
		insertHash(a[8:8+slots*hashSize], hash)
	}
}

// insertHash adds a hash to a table, which must have a free slot, and reports whether it is new.
func insertHash(table []byte, hash uint64) bool {
	mask := uint64(len(table)/hashSize - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		slot := table[i*hashSize : (i+1)*hashSize]
		switch binary.LittleEndian.Uint64(slot) {
		case hash:
			return false
		case 0:
			binary.LittleEndian.PutUint64(slot, hash)
			return true
		}
	}
}

// hashes yields the hashes of a table.
func hashes(table []byte) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for ; len(table) >= hashSize; table = table[hashSize:] {
			if hash := binary.LittleEndian.Uint64(table); hash != 0 && !yield(hash) {
				return
			}
		}
	}
}

// hashTable returns the table of the distinct values at b.
func (m *memory) hashTable(b []byte) []byte {
	r := ref(binary.LittleEndian.Uint32(b))
	if r == 0 {
		return nil
	}
	a := m.arena.at(r)
	return a[8 : 8+binary.LittleEndian.Uint64(a)*hashSize]
}

// toCounter replaces hashes by a HyperLogLog sketch.
func (m *memory) toCounter(b []byte) {
	h := newCounter()
	for hash := range hashes(m.hashTable(b)) {
		h.InsertHash(hash)
	}
	m.putCounter(b, h)
}

func newCounter() *hyperloglog.Sketch {
	h, _ := hyperloglog.NewSketch(counterPrecision, false) // the precision is valid
	return h
}

func (m *memory) putCounter(b []byte, h *hyperloglog.Sketch) {
	m.counters = append(m.counters, h)
	m.extra += counterSize
	binary.LittleEndian.PutUint32(b, uint32(len(m.counters)))
	binary.LittleEndian.PutUint32(b[4:], sketched)
}

func distinctOf(in *outcome) Value {
	count := binary.LittleEndian.Uint32(in.b[4:])
	if count != sketched {
		return Value{Kind: Integer, Int: int64(count)}
	}
	estimate := in.m.counters[binary.LittleEndian.Uint32(in.b)-1].Estimate()
	return Value{Kind: Integer, Int: int64(min(max(estimate, ExactDistinct+1), math.MaxInt64)), Approximate: true}
}
