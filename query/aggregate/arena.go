package aggregate

import "slices"

// arena allocates memory that is freed all at once, in slabs without pointers, which the garbage collector does not scan.
type arena struct {
	slabs    [][]byte
	slab     int // index of the current slab
	free     int // offset of free memory in it
	slabSize int // of all slabs but the first ones, which are smaller, and those of large allocations
	// bytes is the size of the slabs up to the current one.
	bytes int64
}

// ref is an address in an arena: the index of a slab, and the offset in it divided by 8. 0 is nil.
type ref uint32

const (
	offsetBits  = 17
	maxSlabSize = 8 << offsetBits
	minSlabSize = 16 << 10
	// maxArena is half of the memory that a ref can address, because records may exceed the limit before a spill.
	maxArena = maxSlabSize << (32 - offsetBits) / 2
)

func newArena(limit int64) *arena {
	a := &arena{slabSize: int(min(max(limit/32, minSlabSize), maxSlabSize))}
	a.reset()
	return a
}

// reset frees all memory. It keeps slabs for reuse, but for those of large allocations.
func (a *arena) reset() {
	a.slabs = slices.DeleteFunc(a.slabs, func(slab []byte) bool { return len(slab) > a.slabSize })
	if len(a.slabs) == 0 {
		a.slabs = append(a.slabs, make([]byte, minSlabSize))
	}
	a.slab, a.bytes = 0, int64(len(a.slabs[0]))
	a.free = 8 // ref 0 is nil
}

func padded(n int) int { return (n + 7) &^ 7 }

// alloc allocates n bytes, which are zero.
func (a *arena) alloc(n int) ref {
	n = padded(n)
	if a.free+n > len(a.slabs[a.slab]) {
		a.next(n)
	}
	r := ref(a.slab<<offsetBits | a.free/8)
	clear(a.slabs[a.slab][a.free : a.free+n])
	a.free += n
	return r
}

// next makes a slab of at least n bytes the current one. The size doubles up to the usual one, so that few groups take little.
func (a *arena) next(n int) {
	a.slab++
	a.free = 0
	if a.slab == len(a.slabs) || n > len(a.slabs[a.slab]) {
		slab := make([]byte, max(n, int(min(a.bytes, int64(a.slabSize)))))
		a.slabs = slices.Insert(a.slabs, a.slab, slab)
	}
	a.bytes += int64(len(a.slabs[a.slab]))
}

// at returns the memory from an address to the end of its slab.
func (a *arena) at(r ref) []byte { return a.slabs[r>>offsetBits][(r&(1<<offsetBits-1))*8:] }
