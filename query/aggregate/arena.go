package aggregate

// arena allocates memory that is freed all at once, in slabs without pointers, which the garbage collector does not scan.
type arena struct {
	slabs    [][]byte
	slab     int // index of the current slab
	free     int // offset of free memory in it
	slabSize int
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

// reset frees all memory. It keeps slabs of the usual size for reuse.
func (a *arena) reset() {
	kept := a.slabs[:0]
	for _, slab := range a.slabs {
		if len(slab) == a.slabSize {
			kept = append(kept, slab)
		}
	}
	clear(a.slabs[len(kept):])
	if len(kept) == 0 {
		kept = append(kept, make([]byte, a.slabSize))
	}
	a.slabs, a.slab, a.bytes = kept, 0, int64(a.slabSize)
	a.free = 8 // ref 0 is nil
}

// alloc allocates n bytes, which are zero.
func (a *arena) alloc(n int) ref {
	n = (n + 7) &^ 7
	if a.free+n > len(a.slabs[a.slab]) {
		a.next(n)
	}
	r := ref(a.slab<<offsetBits | a.free/8)
	clear(a.slabs[a.slab][a.free : a.free+n])
	a.free += n
	return r
}

// next makes a slab of at least n bytes the current one.
func (a *arena) next(n int) {
	a.slab++
	a.free = 0
	if n > a.slabSize || a.slab == len(a.slabs) {
		slab := make([]byte, max(n, a.slabSize))
		if a.slab == len(a.slabs) {
			a.slabs = append(a.slabs, slab)
		} else { // keep the slab of the usual size for later
			a.slabs = append(a.slabs, a.slabs[a.slab])
			a.slabs[a.slab] = slab
		}
	}
	a.bytes += int64(len(a.slabs[a.slab]))
}

// at returns the memory from an address to the end of its slab.
func (a *arena) at(r ref) []byte { return a.slabs[r>>offsetBits][(r&(1<<offsetBits-1))*8:] }
