package aggregate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/cespare/xxhash/v2"

	"logstow/internal/wire"
)

// table has the states of groups by their keys. Not safe for concurrent use.
//
// A group in the arena is the length of the key (4 bytes), flags (4), the key padded to 8 bytes, and the state. A state is the
// number of records (8), and the stats of the plan at their offsets.
type table struct {
	*Plan
	memory
	// index is a hash table with open addressing. A slot has the upper half of the hash and the group's ref; 0 is free.
	index  []uint64
	groups int
}

const (
	minIndex    = 64
	groupHeader = 8
)

func newTable(p *Plan, limit int64) *table {
	return &table{Plan: p, memory: memory{arena: newArena(limit)}, index: make([]uint64, minIndex)}
}

// size is the approximate memory of the groups in bytes.
func (t *table) size() int64 { return t.arena.bytes + 8*int64(len(t.index)) + t.extra }

// reset removes all groups.
func (t *table) reset() {
	t.memory.reset()
	clear(t.index)
	t.groups = 0
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

// encode appends the group's flags (uvarint) and its state as merge reads it: the number of records (uvarint), then each stat of the plan.
func (t *table) encode(dst []byte, r ref) []byte {
	dst = binary.AppendUvarint(dst, uint64(t.flags(r)))
	state := t.state(r)
	dst = binary.AppendUvarint(dst, binary.LittleEndian.Uint64(state))
	for i := range t.stats {
		s := &t.stats[i]
		dst = s.encode(&t.memory, dst, state[s.offset:])
	}
	return dst
}

var errCorrupt = errors.New("cannot read temporary file: corrupt group")

// merge adds an encoded group to a group.
func (t *table) merge(group ref, encoded []byte) error {
	r := &wire.Reader{Rest: encoded}
	t.setFlags(group, uint32(r.Uvarint()))
	state := t.state(group)
	addUint(state, r.Uvarint())
	for i := range t.stats {
		s := &t.stats[i]
		s.merge(&t.memory, state[s.offset:], r)
	}
	if r.Bad || len(r.Rest) > 0 {
		return errCorrupt
	}
	return nil
}
