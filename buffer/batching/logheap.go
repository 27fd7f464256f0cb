package batching

// logHeap is a [container/heap] of batches, ordered by their oldest record in the log. It makes finding the part of the
// log that is still needed cheap: that is done after each sealing, and there may be thousands of batches.
type logHeap []*openBatch

func (h logHeap) Len() int           { return len(h) }
func (h logHeap) Less(i, j int) bool { return h[i].from < h[j].from }

func (h logHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements [container/heap.Interface].
func (h *logHeap) Push(x any) {
	o := x.(*openBatch)
	o.index = len(*h)
	*h = append(*h, o)
}

// Pop implements [container/heap.Interface].
func (h *logHeap) Pop() any {
	last := len(*h) - 1
	o := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return o
}
