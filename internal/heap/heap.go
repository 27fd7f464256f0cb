// Package heap has a generic binary heap. Unlike container/heap, it does not box items in interfaces.
package heap

// Heap is a binary heap: the first item by Before is Items[0]. Items may be read; the first one may also be changed, followed by Fix.
// Not safe for concurrent use.
type Heap[T any] struct {
	Items []T
	// Before reports whether a comes before b. It must be set.
	Before func(a, b T) bool
}

// Push adds an item.
func (h *Heap[T]) Push(item T) {
	h.Items = append(h.Items, item)
	for i := len(h.Items) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.Before(h.Items[i], h.Items[parent]) {
			return
		}
		h.Items[i], h.Items[parent] = h.Items[parent], h.Items[i]
		i = parent
	}
}

// Pop removes and returns the first item. The heap must not be empty.
func (h *Heap[T]) Pop() T {
	first := h.Items[0]
	last := len(h.Items) - 1
	h.Items[0] = h.Items[last]
	var zero T
	h.Items[last] = zero
	h.Items = h.Items[:last]
	h.Fix()
	return first
}

// Fix restores the order after the first item has changed.
func (h *Heap[T]) Fix() {
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(h.Items) {
			return
		}
		if child+1 < len(h.Items) && h.Before(h.Items[child+1], h.Items[child]) {
			child++
		}
		if !h.Before(h.Items[child], h.Items[i]) {
			return
		}
		h.Items[i], h.Items[child] = h.Items[child], h.Items[i]
		i = child
	}
}
