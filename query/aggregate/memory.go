package aggregate

import (
	"encoding/binary"

	"github.com/axiomhq/hyperloglog"

	"logstow/exact"
	"logstow/internal/sketch"
)

// memory is the memory of groups. Methods that take bytes b expect a stat in the state of a group. Not safe for concurrent use.
type memory struct {
	arena *arena
	// Parts of states that cannot be plain bytes. The state has an index into one of these, from 1.
	wide     []*exact.Sum
	sketches []*sketch.Sketch
	counters []*hyperloglog.Sketch
	// extra is the approximate memory of these in bytes.
	extra int64
}

// reset frees all.
func (m *memory) reset() {
	m.arena.reset()
	m.extra, m.wide, m.sketches, m.counters = 0, nil, nil, nil
}

func addUint(b []byte, n uint64) {
	binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)+n)
}

// slotSize is the size of a slot in a state: the ref of a value of variable length. The value is its capacity (4 bytes), length
// (4) and bytes.
const slotSize = 8

// slot returns the bytes in the slot at b, nil if it is empty.
func (m *memory) slot(b []byte) []byte {
	r := ref(binary.LittleEndian.Uint32(b))
	if r == 0 {
		return nil
	}
	a := m.arena.at(r)
	return a[8 : 8+binary.LittleEndian.Uint32(a[4:])]
}

// setSlot replaces the bytes in the slot at b.
func (m *memory) setSlot(b, data []byte) {
	r := ref(binary.LittleEndian.Uint32(b))
	if r == 0 || int(binary.LittleEndian.Uint32(m.arena.at(r))) < len(data) {
		capacity := padded(len(data))
		if r != 0 {
			capacity = max(capacity, 2*int(binary.LittleEndian.Uint32(m.arena.at(r))))
		}
		r = m.arena.alloc(8 + capacity)
		binary.LittleEndian.PutUint32(m.arena.at(r), uint32(capacity))
		binary.LittleEndian.PutUint32(b, uint32(r))
	}
	a := m.arena.at(r)
	binary.LittleEndian.PutUint32(a[4:], uint32(len(data)))
	copy(a[8:], data)
}

// encodeSlot appends the length (uvarint) and the bytes of a slot.
func (m *memory) encodeSlot(dst, b []byte) []byte {
	slot := m.slot(b)
	return append(binary.AppendUvarint(dst, uint64(len(slot))), slot...)
}
