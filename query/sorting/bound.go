package sorting

import (
	"sync"
	"sync/atomic"

	"logstow/internal/heap"
)

// bound drops records that cannot be among the first limit records, by prefixes of their keys. Safe for concurrent use.
type bound struct {
	// limit is the number of records wanted; 0 drops none.
	limit int
	// worst is the greatest of first, once first has limit elements.
	worst atomic.Pointer[string]

	mu sync.Mutex
	// first are the prefixes of the least keys so far, the greatest first.
	first heap.Heap[string]
}

const (
	// maxBounded is the maximum limit for which keys are kept.
	maxBounded = 10_000
	// boundBytes is the maximum length of a prefix of a key that is kept.
	boundBytes = 64
)

// newBound makes a bound for a limit. A limit of 0 or more than maxBounded drops nothing.
func newBound(limit int) *bound {
	if limit > maxBounded {
		limit = 0
	}
	return &bound{limit: limit, first: heap.Heap[string]{Before: func(a, b string) bool { return a > b }}}
}

// behind reports whether records whose keys begin with start cannot be among those wanted.
func (b *bound) behind(start []byte) bool {
	worst := b.worst.Load()
	return worst != nil && string(start[:min(len(start), boundBytes)]) > *worst
}

// admit reports whether a record with a key may be among those wanted.
func (b *bound) admit(key []byte) bool {
	if b.limit == 0 {
		return true
	}
	if b.behind(key) {
		return false
	}
	start := string(key[:min(len(key), boundBytes)])
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.first.Items) < b.limit {
		b.first.Push(start)
	} else {
		if start > b.first.Items[0] {
			return false
		}
		b.first.Items[0] = start
		b.first.Fix()
	}
	if len(b.first.Items) == b.limit {
		worst := b.first.Items[0]
		b.worst.Store(&worst)
	}
	return true
}
