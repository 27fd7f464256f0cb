package aggregate

// arena hands out memory that is freed at once: slabs without pointers, which the garbage collector
// does not scan.
type arena struct {
	slabs    [][]byte
	slab     int // the one in use
	free     int // offset of free memory in it
	slabSize int
	// bytes is the size of the slabs up to the one in use.
	bytes int64
}

// ref is an address in an arena: slab and offset / 8. 0 is none.
type ref uint32

const (
	offsetBits  = 17
	maxSlabSize = 8 << offsetBits
	minSlabSize = 16 << 10
	// maxArena is half of what can have an address: a record may exceed a limit.
	maxArena = maxSlabSize << (32 - offsetBits) / 2
)

func newArena(limit int64) *arena {
	a := &arena{slabSize: int(min(max(limit/32, minSlabSize), maxSlabSize))}
	a.reset()
	return a
}

// reset frees all memory. Slabs of the usual size are used again.
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
	a.free = 8 // ref 0 is none
}

// alloc is n zero bytes.
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

// next goes on with a slab of at least n bytes.
func (a *arena) next(n int) {
	a.slab++
	a.free = 0
	if n > a.slabSize || a.slab == len(a.slabs) {
		slab := make([]byte, max(n, a.slabSize))
		if a.slab == len(a.slabs) {
			a.slabs = append(a.slabs, slab)
		} else { // the usual one at this place is used later
			a.slabs = append(a.slabs, a.slabs[a.slab])
			a.slabs[a.slab] = slab
		}
	}
	a.bytes += int64(len(a.slabs[a.slab]))
}

// at is the memory from an address to the end of its slab.
func (a *arena) at(r ref) []byte { return a.slabs[r>>offsetBits][(r&(1<<offsetBits-1))*8:] }
