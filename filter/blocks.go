package filter

import "slices"

// Blocks is a set of blocks of a segment, by index. The zero value is [All].
type Blocks struct {
	// known is the number of blocks in bits; every later block is in the set.
	known int
	bits  []uint64
}

// All returns the set of all blocks.
func All() Blocks { return Blocks{} }

// Or returns the union of two sets of the same segment.
func (b Blocks) Or(c Blocks) Blocks {
	if b.known != c.known || b.known == 0 {
		return All()
	}
	either := Blocks{known: b.known, bits: slices.Clone(b.bits)}
	for i, word := range c.bits {
		either.bits[i] |= word
	}
	return either
}

// Has reports whether a block is in the set.
func (b Blocks) Has(block int) bool {
	return block >= b.known || b.bits[block/64]>>(block%64)&1 != 0
}

// None reports whether no block is in the set.
func (b Blocks) None() bool {
	return b.known > 0 && !slices.ContainsFunc(b.bits, func(word uint64) bool { return word != 0 })
}

// Known is the number of blocks that the filter covers, normally all blocks of the segment; 0 for [All].
func (b Blocks) Known() int { return b.known }
