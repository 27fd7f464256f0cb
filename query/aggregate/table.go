package aggregate

import (
	"bytes"
	"encoding/binary"
	"iter"
	"slices"

	"github.com/axiomhq/hyperloglog"
	"github.com/cespare/xxhash/v2"

	"logstow/exact"
	"logstow/internal/sketch"
)

// table has the states of groups by their keys. Not safe for concurrent use.
//
// A group in the arena is the length of the key (4 bytes), flags (4), the key padded to 8 bytes, and the state. A state is the
// number of records (8), and the stats of the plan at their offsets. Methods that take bytes b expect the stat in a state.
type table struct {
	*plan
	arena *arena
	// index is a hash table with open addressing. A slot has the upper half of the hash and the group's ref; 0 is free.
	index  []uint64
	groups int

	// Parts of states that cannot be plain bytes. The state has an index into one of these, from 1.
	wide     []*exact.Sum
	sketches []*sketch.Sketch
	counters []*hyperloglog.Sketch
	// extra is the approximate memory of these in bytes.
	extra int64
}

const (
	minIndex    = 64
	groupHeader = 8
)

func newTable(p *plan, limit int64) *table {
	return &table{plan: p, arena: newArena(limit), index: make([]uint64, minIndex)}
}

// size is the approximate memory of the groups in bytes.
func (t *table) size() int64 { return t.arena.bytes + 8*int64(len(t.index)) + t.extra }

// reset removes all groups.
func (t *table) reset() {
	t.arena.reset()
	clear(t.index)
	t.groups, t.extra = 0, 0
	t.wide, t.sketches, t.counters = nil, nil, nil
}

// group returns the group of a key, which is added if it is new.
func (t *table) group(key []byte) ref {
	hash := xxhash.Sum64(key)
	mask := uint64(len(t.index) - 1)
	i := hash & mask
	for ; t.index[i] != 0; i = (i + 1) & mask {
		if t.index[i]>>32 == hash>>32 {
			if r := ref(t.index[i]); bytes.Equal(t.key(r), key) {
				return r
			}
		}
	}
	r := t.newGroup(key)
	t.index[i] = hash>>32<<32 | uint64(r)
	if t.groups++; t.groups > len(t.index)/4*3 {
		t.grow()
	}
	return r
}

func (t *table) newGroup(key []byte) ref {
	r := t.arena.alloc(groupHeader + padded(len(key)) + t.width)
	b := t.arena.at(r)
	binary.LittleEndian.PutUint32(b, uint32(len(key)))
	copy(b[groupHeader:], key)
	return r
}

func padded(n int) int { return (n + 7) &^ 7 }

func (t *table) grow() {
	index := make([]uint64, 2*len(t.index))
	mask := uint64(len(index) - 1)
	for _, entry := range t.index {
		if entry == 0 {
			continue
		}
		i := xxhash.Sum64(t.key(ref(entry))) & mask
		for index[i] != 0 {
			i = (i + 1) & mask
		}
		index[i] = entry
	}
	t.index = index
}

func (t *table) key(r ref) []byte {
	b := t.arena.at(r)
	n := binary.LittleEndian.Uint32(b)
	return b[groupHeader : groupHeader+n]
}

func (t *table) flags(r ref) uint32 { return binary.LittleEndian.Uint32(t.arena.at(r)[4:]) }

func (t *table) setFlags(r ref, flags uint32) {
	b := t.arena.at(r)[4:]
	binary.LittleEndian.PutUint32(b, binary.LittleEndian.Uint32(b)|flags)
}

// state returns a group's state.
func (t *table) state(r ref) []byte {
	b := t.arena.at(r)
	start := groupHeader + padded(int(binary.LittleEndian.Uint32(b)))
	return b[start : start+t.width]
}

// sorted returns the refs of the groups in the order of their keys. It overwrites the index: the table must be reset before a
// group is added.
func (t *table) sorted() []uint64 {
	refs := t.index[:0]
	for _, entry := range t.index {
		if entry != 0 {
			refs = append(refs, entry&(1<<32-1))
		}
	}
	slices.SortFunc(refs, func(a, b uint64) int { return bytes.Compare(t.key(ref(a)), t.key(ref(b))) })
	return refs
}

// addSum adds a number, or its square, to the sum at b.
func (t *table) addSum(b []byte, n exact.Number, square bool) {
	last := binary.LittleEndian.Uint64(b[16:])
	i := last >> 32
	if i == 0 {
		s := exact.FromWords(binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), last)
		if square {
			s.AddSquare(n)
		} else {
			s.Add(n)
		}
		t.putSum(b, &s)
		return
	}
	if square {
		t.wide[i-1].AddSquare(n)
	} else {
		t.wide[i-1].Add(n)
	}
}

// mergeSum adds another sum to the one at b.
func (t *table) mergeSum(b []byte, other *exact.Sum) {
	if i := binary.LittleEndian.Uint64(b[16:]) >> 32; i != 0 {
		t.wide[i-1].Merge(other)
		return
	}
	s := t.sumAt(b)
	s.Merge(other)
	t.putSum(b, &s)
}

// putSum stores the sum at b, which was not wide.
func (t *table) putSum(b []byte, s *exact.Sum) {
	if s.Wide() {
		wide := *s
		t.wide = append(t.wide, &wide)
		t.extra += exact.WideSize
		binary.LittleEndian.PutUint64(b[16:], uint64(len(t.wide))<<32)
		return
	}
	for i, w := range s.Words() {
		binary.LittleEndian.PutUint64(b[8*i:], w)
	}
}

// sumAt returns a copy of the sum at b.
func (t *table) sumAt(b []byte) exact.Sum {
	last := binary.LittleEndian.Uint64(b[16:])
	if i := last >> 32; i != 0 {
		return *t.wide[i-1]
	}
	return exact.FromWords(binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), last)
}

// slot returns the bytes in the slot at b, nil if it is empty.
func (t *table) slot(b []byte) []byte {
	r := ref(binary.LittleEndian.Uint32(b))
	if r == 0 {
		return nil
	}
	m := t.arena.at(r)
	return m[8 : 8+binary.LittleEndian.Uint32(m[4:])]
}

// setSlot replaces the bytes in the slot at b.
func (t *table) setSlot(b, data []byte) {
	r := ref(binary.LittleEndian.Uint32(b))
	if r == 0 || int(binary.LittleEndian.Uint32(t.arena.at(r))) < len(data) {
		capacity := padded(len(data))
		if r != 0 {
			capacity = max(capacity, 2*int(binary.LittleEndian.Uint32(t.arena.at(r))))
		}
		r = t.arena.alloc(8 + capacity)
		binary.LittleEndian.PutUint32(t.arena.at(r), uint32(capacity))
		binary.LittleEndian.PutUint32(b, uint32(r))
	}
	m := t.arena.at(r)
	binary.LittleEndian.PutUint32(m[4:], uint32(len(data)))
	copy(m[8:], data)
}

// ExactValues is the maximum number of values of a group for which quantiles are exact.
const ExactValues = 10_000

const (
	chunkHeader = 8
	firstChunk  = 16
	maxChunk    = 4 << 10 // larger than any encoded number
)

// addValue adds a number to the values at b.
func (t *table) addValue(b []byte, n exact.Number) {
	if i := binary.LittleEndian.Uint32(b[8:]); i != 0 {
		t.extra += t.sketches[i-1].Add(n.Float(), 1)
		return
	}
	var scratch [24]byte
	t.appendValues(b, n.Encode(scratch[:0]), 1)
}

// addToSketch adds a number to the values at b if a sketch has replaced them, and reports whether it has.
func (t *table) addToSketch(b []byte, x float64) bool {
	i := binary.LittleEndian.Uint32(b[8:])
	if i != 0 {
		t.extra += t.sketches[i-1].Add(x, 1)
	}
	return i != 0
}

// appendValues adds count encoded numbers, which together must fit a chunk.
func (t *table) appendValues(b, encoded []byte, count uint32) {
	head := ref(binary.LittleEndian.Uint32(b))
	used, capacity := 0, 0
	if head != 0 {
		m := t.arena.at(head)
		used, capacity = int(binary.LittleEndian.Uint16(m[4:])), int(binary.LittleEndian.Uint16(m[6:]))
	}
	if used+len(encoded) > capacity {
		capacity = max(len(encoded), min(max(2*capacity, firstChunk), maxChunk))
		capacity = padded(capacity)
		r := t.arena.alloc(chunkHeader + capacity)
		m := t.arena.at(r)
		binary.LittleEndian.PutUint32(m, uint32(head))
		binary.LittleEndian.PutUint16(m[6:], uint16(capacity))
		binary.LittleEndian.PutUint32(b, uint32(r))
		head, used = r, 0
	}
	m := t.arena.at(head)
	copy(m[chunkHeader+used:], encoded)
	binary.LittleEndian.PutUint16(m[4:], uint16(used+len(encoded)))
	total := binary.LittleEndian.Uint32(b[4:]) + count
	binary.LittleEndian.PutUint32(b[4:], total)
	if total > ExactValues {
		t.toSketch(b)
	}
}

// toSketch replaces values by a sketch.
func (t *table) toSketch(b []byte) {
	s := sketch.New()
	t.extra += sketch.Overhead
	for chunk := range t.chunks(b) {
		for len(chunk) > 0 {
			n, rest, err := exact.Decode(chunk)
			if err != nil {
				break // cannot happen: this process encoded it
			}
			t.extra += s.Add(n.Float(), 1)
			chunk = rest
		}
	}
	t.sketches = append(t.sketches, s)
	binary.LittleEndian.PutUint32(b, 0)
	binary.LittleEndian.PutUint32(b[8:], uint32(len(t.sketches)))
}

// chunks yields the chunks of encoded numbers at b.
func (t *table) chunks(b []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for r := ref(binary.LittleEndian.Uint32(b)); r != 0; {
			m := t.arena.at(r)
			if !yield(m[chunkHeader : chunkHeader+int(binary.LittleEndian.Uint16(m[4:]))]) {
				return
			}
			r = ref(binary.LittleEndian.Uint32(m))
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
func (t *table) addDistinct(b, value []byte) {
	t.addHash(b, max(xxhash.Sum64(value), 1)) // zero is a free slot
}

// addHash adds a hash, which must not be zero, to the distinct values at b.
func (t *table) addHash(b []byte, hash uint64) {
	r, count := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	if count == sketched {
		t.counters[r-1].InsertHash(hash)
		return
	}
	if r == 0 {
		r = t.newHashes(b, firstSlots)
	}
	m := t.arena.at(ref(r))
	slots := binary.LittleEndian.Uint64(m)
	if !insertHash(m[8:8+slots*hashSize], hash) {
		return
	}
	count++
	binary.LittleEndian.PutUint32(b[4:], count)
	if count > ExactDistinct {
		t.toCounter(b)
	} else if uint64(count) > slots/4*3 {
		t.growHashes(b, m[8:8+slots*hashSize])
	}
}

func (t *table) newHashes(b []byte, slots uint64) uint32 {
	r := t.arena.alloc(8 + int(slots)*hashSize)
	binary.LittleEndian.PutUint64(t.arena.at(r), slots)
	binary.LittleEndian.PutUint32(b, uint32(r))
	return uint32(r)
}

func (t *table) growHashes(b, old []byte) {
	slots := uint64(len(old)/hashSize) * 2
	m := t.arena.at(ref(t.newHashes(b, slots)))
	for hash := range hashes(old) {
		insertHash(m[8:8+slots*hashSize], hash)
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
func (t *table) hashTable(b []byte) []byte {
	r := ref(binary.LittleEndian.Uint32(b))
	if r == 0 {
		return nil
	}
	m := t.arena.at(r)
	return m[8 : 8+binary.LittleEndian.Uint64(m)*hashSize]
}

// toCounter replaces hashes by a HyperLogLog sketch.
func (t *table) toCounter(b []byte) {
	h := newCounter()
	for hash := range hashes(t.hashTable(b)) {
		h.InsertHash(hash)
	}
	t.putCounter(b, h)
}

func newCounter() *hyperloglog.Sketch {
	h, _ := hyperloglog.NewSketch(counterPrecision, false) // the precision is valid
	return h
}

func (t *table) putCounter(b []byte, h *hyperloglog.Sketch) {
	t.counters = append(t.counters, h)
	t.extra += counterSize
	binary.LittleEndian.PutUint32(b, uint32(len(t.counters)))
	binary.LittleEndian.PutUint32(b[4:], sketched)
}
