package filter

import "slices"

// Blocks is a set of a segment's blocks, by their number from 0. The zero value
// is [All].
type Blocks struct {
	// known is the number of blocks covered by bits; all blocks from known on are in the set.
	known int
	bits  []uint64
}

// All has every block.
func All() Blocks { return Blocks{} }

// Or is the union of two sets of one segment.
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

// Known is the number of blocks that the filter covers, which are all of its segment's; 0 for
// [All].
func (b Blocks) Known() int { return b.known }
