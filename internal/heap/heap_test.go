package heap_test

import (
	"cmp"
	"slices"
	"testing"

	"logstow/internal/heap"
	"logstow/internal/test/testrand"
)

// Items come out in order, however pushes, pops and changes of the first item alternate.
func TestHeap(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	for range 200 {
		h := heap.Heap[int]{Before: func(a, b int) bool { return a < b }}
		var want []int // sorted
		for range 100 {
			v := rnd.IntN(50)
			switch n := rnd.IntN(4); {
			case n < 2 || len(want) == 0:
				h.Push(v)
				want = append(want, v)
			case n == 2:
				if got := h.Pop(); got != want[0] {
					t.Fatalf("popped %d, want %d", got, want[0])
				}
				want = want[1:]
			default:
				h.Items[0], want[0] = v, v
				h.Fix()
			}
			slices.SortFunc(want, cmp.Compare)
			if len(h.Items) != len(want) || len(want) > 0 && h.Items[0] != want[0] {
				t.Fatalf("heap %v, want %v", h.Items, want)
			}
		}
	}
}
